"""MCP servers that are broken or hostile: every reply ends in a result, a failed call or an error with its reason."""

import asyncio
import json
import logging.handlers
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.agents.react import ReactAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, ToolError, mcp_process, mcp_session
from tape.tools.calls import call
from tests.tape.conftest import Keep
from tests.tape.mutations import mutated
from tests.tape.tools.helpers import script
from tests.tape.tools.hostile import Hostile, described, inside, listing, never, result
from tests.tape.tools.hostile_server import NUMBER, answer


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers get less time to end before they are killed."""
    monkeypatch.setattr(mcp_process, "_END_SECONDS", 0.2)
    monkeypatch.setattr(mcp_process, "_TERM_SECONDS", 0.1)


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are too long at a quarter of the usual length."""
    for module in (mcp_process, mcp_session):
        monkeypatch.setattr(module, "MOST_BYTES", MOST_BYTES)


async def names(tools: dict[str, Tool]) -> list[str]:
    return list(tools)


async def look(tools: dict[str, Tool]) -> Any:
    """Call once; the result, or the note of the failure."""
    [outcome] = await looks(tools, 1)
    return outcome


async def looks(tools: dict[str, Tool], count: int = 2) -> list[Any]:
    """The same for several calls in a row."""
    env = ToolEnvironment("t", [tools["look"]])
    env.reset(0)
    values: list[Any] = []
    for number in range(count):
        got = len(env._state.got)
        await env.astep(call("look", call=number).text)
        values.append(env._state.values()[-1] if len(env._state.got) > got else env._state.note)
    return values


BROKEN: list[tuple[Any, str]] = [
    ({"name": "bare"}, "bare' .*no JSON schema"),
    ({"name": "five", "inputSchema": 5}, "five' .*described by 5"),
    ({"name": "list", "inputSchema": {"type": "array"}}, "list': its arguments are of the type 'array', not an object"),
    (described("large", {"a": {"enum": [*range(9000)]}}), "large' .*more than 5000 parts"),
    ({"inputSchema": {}}, "number 6 of its list, whose name is (null|None)"),
    (described("x" * 5000), "number 7 of its list"),
    (described("look", {"a": {}}), "a second one named 'look'"),
    (["bad"], "number 9 of its list"),
]


def test_broken_tools_are_left_out_with_a_warning(tmp_path: Path) -> None:
    server = Hostile(tmp_path, listing(described("look"), *(entry for entry, _ in BROKEN), described("wipe")))
    assert inside(server, names) == ["look", "wipe"]
    [warning] = server.warnings
    assert "the MCP server" in warning
    for _, message in BROKEN:
        assert re.search(message, warning), warning


def test_a_broken_tool_that_is_declared_is_an_error_and_so_is_a_server_of_broken_ones(tmp_path: Path) -> None:
    bad = {"name": "bad", "inputSchema": {"type": "array"}}
    message = r"the MCP server .*MCP tool 'bad': its arguments are of the type 'array', not an object"
    for settings in ({"only": ["bad", "look"]}, {"costs": {"bad": {"usd": 1}}}):
        with pytest.raises(ToolError, match=message):
            inside(Hostile(tmp_path, listing(described("look"), bad)), never, **settings)
    assert inside(Hostile(tmp_path, listing(described("look"), bad)), names, only=["look"]) == ["look"]
    with pytest.raises(ToolError, match="has no tool that can be offered: 'bad'"):
        inside(Hostile(tmp_path, listing(bad)), never)
    with pytest.raises(ToolError, match="has no tool that can be offered"):
        inside(Hostile(tmp_path, listing()), never)


def test_of_many_tools_those_wanted_are_named(tmp_path: Path) -> None:
    many = [described(f"t{i}", {"a": {"type": "integer"}}) for i in range(5_000)]
    with pytest.raises(ToolError, match=r"has 5000 tools, and 256 are offered at most.*only=\[\.\.\.\].*t0, t1"):
        inside(Hostile(tmp_path, listing(*many)), never)
    assert inside(Hostile(tmp_path, listing(*many)), names, only=["t4999", "t7"]) == ["t7", "t4999"]


ERROR = {"jsonrpc": "2.0", "id": NUMBER, "error": {"code": -1, "message": "out of order"}}
BAD, MUTE = r"the MCP server .* cannot be used: .*", r"the MCP server .* has not listed its tools within 0.4 s; .*"


