"""Calls through the gateway: reserved, refused, settled, whatever becomes of them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Resources
from tape.budget.prices import Answer
from tape.gateway import ledgers
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.python_tools import OfTool
from tape.tools.mcp_process import ServerProcess
from tests.tape.gateway.helpers import OWN_TOOLS, WHO, ask, call, functions, gateway_on, left, reading, server_table
from tests.tape.tools.hostile import Hostile, result

pytest.importorskip("mcp", reason="the extra mcp is not installed")

CONFIG = """
[budgets]
run = { usd = "$0.30" }
client = { usd = "$0.20" }
session = { usd = "$0.10" }

[python]
cheap = { function = "FUNCTIONS:echo", kind = "say", price = { usd = "$0.01" }, quality = 0.5 }
dear = { function = "FUNCTIONS:echo", kind = "say", price = { usd = "$0.04" }, quality = 0.9 }
wait = { function = "FUNCTIONS:wait", price = { usd = "$0.04" } }
fail = { function = "FUNCTIONS:fail", price = { usd = "$0.02" } }
usage = { function = "FUNCTIONS:usage", price = { worst = { usd = "$0.03" }, reported = "usage.cost" } }
free = { function = "FUNCTIONS:echo" }
"""


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "gateway.journal.jsonl").read_text().splitlines()]


async def test_a_call_is_paid_and_a_refusal_names_what_would_fit(gateway: Gateway) -> None:
    for _ in range(2):
        answer = await call(gateway, "dear", text="x")
        assert answer["structuredContent"] == {"result": "x"}
        assert answer["isError"] is False
    assert await left(gateway) == 0.02
    refused = await call(gateway, "dear", text="x")
    assert refused["isError"] is True
    fields = refused["structuredContent"]
    assert fields.pop("message") == refused["content"][0]["text"]
    assert fields == {
        "error": "budget_exceeded", "tool": "dear", "resource": "usd", "scope": "session", "requested": 0.04,
        "left": 0.02, "cap": 0.1, "cap_needed": 0.12, "worst_case": {"usd": 0.04, "steps": 1}, "in_flight": 0,
        "would_fit": [{"tool": "cheap", "worst_case": {"usd": 0.01, "steps": 1}, "quality": 0.5}],
    }  # fmt: skip
    assert "What would fit: cheap" in refused["content"][0]["text"]
    assert len(functions(gateway.config).calls) == 2


async def test_ledgers_nest_session_client_run(tmp_path: Path) -> None:
    clients = '[clients]\none = { token_env = "X" }\ntwo = { token_env = "X" }\n'
    scopes = []
    async with gateway_on(tmp_path, CONFIG + clients) as gateway:
        for client, session in itertools.product(("one", "two"), "abc"):
            while "scope" not in (mapping := await ask(gateway, "dear", Caller(client, session), text="x")):
                pass
            scopes.append(mapping["scope"])
        assert reading(gateway).spent["usd"] == 280_000
    assert scopes == ["session", "session", "client", "session", "run", "run"]


async def test_what_is_in_flight_is_named_in_a_refusal(gateway: Gateway, tmp_path: Path) -> None:
    waiting = [asyncio.create_task(call(gateway, "wait")) for _ in range(2)]
    while len(functions(gateway.config).calls) < 2:
        await asyncio.sleep(0)
    answer = await ask(gateway, "dear", text="x")
    assert answer["in_flight"] == 0.08
    assert "Calls in flight" in answer["message"]
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    # What a call has done that was cut off nobody knows: its worst case is booked.
    assert reading(gateway).spent["usd"] == 80_000
    assert not reading(gateway).held
    assert [line["state"] for line in lines(tmp_path) if line.get("do") == "end"] == ["booked", "booked"]


async def test_a_call_that_is_not_answered_in_time_counts_in_full(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, "[gateway]\ncall_seconds = 0.05\n" + CONFIG) as gateway:
        answer = await ask(gateway, "wait")
        assert (answer["error"], answer["spent"]["usd"]) == ("unanswered", 0.04)
        assert await left(gateway) == 0.06


async def test_a_failed_call_is_paid_and_passed_on(gateway: Gateway, tmp_path: Path) -> None:
    answer = await call(gateway, "fail", text="no such city")
    assert answer["isError"] is True
    assert "no such city" in answer["content"][0]["text"]
    assert await left(gateway) == 0.08
    assert lines(tmp_path)[-1]["state"] == "settled"


async def test_reported_costs_are_booked_and_more_than_the_worst_case_is_flagged(gateway: Gateway) -> None:
    await call(gateway, "usage", usd=0.0105)
    assert await left(gateway) == 0.0895
    await call(gateway, "usage", usd=-1)  # nothing that can be: the worst case
    assert await left(gateway) == 0.0595
    answer = await call(gateway, "usage", usd=0.05)
    assert answer["_meta"] == {"tape/broken_declarations": [{"resource": "usd", "declared": 0.03, "used": 0.05}]}
    assert await left(gateway) == 0.0095


async def test_a_tool_without_a_price_is_refused_under_a_cap(gateway: Gateway) -> None:
    assert (await ask(gateway, "free", text="x"))["error"] == "unknown_price"
    assert functions(gateway.config).calls == []
    assert any("free of python has no price" in line for line in gateway.warnings())


async def test_arguments_that_do_not_fit_cost_nothing(gateway: Gateway) -> None:
    for arguments in ({"text": 3}, {}, {"text": "x", "more": 1}):
        assert (await ask(gateway, "dear", **arguments))["error"] == "invalid_arguments"
    assert await ask(gateway, "daer", text="x") == {
        "error": "unknown_tool", "message": "there is no tool 'daer'", "tool": "'daer'", "near": ["dear"]
    }  # fmt: skip
    assert await left(gateway) == 0.1


async def test_an_argument_beyond_what_is_priced_is_refused(tmp_path: Path) -> None:
    price = '{ each = { usd = "$0.001" }, per = "argument", argument = "text", at_most = 5 }'
    text = f'[budgets]\nsession = {{ usd = "$1" }}\n[python.say]\nfunction = "FUNCTIONS:echo"\nprice = {price}\n'
    async with gateway_on(tmp_path, text) as gateway:
        await call(gateway, "say", text="abc")
        answer = await ask(gateway, "say", text="abcdef")
        assert answer["error"] == "invalid_arguments"
        assert "at most 5 are priced" in answer["message"]
        assert await left(gateway) == 0.997


async def test_budget_lists_what_is_left_and_affordable(gateway: Gateway) -> None:
    await call(gateway, "dear", text="x")
    answer = await ask(gateway, "budget")
    assert answer["budgets"] == [
        {"scope": "session", "resource": "usd", "cap": 0.1, "left": 0.06, "reserved": 0, "spent": 0.04},
        {"scope": "client", "resource": "usd", "cap": 0.2, "left": 0.16, "reserved": 0, "spent": 0.04},
        {"scope": "run", "resource": "usd", "cap": 0.3, "left": 0.26, "reserved": 0, "spent": 0.04},
    ]
    assert answer["left"] == {"usd": 0.06}
    assert {name: answer["affordable"][name] for name in ("cheap", "dear")} == {"cheap": 6, "dear": 1}
    assert answer["affordable"]["free"].startswith("unknown")


async def test_a_handle_goes_on_with_a_session_after_a_restart(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, OWN_TOOLS + CONFIG) as gateway:
        await call(gateway, "dear", text="x")
        handle = str((await ask(gateway, "checkpoint"))["handle"])
    assert handle not in (tmp_path / "gateway.journal.jsonl").read_text()
    async with gateway_on(tmp_path, OWN_TOOLS + CONFIG) as gateway:
        assert await left(gateway) == 0.1  # a new session; the client's and the run's caps remember
        for who, known in ((WHO, "no"), (Caller("other", "x"), handle)):
            assert (await ask(gateway, "resume", who, handle=known))["error"] == "unknown_handle"
        answer = await ask(gateway, "resume", handle=handle)
        assert answer["calls"] == [{"tool": "dear", "state": "settled", "spent": {"usd": 0.04, "steps": 1}}]
        assert await left(gateway) == 0.06
        assert reading(gateway).spent["usd"] == 40_000


def priced(hostile: Hostile) -> str:
    """A session with $1 for calls of a server at $0.01 each."""
    return f'[budgets]\nsession = {{ usd = "$1" }}\n{server_table(hostile.command)}price = {{ usd = "$0.01" }}\n'


async def test_a_server_that_dies_is_paid_once_and_started_again(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path / "server", {"call:0": b"not json, and no answer"})
    async with gateway_on(tmp_path, f"[gateway]\ncall_seconds = 200\n{priced(hostile)}") as gateway:
        waiting = asyncio.create_task(call(gateway, "wipe"))
        while not hostile.file.with_suffix(".called").exists():
            await asyncio.sleep(0.01)
        process = gateway._servers[0]._channel
        assert isinstance(process, ServerProcess)
        process.kill()
        assert (await waiting)["structuredContent"]["error"] == "unanswered"
        assert await left(gateway) == 0.99
        hostile.file.write_text(json.dumps({"replies": {}, "ways": []}))
        answer = await call(gateway, "wipe")
        assert answer["content"][0]["text"] == "found"
        assert await left(gateway) == 0.98
    hostile.require_gone()


async def test_an_error_of_the_server_is_a_failed_call(tmp_path: Path) -> None:
    failed = {"content": [{"type": "text", "text": "no"}], "isError": True}
    hostile = Hostile(tmp_path / "server", {"tools/call": result(**failed)})
    async with gateway_on(tmp_path, priced(hostile)) as gateway:
        assert await call(gateway, "wipe") == failed
        assert await left(gateway) == 0.99


class Broken:
    """A cost that cannot say what a call used."""

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        return Resources({"usd": 5})

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        raise KeyError("no such field")


def test_a_cost_that_fails_is_reported_and_what_it_took_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert OfTool(Broken()).actual({}, Answer()) == Resources({"usd": None})
    assert "Broken.actual failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "price",
    [
        '{ each = { usd = "0.10" }, per = "argument", argument = "pages" }',
        '{ each = { usd = "0.01" }, per = "input_tokens", bytes_per_token = 1 }',
        '{ argument = "pages", values = { "[]" = { usd = 0 } }, otherwise = { usd = "0.40" } }',
    ],
)
async def test_a_function_that_empties_its_arguments_pays_for_what_it_was_asked(tmp_path: Path, price: str) -> None:
    text = f'[budgets]\nrun = {{ usd = "$0.50" }}\n[python.shred]\nfunction = "FUNCTIONS:shred"\nprice = {price}\n'
    asked = [["a"], ["b"], ["c"], ["d"]]
    async with gateway_on(tmp_path, text) as gateway:
        answers = [await call(gateway, "shred", pages=asked) for _ in range(60)]
        assert asked == [["a"], ["b"], ["c"], ["d"]]
        assert functions(gateway.config).calls == [4]
        assert [answer["isError"] for answer in answers] == [False, *[True] * 59]
        assert await left(gateway) < 0.15  # nothing more of this kind is paid for


async def test_a_slot_keeps_what_was_spent_in_it(tmp_path: Path) -> None:
    caller = Caller("local", 1)
    async with gateway_on(tmp_path, OWN_TOOLS + CONFIG) as gateway:
        await call(gateway, "dear", caller, text="x")
        other = (await ask(gateway, "checkpoint"))["handle"]
        assert "left" in await ask(gateway, "resume", caller, handle=other)
        assert await left(gateway, who=caller) == 0.1
        gateway.ledgers.end_session("local", 1)  # the session, and with it what was resumed
        assert await left(gateway, who=caller) == 0.06
        assert await left(gateway, who=Caller("local", 2)) == await left(gateway, who=Caller("local", 0)) == 0.1
    async with gateway_on(tmp_path, OWN_TOOLS + CONFIG) as gateway:
        assert await left(gateway, who=caller) == 0.06


async def test_a_session_has_so_many_handles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MOST_HANDLES", 2)
    async with gateway_on(tmp_path, OWN_TOOLS + CONFIG) as gateway:
        outcome = [await call(gateway, "checkpoint") for _ in range(3)]
        assert [mapping.get("isError", False) for mapping in outcome] == [False, False, True]
        assert "has 2 handles" in outcome[2]["structuredContent"]["message"]
        assert not (await call(gateway, "checkpoint", Caller("local", 1))).get("isError")


async def test_only_budget_is_offered_unless_others_are_turned_on(tmp_path: Path) -> None:
    """A model's prompt has every tool's definition: by default one, of at most 120 tokens of three bytes."""
    tools = ["cheap", "dear", "wait", "fail", "usage", "free"]
    for own, names in (("", ["budget"]), (OWN_TOOLS, ["plan", "budget", "checkpoint", "resume"])):
        async with gateway_on(tmp_path, own + CONFIG) as gateway:
            assert [mapping["name"] for mapping in gateway.listed()] == [*names, *tools]
            budget = gateway.listed()[names.index("budget")]
            values_by_name = {
                name: (await call(gateway, name)).get("structuredContent", {}) for name in ("plan", "checkpoint")
            }
            assert [item.get("error") == "unknown_tool" for item in values_by_name.values()] == [not own, not own]
    called = {"name": "budget", "description": budget["description"], "parameters": budget["inputSchema"]}
    for shown in (budget, {"type": "function", "function": called}):
        assert len(json.dumps(shown)) <= 3 * 120
