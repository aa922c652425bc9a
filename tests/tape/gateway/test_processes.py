"""`tape gateway` as a process of its own: real clients over stdio and HTTP, and what is left when one of them ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.errors import ConfigError
from tests.tape.gateway.helpers import call, running, server_table, write_config
from tests.tape.gateway.over_http import HELLO, command, message, post, serving, serving_here
from tests.tape.tools.hostile import Hostile

pytest.importorskip("mcp", reason="the extra mcp is not installed")

HEAD = '[gateway]\ncall_seconds = 200\n[budgets]\nrun = { usd = "$0.05" }\nsession = { usd = "$0.03" }\n'
PRICE = 'price = { usd = "$0.01" }\n'


def parameters(file: Path, *more: str) -> Any:
    from mcp.client.stdio import StdioServerParameters

    return StdioServerParameters(command=sys.executable, args=command(file, *more)[1:], env=dict(os.environ))


def table(hostile: Hostile) -> str:
    """The server, whose calls cost $0.01 each."""
    return server_table(hostile.command) + PRICE


async def scopes(client: Any) -> list[str | None]:
    """The scopes of the budgets that refuse four calls; None where a call was made."""
    tools = [await client.call_tool("wipe", {}) for _ in range(4)]
    return [(item.structured_content or {}).get("scope") for item in tools]


@contextlib.asynccontextmanager
async def client_at(address: str, headers: dict[str, str], mode: str, **options: Any) -> AsyncIterator[Any]:
    """The SDK's client over HTTP."""
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=headers, timeout=60) as over:
        transport = streamable_http_client(f"http://{address}/mcp", http_client=over)
        async with Client(transport, mode=mode, **options) as client:
            yield client


def called(file: Path, address: str, *calls: tuple[str, dict[str, Any]]) -> list[bool]:
    """Whether each call of a client is an error."""

    async def ask() -> list[bool]:
        headers = {"Authorization": f"Bearer {file.with_suffix('.token').read_text().strip()}"}
        async with client_at(address, headers, "legacy") as client:
            return [(await client.call_tool(name, arguments)).is_error for name, arguments in calls]

    return asyncio.run(ask())


TWICE = {"legacy": [None, None, None, "session"], "auto": [None, None, "run", "run"]}
"""What two sessions of four calls are answered, one after the other."""