@pytest.mark.parametrize(
    ("replies", "more", "seconds", "message"),
    [
        ({"initialize": result(protocolVersion="1999-01-01")}, {}, 30, f"{BAD}version '1999-01-01' of the protocol"),
        ({"initialize": result()}, {}, 30, f"{BAD}version (null|None) of the protocol"),
        ({"initialize": json.dumps(ERROR).encode()}, {}, 30, f"{BAD}out of order"),
        ({"tools/list": result(tools="all")}, {}, 30, f"{BAD}its list of tools is 'all'"),
        ({"tools/list": result(tools=[], nextCursor=5)}, {}, 30, f"{BAD}next page of its list of tools is 5"),
        ({"initialize": b"[]"}, {}, 0.4, rf"{MUTE}it wrote '\[\]', which is no message"),
        ({"initialize": b"{"}, {}, 0.4, rf"{MUTE}it wrote '\{{', which is no message"),
        (
            {"tools/list": b'{"jsonrpc":"2.0","id":null,"error":{"message":"no such method"}}'},
            {},
            0.4,
            f"{MUTE}no such",
        ),
        ({}, {"ways": ["pages"]}, 30, "its list of tools has no end: 100 tools on 100 pages"),
        ({}, {"ways": ["pages"], "pause": 0.2}, 0.7, "has not listed its tools within 0.7 s"),
    ],
)
def test_a_failed_start_gives_its_reason(
    tmp_path: Path, replies: dict[str, bytes], more: dict[str, Any], seconds: float, message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        inside(Hostile(tmp_path, replies, **more), never, start_seconds=seconds)


def test_a_server_without_handshakes_gets_the_client_with_every_request(tmp_path: Path) -> None:
    refusal = {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}}
    replies = {"initialize": json.dumps({"jsonrpc": "2.0", "id": NUMBER, "error": refusal}).encode()}
    assert inside(Hostile(tmp_path, replies), look) == "found\nit"


MOST_BYTES = 5 << 20
LONG = b'{"jsonrpc":"2.0","id":777000777,"result":{"content":[{"type":"text","text":"%s"}]}}' % (
    b"x" * (MOST_BYTES << 1)
)
DEEP = b'{"jsonrpc":"2.0","id":777000777,"result":{"structuredContent":{"a":' + b"[" * 9999 + b"]" * 9999 + b"}}}"
NESTED = {"a": 1}
for _ in range(60):
    NESTED = {"a": NESTED}  # type: ignore[dict-item]


INVALID: list[tuple[bytes, str]] = [
    (LONG, f"answers more than {MOST_BYTES} bytes"),
    (result(content=[{"type": "text", "text": "x" * 4_500_000}]), "bytes as JSON"),
    (DEEP, "nested deeper than 100"),
    (result(content=[], structuredContent=NESTED), "more than 50 lists and objects"),
    (b'{"jsonrpc":"2.0","id":777000777,"result":{"structuredContent":{"a":1e999}}}', "beyond what a float holds"),
    (b'{"jsonrpc":"2.0","id":777000777,"result":{"structuredContent":{"a":%s}}}' % (b"9" * 5000), "5000 digits"),
    (b'{"jsonrpc":"2.0","id":777000777,"result":{"structuredContent":{"a":"\\ud800"}}}', "half of a surrogate"),
    (result(content="found"), "answers 'found', no list of contents"),
    (result(content=[{"type": "text", "text": 5}]), "a text that is none"),
    (result(content=[], isError="yes"), "the server reports an error"),
    (result(resultType="input_required", inputRequests={}), "asks for something before it answers"),
    (b'{"jsonrpc":"2.0","id":777000777,"result":[]}', "answers a list, not an object"),
    (b'{"jsonrpc":"2.0","id":777000777,"error":5}', "an error that does not say which: 5"),
    (b'{"jsonrpc":"2.0","id":777000777,"error":{"message":"\\u001b[31mred"}}', "red"),
    (b'{"jsonrpc":"2.0","id":777000777,"result":', "no JSON"),
]


