"""Calls through the gateway: reserved, refused, settled, whatever becomes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.budget import Resources
from tape.gateway import books
from tape.gateway.gateway import Caller
from tape.gateway.python_tools import OfTool
from tape.gateway.quotes import Answer
from tape.tools.mcp_process import ServerProcess
from tests.tape.gateway.helpers import WHO, call, functions, left, running, server_table, write_config
from tests.tape.tools.hostile import Hostile, result

pytest.importorskip("mcp", reason="the extra mcp is not installed")

BASE = """
[budgets]
run = { usd = "$0.30" }
client = { usd = "$0.20" }
session = { usd = "$0.10" }

[python.cheap]
function = "FUNCTIONS:echo"
kind = "say"
price = { usd = "$0.01" }
quality = 0.5

[python.dear]
function = "FUNCTIONS:echo"
kind = "say"
price = { usd = "$0.04" }
quality = 0.9

[python.wait]
function = "FUNCTIONS:wait"
price = { usd = "$0.04" }

[python.fail]
function = "FUNCTIONS:fail"
price = { usd = "$0.02" }

[python.usage]
function = "FUNCTIONS:usage"
price = { worst = { usd = "$0.03" }, reported = "usage.cost" }

[python.free]
function = "FUNCTIONS:echo"
"""


def play(folder: Path, body: Any, text: str = BASE) -> Any:
    async def run() -> Any:
        async with running(write_config(folder, text)) as gateway:
            return await body(gateway)

    return asyncio.run(run())


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "gateway.journal.jsonl").read_text().splitlines()]


def test_a_call_is_paid_and_a_refusal_says_what_would_fit(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        for _ in range(2):
            said = await call(gateway, "dear", text="x")
            assert said["structuredContent"] == {"result": "x"}
            assert said["isError"] is False
        assert await left(gateway) == 0.02
        refused = await call(gateway, "dear", text="x")
        assert refused["isError"] is True
        fields = refused["structuredContent"]
        assert fields.pop("message") == refused["content"][0]["text"]
        assert fields == {
            "error": "budget_exceeded",
            "tool": "dear",
            "resource": "usd",
            "scope": "session",
            "requested": 0.04,
            "left": 0.02,
            "cap": 0.1,
            "cap_needed": 0.12,
            "worst_case": {"usd": 0.04, "steps": 1},
            "in_flight": 0,
            "would_fit": [{"tool": "cheap", "worst_case": {"usd": 0.01, "steps": 1}, "quality": 0.5}],
        }
        assert "What would fit: cheap" in refused["content"][0]["text"]
        assert len(functions(gateway.config).calls) == 2

    play(tmp_path, body)


def test_ledgers_nest_session_client_run(tmp_path: Path) -> None:
    async def body(gateway: Any) -> list[str]:
        scopes = []
        for client in ("one", "two"):
            for session in ("a", "b", "c"):
                who = Caller(client, session)
                while True:
                    said = await call(gateway, "dear", who, text="x")
                    if said["isError"]:
                        scopes.append(said["structuredContent"]["scope"])
                        break
        assert gateway.books.run.used["usd"] == 280_000
        return scopes

    text = BASE.replace(
        "[python.cheap]", '[clients.one]\ntoken_env = "X"\n[clients.two]\ntoken_env = "X"\n[python.cheap]'
    )
    assert play(tmp_path, body, text) == ["session", "session", "client", "session", "run", "run"]


def test_parallel_calls_never_take_more_than_there_is(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        said = await asyncio.gather(*(call(gateway, "dear", text=str(n)) for n in range(20)))
        assert sum(not one["isError"] for one in said) == 2
        assert gateway.books.run.used["usd"] == 80_000
        assert not gateway.books.run.reserved

    play(tmp_path, body)


def test_what_is_in_flight_is_named_in_a_refusal(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        waiting = [asyncio.create_task(call(gateway, "wait")) for _ in range(2)]
        while len(functions(gateway.config).calls) < 2:
            await asyncio.sleep(0)
        said = (await call(gateway, "dear", text="x"))["structuredContent"]
        assert said["in_flight"] == 0.08
        assert "Calls in flight" in said["message"]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        # What a call has done that was cut off nobody knows: its worst case is booked.
        assert gateway.books.run.used["usd"] == 80_000
        assert not gateway.books.run.reserved

    play(tmp_path, body)
    assert [line["outcome"] for line in lines(tmp_path) if "close" in line] == ["cut off", "cut off"]


def test_a_call_that_is_not_answered_in_time_counts_in_full(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        said = await call(gateway, "wait")
        assert said["structuredContent"]["error"] == "unanswered"
        assert said["structuredContent"]["spent"]["usd"] == 0.04
        assert await left(gateway) == 0.06

    play(tmp_path, body, "[gateway]\ncall_seconds = 0.05\n" + BASE)


def test_a_failed_call_is_paid_and_passed_on(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        said = await call(gateway, "fail", text="no such city")
        assert said["isError"] is True
        assert "no such city" in said["content"][0]["text"]
        assert await left(gateway) == 0.08

    play(tmp_path, body)
    assert lines(tmp_path)[-1]["outcome"] == "failed"


def test_what_is_reported_is_booked_and_more_than_the_worst_case_is_told(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        await call(gateway, "usage", usd=0.0105)
        assert await left(gateway) == 0.0895
        await call(gateway, "usage", usd=-1)  # nothing that can be: the worst case
        assert await left(gateway) == 0.0595
        said = await call(gateway, "usage", usd=0.05)
        assert said["_meta"] == {"tape/broken_declarations": [{"resource": "usd", "declared": 0.03, "used": 0.05}]}
        assert await left(gateway) == 0.0095

    play(tmp_path, body)


def test_a_tool_without_a_price_is_refused_under_a_cap(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        said = await call(gateway, "free", text="x")
        assert said["structuredContent"]["error"] == "unknown_price"
        assert functions(gateway.config).calls == []
        assert any("free of python has no price" in line for line in gateway.warnings())

    play(tmp_path, body)


def test_arguments_that_do_not_fit_cost_nothing(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        for arguments in ({"text": 3}, {}, {"text": "x", "more": 1}):
            said = await gateway.call(WHO, "dear", arguments, _nobody)
            assert said["structuredContent"]["error"] == "invalid_arguments"
        said = await call(gateway, "daer", text="x")
        assert said["structuredContent"] == {
            "error": "unknown_tool", "message": "there is no tool 'daer'", "tool": "'daer'", "near": ["dear"]
        }  # fmt: skip
        assert await left(gateway) == 0.1

    play(tmp_path, body)


async def _nobody(*_: Any) -> str:
    return "nobody"


def test_an_argument_beyond_what_is_priced_is_refused(tmp_path: Path) -> None:
    price = '{ each = { usd = "$0.001" }, per = "argument", argument = "text", at_most = 5 }'
    text = f'[budgets]\nsession = {{ usd = "$1" }}\n[python.say]\nfunction = "FUNCTIONS:echo"\nprice = {price}\n'

    async def body(gateway: Any) -> None:
        await call(gateway, "say", text="abc")
        assert await left(gateway) == 0.997
        said = await call(gateway, "say", text="abcdef")
        assert said["structuredContent"]["error"] == "invalid_arguments"
        assert "at most 5 are priced" in said["structuredContent"]["message"]
        assert await left(gateway) == 0.997

    play(tmp_path, body, text)


def test_budget_says_what_is_left_and_affordable(tmp_path: Path) -> None:
    async def body(gateway: Any) -> None:
        await call(gateway, "dear", text="x")
        said = (await call(gateway, "budget"))["structuredContent"]
        assert said["budgets"] == [
            {"scope": "session", "resource": "usd", "cap": 0.1, "left": 0.06, "reserved": 0, "spent": 0.04},
            {"scope": "client", "resource": "usd", "cap": 0.2, "left": 0.16, "reserved": 0, "spent": 0.04},
            {"scope": "run", "resource": "usd", "cap": 0.3, "left": 0.26, "reserved": 0, "spent": 0.04},
        ]
        assert said["left"] == {"usd": 0.06}
        assert {name: said["affordable"][name] for name in ("cheap", "dear")} == {"cheap": 6, "dear": 1}
        assert said["affordable"]["free"].startswith("unknown")

    play(tmp_path, body)


def test_a_handle_goes_on_with_a_session_after_a_restart(tmp_path: Path) -> None:
    async def first(gateway: Any) -> str:
        await call(gateway, "dear", text="x")
        return str((await call(gateway, "checkpoint"))["structuredContent"]["handle"])

    handle = play(tmp_path, first)
    assert handle not in (tmp_path / "gateway.journal.jsonl").read_text()

    async def second(gateway: Any) -> None:
        assert await left(gateway) == 0.1  # a new session; the client's and the run's caps remember
        assert (await call(gateway, "resume", handle="no"))["structuredContent"]["error"] == "unknown_handle"
        said = await call(gateway, "resume", Caller("other", "x"), handle=handle)
        assert said["structuredContent"]["error"] == "unknown_handle"
        said = (await call(gateway, "resume", handle=handle))["structuredContent"]
        assert said["calls"] == [{"tool": "dear", "outcome": "ok", "spent": {"usd": 0.04, "steps": 1}}]
        assert await left(gateway) == 0.06
        assert gateway.books.run.used["usd"] == 40_000

    play(tmp_path, second)


def test_a_server_that_dies_is_paid_once_and_started_again(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path / "server", {"call:0": b"not json, and no answer"})
    text = f"""[gateway]