@pytest.mark.slow
def test_nothing_is_left_of_a_gateway_that_is_told_to_end(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path / "server", {"tools/call": b""}, ["linger", "ignore_term", "spawn"])
    file = write_config(tmp_path, HEAD + table(hostile))
    process = subprocess.Popen(
        command(file), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(HELLO + message(2, "tools/call", name="wipe", arguments={}))
    process.stdin.flush()
    journal = file.with_suffix(".journal.jsonl")
    while not (journal.exists() and b"hold" in journal.read_bytes()) and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    process.wait()
    process.stdin.close()
    hostile.require_gone()
    # Cut off while it was being written down it was not begun. After a signal nothing more is written: it counts.
    assert json.loads(journal.read_text().splitlines()[-1]).get("state") in (None, "booked", "voided")


def test_what_is_wrong_is_found_before_anything_is_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Hostile(tmp_path / "server")
    file = write_config(tmp_path, HEAD + server_table(hostile.command) + "prise = { usd = 1 }\n")
    assert main(["gateway", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        f"tape gateway: {file}:9: field servers.s.prise: there is no such setting; do you mean price?"
    )
    assert not hostile.file.with_suffix(".pids").exists()

    write_config(tmp_path, HEAD + table(hostile))
    assert main(["gateway", str(file), "--check"]) == 0
    assert "wipe: Wipe. [s; a call takes at most: steps 1, usd 0.01]" in capsys.readouterr().out
    assert not file.with_suffix(".journal.jsonl").exists()
    hostile.require_gone()


@pytest.mark.slow
async def test_functions_may_print(tmp_path: Path) -> None:
    from mcp.client import Client

    (tmp_path / "printing.py").write_text(
        "import os\nprint('at import')\n\ndef say(text: str) -> str:\n    'Say.'\n    print('words')\n"
        "    os.write(1, b'more\\n')\n    return text\n"
    )
    file = write_config(tmp_path, '[python.say]\nfunction = "printing:say"\n')
    async with Client(parameters(file)) as client:
        tool = await client.call_tool("say", {"text": "x"})
        assert tool.structured_content == {"result": "x"}


# --- HTTP -----------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_http_is_for_clients_that_know_the_token_and_come_from_here(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path / "server")
    file = write_config(tmp_path, HEAD + table(hostile))
    with serving(file) as address:
        secret = file.with_suffix(".token")
        assert secret.stat().st_mode & 0o777 == 0o600
        token = secret.read_text().strip()
        right = {"Authorization": f"Bearer {token}"}
        for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {token}"}):
            assert post(address, HELLO, **wrong)[0] == 401
        for foreign in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            assert post(address, HELLO.splitlines()[0], **foreign, **right)[0] == 403
        assert post(address, b"x" * (9 << 20), **right)[0] == 413
        assert post(address, HELLO.splitlines()[0], Origin=f"http://{address}", **right)[0] == 200
        for mode, expected in TWICE.items():
            async with client_at(address, right, mode) as client:
                assert await scopes(client) == expected
    hostile.require_gone()
    assert token not in file.with_suffix(".log").read_text()
    assert token not in file.with_suffix(".journal.jsonl").read_text()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_approval_over_http(tmp_path: Path, mode: str) -> None:
    from mcp_types import ElicitResult

    async def elicit(context: Any, params: Any) -> Any:
        return ElicitResult(action="accept", content={"approve": "forget" not in params.message})

    text = HEAD + "".join(
        f'[python.{name}]\nfunction = "FUNCTIONS:echo"\ndestructive = true\n{PRICE}' for name in ("drop", "forget")
    )
    file = write_config(tmp_path, text)
    with serving_here(file) as address:
        right = {"Authorization": f"Bearer {file.with_suffix('.token').read_text().strip()}"}
        async with client_at(address, right, mode, elicitation_callback=elicit) as client:
            tools = [await client.call_tool(name, {"text": "x"}) for name in ("drop", "forget")]
    assert [item.is_error for item in tools] == [False, True]


def test_tokens_that_are_missing_weak_or_open_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = Hostile(tmp_path / "server")
    clients = '[clients.one]\ntoken_env = "GATEWAY_NO_TOKEN"\n'
    file = write_config(tmp_path, HEAD + clients + table(hostile))

    def refused() -> str:
        assert main(["gateway", str(file), "--http", "0"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    where = f"{file}:7: field clients.one.token_env: the environment variable GATEWAY_NO_TOKEN"
    assert f"{where} is not set" in refused()
    monkeypatch.setenv("GATEWAY_NO_TOKEN", "short")
    assert "a token has at least 16" in refused()
    write_config(tmp_path, HEAD + table(hostile))
    file.with_suffix(".token").write_text("x" * 32)
    file.with_suffix(".token").chmod(0o644)
    assert "chmod 600" in refused()
    hostile.require_gone()


async def test_a_downstream_server_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway behind a gateway: one speaks HTTP, the other asks it."""
    hostile = Hostile(tmp_path / "server")
    inner = write_config(tmp_path / "inner", HEAD + table(hostile))

    with serving_here(inner) as address:
        token = inner.with_suffix(".token").read_text().strip()
        outer = write_config(
            tmp_path / "outer",
            f'{HEAD}[servers.far]\nurl = "http://{address}/mcp"\nheaders_from = {{ Authorization = "FAR_TOKEN" }}\n'
            f'prefix = "far_"\n{PRICE}',
        )
        monkeypatch.setenv("FAR_TOKEN", f"Bearer {token}")
        async with running(outer) as gateway:
            names = [tool["name"] for tool in gateway.listed()]
            assert names == ["budget", "far_budget", "far_look", "far_wipe"]
            result = await asyncio.gather(*(call(gateway, "far_wipe") for _ in range(4)))
            assert [mapping["isError"] for mapping in result].count(False) == 3
            assert {mapping["structuredContent"].get("scope") for mapping in result} == {None, "session"}
        monkeypatch.setenv("FAR_TOKEN", "Bearer wrong")
        with pytest.raises(ConfigError, match=f"{outer}:7: field servers.far.url: .*HTTP status 401"):
            await running(outer).__aenter__()
    hostile.require_gone()
    assert token not in outer.with_suffix(".journal.jsonl").read_text()


@pytest.mark.parametrize("reply", [b"[" * 100_000, b"9" * 5000, b"\xff", b"{}", b'{"result": []}', b'{"result": 1}'])
async def test_an_initialisation_that_no_parser_survives_is_handed_on(reply: bytes) -> None:
    from tape.gateway.http_channel import HttpChannel

    channel = HttpChannel("http://127.0.0.1:1/", {})
    try:
        assert not await channel._take(reply, {"id": 1, "method": "initialize"})
        assert await anext(channel.lines()) == reply
    finally:
        await channel.stop()