def test_an_invalid_answer_is_a_failed_call_with_its_reason_and_the_server_goes_on(
    tmp_path: Path, short_lines: None
) -> None:
    replies = {f"call:{2 * number}": reply for number, (reply, _) in enumerate(INVALID)}
    notes = inside(Hostile(tmp_path, replies), looks, count=2 * len(INVALID))
    for note, (_, message) in zip(notes[::2], INVALID, strict=True):
        assert re.search(message, note), note
    assert notes[1::2] == ["found\nit"] * len(INVALID)


def test_an_answer_to_another_request_is_none(tmp_path: Path) -> None:
    numbers = (b"424242", b'"1"', b"null", b"true", b"[]", b"1.0")
    replies = {f"call:{k}": answer("tools/call").replace(b"777000777", number) for k, number in enumerate(numbers)}
    notes = inside(Hostile(tmp_path, replies), looks, count=len(numbers), call_seconds=0.1)
    assert all("has not answered within 0.1 s" in note for note in notes)


def test_messages_without_a_request_are_passed_over_and_requests_of_the_server_refused(tmp_path: Path) -> None:
    assert inside(Hostile(tmp_path, ways=["chatter"]), look) == "found\nit"


def test_the_rest_of_a_line_that_is_too_long_fails_no_later_call(tmp_path: Path, short_lines: None) -> None:
    endless = LONG.replace(b'"}]}}', b"x" * MOST_BYTES * 2 + b'"}]}}')
    first, second = inside(Hostile(tmp_path, {"call:0": endless}), looks)
    assert "answers more than" in first
    assert second == "found\nit"


@pytest.mark.parametrize(
    ("way", "message"), [("flood", "in a row were no answers"), ("endless", f"answers more than {MOST_BYTES} bytes")]
)
def test_a_server_that_never_stops_talking_is_ended(
    tmp_path: Path, short_lines: None, monkeypatch: pytest.MonkeyPatch, way: str, message: str
) -> None:
    monkeypatch.setattr(mcp_session, "MOST_UNASKED", 3000)

    async def talk(tools: dict[str, Tool]) -> list[str]:
        return [await look(tools) for _ in range(20)]

    notes = inside(Hostile(tmp_path, ways=[way]), talk)
    assert message in notes[0]
    assert "in a row were no answers" in notes[-1]


def test_no_regular_expression_of_a_server_is_run(tmp_path: Path) -> None:
    tool = described("look", {"call": {"type": "integer"}, "a": {"type": "string", "pattern": "^(a+)+$"}})
    tool["outputSchema"] = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    reply = result(content=[], structuredContent={"a": "a" * 40 + "!"})

    async def match(tools: dict[str, Tool]) -> Any:
        env = ToolEnvironment("t", [tools["look"]])
        env.reset(0)
        await env.astep(call("look", call=0, a="a" * 40 + "!").text)
        return env._state.values()

    assert inside(Hostile(tmp_path, {**listing(tool), "call:0": reply}), match) == [{"a": "a" * 40 + "!"}]


@pytest.mark.parametrize("ways", [["spawn"], ["spawn", "linger"], ["spawn", "linger", "ignore_term"]])
def test_neither_a_server_nor_its_children_outlive_the_context(tmp_path: Path, hasty: None, ways: list[str]) -> None:
    assert inside(Hostile(tmp_path / "usual", ways=ways), look) == "found\nit"

    async def fail(tools: dict[str, Tool]) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        inside(Hostile(tmp_path / "raised", ways=ways), fail)


def test_a_server_does_not_outlive_a_cancelled_owner(tmp_path: Path, hasty: None) -> None:
    server = Hostile(tmp_path, {"call:0": b"hm"}, ways=["spawn", "linger", "ignore_term"])

    async def play() -> None:
        async with server.tools() as tools:
            playing = asyncio.create_task(look(tools))
            await asyncio.sleep(0)
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(play())
    server.require_gone()