call_seconds = 200
[budgets]
session = {{ usd = "$1" }}
{server_table(hostile.command)}
price = {{ usd = "$0.01" }}
"""

    async def body(gateway: Any) -> None:
        server = gateway._servers[0]
        waiting = asyncio.create_task(call(gateway, "wipe"))
        while not gateway.books.run.reserved:
            await asyncio.sleep(0.01)
        process = server._channel
        assert isinstance(process, ServerProcess)
        process.kill()
        said = await waiting
        assert said["structuredContent"]["error"] == "unanswered"
        assert await left(gateway) == 0.99
        hostile.file.write_text(json.dumps({"replies": {}, "ways": []}))
        said = await call(gateway, "wipe")
        assert said["content"][0]["text"] == "found"
        assert await left(gateway) == 0.98

    play(tmp_path, body, text)
    hostile.require_gone()


def test_an_error_of_the_server_is_a_failed_call(tmp_path: Path) -> None:
    hostile = Hostile(
        tmp_path / "server", {"tools/call": result(content=[{"type": "text", "text": "no"}], isError=True)}
    )
    text = f'[budgets]\nsession = {{ usd = "$1" }}\n{server_table(hostile.command)}price = {{ usd = "$0.01" }}\n'

    async def body(gateway: Any) -> None:
        said = await call(gateway, "wipe")
        assert said == {"content": [{"type": "text", "text": "no"}], "isError": True}
        assert await left(gateway) == 0.99

    play(tmp_path, body, text)


class Broken:
    """A cost that cannot say what a call used."""

    def worst(self) -> Resources:
        return Resources({"usd": 5})

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: Random) -> Resources:
        raise KeyError("no such field")


def test_a_cost_that_fails_is_said_and_what_it_took_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert OfTool(Broken()).actual(Broken().worst(), {}, Answer()) == Resources({"usd": None})
    assert "Broken.actual failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "price",
    [
        '{ each = { usd = "0.10" }, per = "argument", argument = "pages" }',
        '{ each = { usd = "0.01" }, per = "input_tokens", bytes_per_token = 1 }',
        '{ argument = "pages", values = { "[]" = { usd = 0 } }, otherwise = { usd = "0.40" } }',
    ],
)
def test_a_function_that_empties_its_arguments_pays_for_what_it_was_asked(tmp_path: Path, price: str) -> None:
    text = f'[budgets]\nrun = {{ usd = "$0.50" }}\n[python.shred]\nfunction = "FUNCTIONS:shred"\nprice = {price}\n'
    asked = [["a"], ["b"], ["c"], ["d"]]

    async def body(gateway: Any) -> None:
        answers = [await call(gateway, "shred", pages=asked) for _ in range(60)]
        assert asked == [["a"], ["b"], ["c"], ["d"]]
        assert functions(gateway.config).calls == [4]
        assert [one["isError"] for one in answers] == [False, *[True] * 59]
        assert await left(gateway) < 0.15  # nothing more of this kind is paid for

    play(tmp_path, body, text)


def test_a_slot_keeps_what_was_spent_in_it(tmp_path: Path) -> None:
    async def first(gateway: Any) -> None:
        one = Caller("local", 1)
        await call(gateway, "dear", one, text="x")
        other = (await call(gateway, "checkpoint"))["structuredContent"]["handle"]
        assert "left" in (await call(gateway, "resume", one, handle=other))["structuredContent"]
        assert await left(gateway, who=one) == 0.1
        gateway.books.end("local", 1)  # the session, and with it what was resumed
        assert await left(gateway, who=one) == 0.06
        assert await left(gateway, who=Caller("local", 2)) == await left(gateway, who=Caller("local", 0)) == 0.1

    play(tmp_path, first)

    async def second(gateway: Any) -> None:
        assert await left(gateway, who=Caller("local", 1)) == 0.06

    play(tmp_path, second)


def test_a_session_has_so_many_handles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "MOST_HANDLES", 2)

    async def body(gateway: Any) -> None:
        found = [await call(gateway, "checkpoint") for _ in range(3)]
        assert [one.get("isError", False) for one in found] == [False, False, True]
        assert "has 2 handles" in found[2]["structuredContent"]["message"]
        assert not (await call(gateway, "checkpoint", Caller("local", 1))).get("isError")

    play(tmp_path, body)
