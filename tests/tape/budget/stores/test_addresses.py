"""Addresses of ledgers in all spellings, wherever one is taken: no password is shown, and none becomes a file."""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg")

from tape import Guard
from tape.adapters.litellm_requests import Settings
from tape.budget import Budget, UnreachableLedgerError, open_store
from tape.budget.stores.addresses import is_address, read_address
from tape.budget.stores.file import FileStore
from tape.budget.stores.postgres import PostgresStore
from tape.cli.run import _again
from tape.errors import ConfigError, TapeError
from tape.gateway.config import load_config
from tape.gateway.ledgers import Ledgers
from tape.reading import shaped
from tests.tape.commandline import Tape

WHERE = "127.0.0.1:1/budgets"  # where nothing listens
SECRETS = (
    "Zq7xW",
    "Zq7/xW",
    "Zq7@xW",
    "Zq7:xW",
    "Zq7?xW",
    "Zq7#xW",
    "Zq7%xW",
    "Zq7 xW",
    "Zq7'xW",
    "Zq7=xW",
    "12/Zq7",
    "@Zq7@",
)
"""Each has Zq7 or xW in what an error may quote of it."""
SPELLINGS = (
    *(f"{scheme}://tape:SECRET@{WHERE}" for scheme in ("postgresql", "postgres", "POSTGRESQL", "Postgres")),
    *(f"postgresql+{driver}://tape:SECRET@{WHERE}" for driver in ("psycopg", "psycopg2", "asyncpg")),
    f"postgresql://:SECRET@{WHERE}", "postgresql://tape:SECRET@127.0.0.1:x/budgets", "postgresql://tape:SECRET",
    f"postgresql://tape@{WHERE}?password=SECRET", f"postgresql://tape@{WHERE}?passwrod=SECRET",
    f"postgresql://tape@{WHERE}?sslpassword=SECRET&sslmode=disable", "postgresql://tape:SECRET@127.0.0.1:1,127.0.0.1:2/b",
    f"postgresql:/tape:SECRET@{WHERE}", f"postgresql:tape:SECRET@{WHERE}", f"postgresql//tape:SECRET@{WHERE}",
    f"postgresql%3A//tape:SECRET@{WHERE}", f"jdbc:postgresql://tape:SECRET@{WHERE}", f"//tape:SECRET@{WHERE}",
    f"mysql://tape:SECRET@{WHERE}", f"tape:SECRET@{WHERE}", f"'postgresql://tape:SECRET@{WHERE}'",
    f" postgresql://tape:SECRET@{WHERE}\n", f"file://tape:SECRET@{WHERE}", f"file:tape:SECRET@{WHERE}",
    "host=127.0.0.1 port=1 password=SECRET", "host=127.0.0.1 port=1 password='SECRET'",
    "password=SECRET host=127.0.0.1 port=1",
    "host = 127.0.0.1 port = 1 password = SECRET", "HOST=127.0.0.1 PASSWORD=SECRET", "host=127.0.0.1,password=SECRET",
    "host=127.0.0.1;password=SECRET", "host='127.0.0.1 password=SECRET'", "user=tape:SECRET host=127.0.0.1 port=1",
    "Server=127.0.0.1;Uid=tape;Pwd=SECRET", "dbname=budgets password='SECRET", "budgets password=SECRET",
    f"dbname=postgresql://tape:SECRET@{WHERE}", f"host=127.0.0.1 port=1 dbname=tape:SECRET@{WHERE}",
)  # fmt: skip


def spelled(secrets: tuple[str, ...]) -> Iterator[str]:
    for spelling, secret in product(SPELLINGS, secrets):
        if not spelling.endswith("tape:SECRET") or not {*"@/"} & {*secret}:  # which is right then, and names a host
            yield spelling.replace("SECRET", secret)


def gateway(address: str, folder: Path, setting: str) -> None:
    config = folder / "gateway.toml"
    quoted = address.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    config.write_text(f'[ledger]\nscope = "org"\n{setting} = "{quoted}"\n', encoding="utf-8")
    load_config(config)