@pytest.mark.slow
def test_a_server_does_not_outlive_the_interpreter(tmp_path: Path) -> None:
    server = Hostile(tmp_path, ways=["spawn", "linger", "ignore_term"])
    code = (
        "import asyncio, sys\nfrom tape.tools import mcp_tools\n"
        f"async def main():\n    await mcp_tools({server.command!r}).__aenter__()\n    sys.exit(3)\n"
        "asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3, ended.stderr
    server.require_gone()


def test_a_call_that_is_not_answered_is_paid_as_declared(tmp_path: Path) -> None:
    server = Hostile(tmp_path, {"call:0": b"hm"})
    plan = script([("look", {"call": 0})])

    async def play(tools: dict[str, Tool]) -> Any:
        env = ToolEnvironment("t", [tools["look"]])
        return await OpenLoopAgent(ScriptedLM(plan)).arun(env, budget=Budget.of(usd=1))

    played = inside(server, play, costs={"look": {"usd": "0.25"}}, call_seconds=0.3)
    assert (played.end_state, played.used["usd"]) == ("failure", 250_000)


def hostile_reply(rng: random.Random, method: str) -> bytes:
    """A genuine answer, changed; now and then with other messages around it."""
    reply = mutated(rng, answer(method))
    before = rng.choice(
        [b"", b"", b"", b"hm\n", b"\xff\x00\n", b"{}\n", b"[]\n", answer("tools/call") + b"\n", b"\n" * 99]
    )
    after = rng.choice([b"", b"", b"", b"\n" + reply, b"\n{", b"\r"])
    return before + reply + after


def sweep(folder: Path, replies: int, starts: int, seed: str = "hostile") -> dict[str, Any]:
    """Let servers give hostile replies to calls, 20 a server, and to handshakes and lists of tools, one a server."""
    ends: Counter[str] = Counter()
    slowest = 0.0
    for first in range(0, replies, 20):
        rng = random.Random(f"{seed}:{first}")
        count = min(20, replies - first)
        server = Hostile(
            folder / f"calls{first}",
            {f"call:{k}": hostile_reply(rng, "tools/call") for k in range(count)},
            rng.choice([["spawn"], ["spawn", "chatter"], ["spawn", "linger"]]),
        )

        async def play(tools: dict[str, Tool], count: int = count) -> None:
            nonlocal slowest
            for k in range(count):
                env = ToolEnvironment("t", [tools["look"]])
                act = script([("look", {"call": k})], act=lambda _, k=k: ACT % k)  # type: ignore[misc]
                began = time.monotonic()
                played = await ReactAgent(ScriptedLM(act)).arun(env, budget=Budget.of(usd=1, steps=1))
                slowest = max(slowest, time.monotonic() - began)
                assert played.used["usd"] == 10_000, played
                assert not played.budget_violations
                ends["results" if env._state.got else "failed calls"] += 1
                assert len(env._state.got) + len(env._state.failed) == 1

        inside_sweep(server, play, costs={"look": {"usd": "0.01"}}, call_seconds=0.5)
    for number in range(starts):
        rng = random.Random(f"{seed}:start:{number}")
        method = rng.choice(["initialize", "tools/list", "tools/list"])
        server = Hostile(folder / f"start{number}", {method: hostile_reply(rng, method)}, ["spawn"])

        async def started(tools: dict[str, Tool]) -> None:
            assert tools
            ends["starts"] += 1

        began = time.monotonic()
        try:
            inside_sweep(server, started, start_seconds=1.0)
        except ToolError as error:
            ends["refused starts" if "the MCP server" in str(error) else "nameless errors"] += 1
        slowest = max(slowest, time.monotonic() - began)
    assert not ends["nameless errors"]
    return {"replies": replies + starts, **dict(sorted(ends.items())), "slowest_seconds": round(slowest, 2)}


ACT = "look(call=%d)"


def inside_sweep(server: Hostile, body: Callable[[dict[str, Tool]], Any], **settings: Any) -> None:
    """Play; nothing may be logged as an error, on whatever logger."""
    handler = logging.handlers.MemoryHandler(1000, logging.CRITICAL + 1)
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: record.name != "tape.tools")  # failed calls are expected
    logging.getLogger().addHandler(handler)
    try:
        inside(server, body, **settings)
    finally:
        logging.getLogger().removeHandler(handler)
    assert not handler.buffer


@pytest.mark.parametrize(("calls", "starts"), [(5, 2), pytest.param(250, 50, marks=pytest.mark.soak)])
def test_hostile_replies_end_in_results_or_failed_calls(
    tmp_path: Path, calls: int, starts: int, keep_figures: Keep
) -> None:
    mapping = sweep(tmp_path, calls, starts)
    assert mapping.get("results", 0) >= calls // 10
    assert mapping.get("failed calls", 0) >= calls // 5
    keep_figures("hostile_mcp", mapping)
