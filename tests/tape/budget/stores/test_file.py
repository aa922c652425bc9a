"""The file: what several programs, crashes and strangers may do to it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tape.budget import Cap, Held, HoldRequest, LedgerError
from tape.budget.stores.file import FileStore

AT = '"at": "2026-01-01T00:00:00+00:00"'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    text = tmp_path / "budget.ledger"
    store = FileStore(text)
    store.set_cap(Cap("org", "usd", 100), "anna", "the beginning")
    store.reserve(HoldRequest("a", "org", {"usd": 10}))
    store.close()
    return text


@pytest.mark.parametrize("text", ["shopping list", "{}", "x"])
def test_a_file_of_something_else_is_refused_and_stays(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="is no ledger"):
        FileStore(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_torn_first_line_is_written_anew(path: Path) -> None:
    path.write_text('{"sche', encoding="utf-8")
    FileStore(path).close()
    assert path.read_text(encoding="utf-8").startswith('{"schema": ')


def test_a_torn_last_line_was_never_acted_on(path: Path) -> None:
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"do": "end", "id": "a"')
    store = FileStore(path)
    assert store.balances()[0].held == 10
    assert path.read_bytes() == whole
    store.settle("a", {"usd": 3})
    assert FileStore(path).balances()[0].spent == 3


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"do": "end", "at": "2026-01-01T00:00:00+00:00", "id": "b", "state": "settled", "spent": {}}', "no hold b"),
        ('{"do": "fly", "at": "2026-01-01T00:00:00+00:00"}', "there is no record 'fly'"),
        ('{"do": "hold"}', "'at'"),
        ('{"do": "end", "at": "2026-01-01T00:00:00", "id": "a", "state": "settled", "spent": {}}', "has no time zone"),
        (f'{{"do": "end", {AT}, "id": "a", "state": "held", "spent": {{}}}}', "the hold a ends held"),
        (
            f'{{"do": "end", {AT}, "id": "a", "state": "settled", "spent": {{"usd": -1}}}}',
            "with less than nothing spent",
        ),
        (f'{{"do": "grow", {AT}, "id": "a", "worst": {{"usd": 9}}}}', "the hold a shrinks"),
        (
            f'{{"do": "top_up", {AT}, "account": "org", "resource": "usd", "period": "total", "amount": -1}}',
            "no top_up of -1 can follow for the cap org usd total",
        ),
        (
            f'{{"do": "hold", {AT}, "id": "b", "scope": "org", "labels": {{}}, "name": "", "worst": {{}}, '
            '"expires": "2025-01-01T00:00:00+00:00", "free": false}',
            "the hold b ends before it begins",
        ),
        ("[]", "no line of a ledger"),
        ("nonsense", "no line of a ledger"),
    ],
)
def test_a_line_that_is_none_is_named(path: Path, line: str, what: str) -> None:
    number = len(path.read_text().splitlines()) + 1
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(LedgerError, match=rf"budget.ledger:{number}: no line of a ledger") as error:
        FileStore(path)
    assert what in str(error.value)


def test_another_file_is_no_ledger(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(json.dumps({"schema": 9, "what": "ledger"}) + "\n")
    with pytest.raises(LedgerError, match=r"other:1: no line of a ledger .not a ledger of schema 1"):
        FileStore(other)
    with pytest.raises(LedgerError, match="cannot be opened"):
        FileStore(tmp_path / "no folder" / "x")


def test_a_file_that_was_removed_cut_or_replaced_pays_for_nothing(path: Path) -> None:
    stores = [FileStore(path) for _ in range(2)]
    os.truncate(path, 20)
    with pytest.raises(LedgerError, match="was cut; restore it"):
        stores[0].reserve(HoldRequest("b", "org", {"usd": 1}))
    path.unlink()
    with pytest.raises(LedgerError, match="was removed or replaced; open it anew"):
        stores[1].reserve(HoldRequest("b", "org", {"usd": 1}))


def test_a_clock_that_goes_back_stands_still(path: Path) -> None:
    now = [datetime.now(UTC)]
    store = FileStore(path, lambda: now[0])
    store.reserve(HoldRequest("b", "org", {"usd": 1}, seconds=60))
    now[0] -= timedelta(days=30)
    store.reserve(HoldRequest("c", "org", {"usd": 1}, seconds=60))
    first, second = store.history()[:2]
    assert first.begun >= second.begun
    assert store.balances()[0].held == 12


def test_after_an_interrupt_amid_a_hold_nothing_of_it_is_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(path)

    def interrupted(record: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(store._books, "apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.reserve(HoldRequest("b", "org", {"usd": 90}))
    assert isinstance(store.reserve(HoldRequest("c", "org", {"usd": 90})), Held)
    assert [hold_record.id for hold_record in store.history()] == [
        "c",
        *(hold_record.id for hold_record in FileStore(path).history()[1:]),
    ]
    assert not store.check()


def test_what_expires_while_the_disk_is_full_expires_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [datetime.now(UTC)]
    store = FileStore(path, lambda: now[0])
    store.reserve(HoldRequest("b", "org", {"usd": 90}, seconds=10, free=True))
    now[0] += timedelta(seconds=20)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(LedgerError, match="no space left"):
            store.reserve(HoldRequest("c", "org", {"usd": 90}))
    assert store.reserve(HoldRequest("c", "org", {"usd": 90})) == Held("c")


CHILD = """
import sys
from pathlib import Path
from tape.budget import Held, HoldRequest
from tape.budget.stores.file import FileStore
store, held = FileStore(Path(sys.argv[1])), 0
for number in range(40):
    found = store.reserve(HoldRequest(f"{sys.argv[2]}-{number}", "org/run", {"usd": 1}))
    held += isinstance(found, Held)
    if isinstance(found, Held) and number % 2:
        store.void(found.id)
        held -= 1
print(held)
"""


def test_programs_at_once_never_exceed_a_cap(path: Path) -> None:
    programs = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(path), name], stdout=subprocess.PIPE, text=True)
        for name in ("x", "y", "z", "w", "v")
    ]
    held = sum(int(program.communicate(timeout=100)[0]) for program in programs)
    store = FileStore(path)
    assert store.balances()[0].held == held + 10 <= 100
    assert list(store.check()) == []


def test_a_killed_program_leaves_its_holds(path: Path) -> None:
    code = CHILD + "\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code, str(path), "x"], stdout=subprocess.DEVNULL, check=False, timeout=100)
    now = datetime.now(UTC)
    store = FileStore(path, lambda: now + timedelta(hours=2))
    [balance] = store.balances()
    assert (balance.held, balance.spent) == (0, 30)  # what may have been paid is paid