def takers(folder: Path, tape: Tape, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[str], Any]]:
    """Everything that takes an address; what it says of it, or an error."""

    def by_variable(address: str) -> None:
        monkeypatch.setenv("BUDGET_AT", address)
        gateway("BUDGET_AT", folder, "url_env")

    def by_environment(address: str) -> Any:
        monkeypatch.setenv("TAPE_LEDGER", address)
        return tape("ledger", "show")

    return {
        "Guard": lambda address: Guard("$1", journal=address),
        "Guard of a scope": lambda address: Guard("$1", journal=address, scope="org"),
        "Guard of a path": lambda address: Guard("$1", journal=Path(address), scope="org"),
        "journal": lambda address: Ledgers(Budget(), {}, Budget(), Path(address)),
        "open_store": open_store,
        "create": PostgresStore.create,
        "read": read_address,
        "gateway.toml": lambda address: gateway(address, folder, "url"),
        "url_env": by_variable,
        "LiteLLM": lambda address: open_store(shaped({"ledger": address}, Settings, "tape", error=ConfigError).ledger),
        "LiteLLM misspelled": lambda address: shaped(
            {"ledger": "file://a", "ledgre": address}, Settings, "tape", error=ConfigError
        ),
        "--url": lambda address: tape("ledger", "--url", address, "init"),
        "TAPE_LEDGER": by_environment,
    }


@pytest.mark.parametrize("secrets", [SECRETS[:3], pytest.param(SECRETS, marks=pytest.mark.soak)])
def test_no_spelling_shows_a_password_or_becomes_a_file(
    secrets: tuple[str, ...],
    tmp_path: Path,
    tape: Tape,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    caplog.set_level(logging.DEBUG)
    addresses = list(spelled(secrets))
    for name, take in takers(tmp_path, tape, monkeypatch).items():
        some = addresses if name in ("Guard", "read", "journal") else random.Random(name).sample(addresses, 40)
        for address in some:
            try:
                said = repr(take(address))
            except TapeError as error:
                said = "".join(traceback.format_exception(error))
                said = "\n".join(line for line in said.splitlines() if not line.startswith("    "))
            assert "Zq7" not in said, (name, address, said)
            assert "xW" not in said, (name, address, said)
            assert [*folder.rglob("*")] == [], (name, address)
    assert "Zq7" not in caplog.text


def test_what_is_an_address_is_read_as_one() -> None:
    for address in (
        f"postgresql://tape:Zq7xW@{WHERE}", f"POSTGRESQL://tape:Zq7xW@{WHERE}", f"postgresql+psycopg://tape:Zq7xW@{WHERE}",
        "host=127.0.0.1 port=1 user=tape dbname=budgets password=Zq7xW", f"postgres://tape@{WHERE}?password=Zq7xW",
        f"  postgresql://tape:Zq7%2FxW@{WHERE}\n", "password='Zq7 @/:xW' host=127.0.0.1 port=1 user=tape dbname=budgets"
    ):  # fmt: skip
        result = read_address(address)
        assert (str(result), result.has_password, result.path) == (f"postgresql://tape@{WHERE}", True, None)
        assert "Zq7" not in repr(result)
        with pytest.raises(UnreachableLedgerError, match=f"the ledger postgresql://tape@{WHERE} cannot be reached"):
            open_store(address)
    assert str(read_address("service=budgets")) == "postgresql://budgets"
    assert str(read_address("host=/run/postgresql dbname=b")) == "postgresql:///run/postgresql/b"
    assert not read_address("postgresql://tape@db/budgets").has_password


def test_a_command_to_go_on_with_a_run_has_no_password() -> None:
    url, shown = f"postgresql://tape:Zq7xW@{WHERE}", f"postgresql://tape@{WHERE}"
    assert _again(["sokoban", "--ledger", url], url) == f"tape run sokoban --ledger {shown}"
    assert _again(["sokoban", f"--ledger={url}"], url) == f"tape run sokoban --ledger={shown}"
    assert _again(["sokoban", "--ledger", "file://a?b"], "file://a?b") == "tape run sokoban --ledger 'file://a?b'"
    assert _again(["sokoban"], "") == "tape run sokoban"


def test_files_stay_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = (
        "budget.jsonl",
        "postgres.ledger",
        "a b@c.jsonl",
        f"{tmp_path}/user=anna.jsonl",
        f"{tmp_path}/host=x:y@z.jsonl",
        "a#b?c",
    )
    for name in names:
        assert not is_address(name)
        Guard("$1", journal=name).close()
        assert (tmp_path / name).is_file()
    strange = tmp_path / "a#b? 100%.ledger"
    FileStore(strange).close()
    assert read_address(strange.as_uri()).path == strange
    assert read_address("FILE://budget.ledger").path == Path("budget.ledger")
