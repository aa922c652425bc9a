"""What the client of the official SDK gets from a server, tools get: odd lines, odd schemas, all kinds of contents."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.agents.react import ReactAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, ToolFailedError
from tape.tools.calls import from_mapping
from tests.tape.conftest import Keep
from tests.tape.tools.helpers import program
from tests.tape.tools.hostile import Hostile, described, inside, listing, result
from tests.tape.tools.hostile_server import NUMBER, answer
from tests.tape.tools.mcp_corpus import CORPUS

pytest.importorskip("mcp", reason="the extra mcp is not installed")

SECONDS = 5.0
"""That a client waits for an answer; it does not wait where none can come, as the server has ended then."""


@pytest.fixture(autouse=True)
def _silent_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """It logs every line that it passes over, with a traceback."""
    for name in ("mcp.client.stdio", "client"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)


async def of_sdk(server: Hostile, calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[list[Any], list[Any]]:
    """The tools that the SDK's client is given, and what its calls return; an error for those that fail."""
    from mcp import MCPError
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *args = server.command
    made: list[Any] = []
    async with (
        stdio_client(StdioServerParameters(command=command, args=args)) as streams,
        ClientSession(*streams, read_timeout_seconds=SECONDS) as session,
    ):
        await session.initialize()
        listed = (await session.list_tools()).tools
        for name, arguments in calls:
            try:
                made.append(await session.call_tool(name, arguments))
            except (MCPError, ValueError, RuntimeError) as error:
                made.append(error)
    return listed, made


def of_tape(server: Hostile, calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[Any]]:
    """The same of tools."""

    async def play(tools: dict[str, Tool]) -> tuple[list[str], list[Any]]:
        made: list[Any] = []
        for name, arguments in calls:
            try:
                made.append(await tools[name](**arguments))
            except ToolFailedError as error:
                made.append(error)
        return list(tools), made

    texts: tuple[list[str], list[Any]] = inside(server, play, start_seconds=SECONDS, call_seconds=SECONDS)
    return texts


# --- lines -----------------------------------------------------------------------------------

LINES = [
    b"", b" ", b"hm", b"[INFO] started", b'["a"]', b"[]", b"{}", b"{'a': 1}", b'{"id": 1, "msg": "x"}', b"[1, 2", b"{",
    b'{"name": "server", "version": "1.0", "status": "ready"}', b'{"level": "info", "message": "listening", "id": 3}',
    b'{"id": 3, "result": "ok"}', b'{"id": 3, "result": {}}', b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": 3}',
    b'{"jsonrpc": "1.0", "id": 3, "result": {}}', b'{"jsonrpc": "2.0", "id": 99999, "result": {}}', b"null", b"true",
    b"7", b'"text"', b'{"jsonrpc": "2.0", "id": "abc", "result": {"content": []}}', b'{"jsonrpc": "2.0", "method": 5}',
    b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no such notification"}}',
    b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}',
    b'{"jsonrpc": "2.0", "method": "notifications/nonsense"}', b'{"jsonrpc": "2.0", "id": "s", "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}', b"\x1b[32mINFO\x1b[0m ready", b"\xef\xbb\xbf", b"\x00",
    b"\r", "größer, 名前".encode(), b"x" * 100_000, b"{" * 200, b"[" * 200, b'{"a": NaN}', b'{"a": 1e999}', b"\t{}",
    b'{"jsonrpc": "2.0", "id": 3, "result": {}} trailing', b"<html>", b"Traceback (most recent call last):", b"---",
    b"Content-Length: 52", b'<- {"jsonrpc": "2.0", "id": 3, "method": "tools/call"}',
    b'received {"jsonrpc": "2.0", "id": 3, "method": "tools/call"} from the client',
]  # fmt: skip
"""What is no answer; ids are those of requests that are made."""

POINTS = (
    "greeting", "before initialize", "after initialize", "before tools/list", "after tools/list", "before tools/call",
    "after tools/call",
)  # fmt: skip


def chatty(folder: Path, lines: Sequence[tuple[str, bytes]], calls: Sequence[bytes] = ()) -> Hostile:
    """A server that writes lines at points of the protocol."""
    around = {point: b"".join(line + b"\n" for at, line in lines if at == point) for point in POINTS}
    replies = {}
    for method in ("initialize", "tools/list", "tools/call"):
        after = around[f"after {method}"].rstrip(b"\n")
        replies[method] = around[f"before {method}"] + answer(method) + (b"\n" + after if after else b"")
    replies |= {f"call:{k}": reply for k, reply in enumerate(calls)}
    return Hostile(folder, replies, greeting=base64.b64encode(around["greeting"]).decode())


def differences(folder: Path, lines: Sequence[tuple[str, bytes]], calls: Sequence[bytes] = ()) -> list[Any]:
    """Both clients start, list the tools, and get the results of calls; what of that differs, with the lines."""
    asked = [("look", {"call": k}) for k in range(max(1, len(calls)))]
    server = chatty(folder, lines, calls)
    listed, theirs = asyncio.run(of_sdk(server, asked))
    names, ours = of_tape(server, asked)
    assert all(made.structured_content == {"result": "found\nit"} for made in theirs), "what the SDK gets"
    matches = [(names, listed)] * (names != [item.name for item in listed])
    return [(lines, entry) for entry in [*matches, *(value for value in ours if value != "found\nit")]]


def test_odd_lines_at_every_point_are_passed_over_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random("odd lines")
    every = [(point, line) for point in POINTS[:5] for line in LINES]
    assert not differences(
        tmp_path, rng.sample(every, len(every)), [line + b"\n" + answer("tools/call") for line in LINES]
    )
    [warned] = [record.getMessage() for record in caplog.records if record.name == "tape.tools"]
    assert "the MCP server" in warned
    assert "writes to stdout what is no message of the protocol" in warned
    assert warned.isprintable()
    assert len(warned) < 600


@pytest.mark.soak
def test_each_odd_line_and_pairs_of_them_are_passed_over(tmp_path: Path, keep_figures: Keep) -> None:
    rng = random.Random("pairs of odd lines")
    alone = [[(point, line)] for point in POINTS[:5] for line in LINES]
    pairs = [[(rng.choice(POINTS), rng.choice(LINES)) for _ in range(2)] for _ in range(200)]
    all_differences = [differences(tmp_path / str(number), lines) for number, lines in enumerate(alone + pairs)]
    calls = [b"\n".join([*rng.choices(LINES, k=rng.randrange(1, 4)), answer("tools/call")]) for _ in range(1000)]
    for first in range(0, len(calls), 100):
        all_differences.append(differences(tmp_path / f"calls{first}", [], calls[first : first + 100]))
    figures = {"lines": len(LINES), "starts": len(alone + pairs), "calls": len(calls)}
    keep_figures("mcp_lines", {**figures, "differences": sum(map(len, all_differences))})
    assert not any(all_differences)


@pytest.mark.parametrize(
    "words",
    [
        b"", b"Downloading... 100%", b"\xef\xbb\xbf", b"\x1b[32m[INFO]\x1b[0m {'a': 1} ", b"\xff\xfe", b'{"id": 1} ',
    ],
)  # fmt: skip
def test_an_answer_counts_behind_words_on_its_line_and_where_its_id_is_a_text(tmp_path: Path, words: bytes) -> None:
    replies = {method: words + answer(method) for method in ("initialize", "tools/list", "tools/call")}
    assert of_tape(Hostile(tmp_path / "words", replies), [("look", {"call": 0})])[1] == ["found\nit"]
    number, text = str(NUMBER).encode(), b'"%d"' % NUMBER
    replies = {method: reply.replace(number, text) for method, reply in replies.items()}
    assert of_tape(Hostile(tmp_path / "texts", replies), [("look", {"call": 0})])[1] == ["found\nit"]


# --- pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", ["", "again"])
def test_the_last_page_of_a_list_has_an_empty_cursor_or_one_that_was_there(tmp_path: Path, cursor: str) -> None:
    server = Hostile(tmp_path, {"tools/list": result(tools=[described("a"), described("b")], nextCursor=cursor)})
    assert of_tape(server, []) == (["a", "b"], [])
    assert not server.warnings


# --- schemas ----------------------------------------------------------------------------------


def test_every_shape_of_arguments_is_offered_and_what_is_written_arrives(tmp_path: Path, keep_figures: Keep) -> None:
    names = {f"tool-{number}": shape for number, shape in enumerate(CORPUS.values())}
    entries = [{"name": name, "inputSchema": shape.schema} for name, shape in names.items()]
    server = Hostile(tmp_path, listing(*entries), ways=["echo"])
    listed, theirs = asyncio.run(of_sdk(server, [(name, shape.good) for name, shape in names.items()]))
    assert [item.name for item in listed] == list(names)

    async def play(tools: dict[str, Tool]) -> list[Any]:
        assert len(tools) == len(names)
        return [await written(item, shape.good) for item, shape in zip(tools.values(), names.values(), strict=True)]

    ours = inside(server, play)
    assert not server.warnings
    different = [
        shape
        for shape, sdk, tape in zip(CORPUS, theirs, ours, strict=True)
        if json.dumps(tape, sort_keys=True) != json.dumps(sdk.structured_content, sort_keys=True)
    ]
    assert not different

    async def refused(tools: dict[str, Tool]) -> list[Any]:
        pairs = zip(tools.values(), names.values(), strict=True)
        return [await written(item, shape.bad) for item, shape in pairs if shape.bad is not None]

    assert all(isinstance(note, str) for note in inside(server, refused)), "what does not fit is not sent"
    keep_figures("mcp_schemas", {"shapes": len(CORPUS), "offered": len(ours), "sent differently": len(different)})


async def written(item: Tool, arguments: dict[str, Any]) -> Any:
    """What a server got that a plan calls, by the names that the tool has here; or why it was not called."""
    fields = list(item.arguments.model_fields)
    named = dict(zip(CORPUS_NAMES[item.name], fields, strict=True))
    env = ToolEnvironment("t", [item])
    env.reset(0)
    await env.astep(from_mapping(item.name, {named.get(key, key): value for key, value in arguments.items()}).text)
    assert not env.failed_calls()
    return env._state.values()[0] if env._state.got else env._state.note


@pytest.mark.parametrize("agent", [OpenLoopAgent, ReactAgent])
def test_what_a_model_writes_reaches_the_server_as_it_is(tmp_path: Path, agent: Any) -> None:
    properties: dict[str, Any] = {
        "page-size": {"type": "number"}, "for": {"type": ["string", "null"]}, "left_out": {"default": 3},
        "options": {"type": "object", "properties": {"dry-run": {}, "n": {"type": "number"}, "d": {"default": 1}}},
    }  # fmt: skip
    server = Hostile(tmp_path, listing(described("look", properties, required=["page-size"])), ways=["echo"])
    arguments: dict[str, Any] = {"page_size": 2**60 + 1, "for_": None, "options": {"dry-run": True, "n": 7}}
    whole = program([("look", arguments)])
    answers = whole.splitlines() if agent is ReactAgent else [whole]

    async def play(tools: dict[str, Tool]) -> Any:
        env = ToolEnvironment("t", [*tools.values()])
        await agent(ScriptedLM(answers)).arun(env, budget=Budget.of(steps=9))
        return env.answered

    wanted = {"page-size": 2**60 + 1, "for": None, "options": {"dry-run": True, "n": 7}}
    assert json.dumps(inside(server, play)["arguments"], sort_keys=True) == json.dumps(wanted, sort_keys=True)


CORPUS_NAMES = {
    f"tool_{number}": [
        *shape.schema.get("properties", {}),
        *(key for key in shape.schema.get("required") or () if key not in shape.schema.get("properties", {})),
    ]
    for number, shape in enumerate(CORPUS.values())
}


# --- contents ---------------------------------------------------------------------------------

PNG, WAV = base64.b64encode(b"\x89PNG" + b"x" * 30).decode(), base64.b64encode(b"RIFF" + b"x" * 9).decode()
CONTENTS: list[tuple[dict[str, Any], str]] = [
    ({"type": "text", "text": "two\nlines"}, "two\nlines"),
    ({"type": "text", "text": ""}, ""),
    ({"type": "text", "text": "for people", "annotations": {"audience": ["user"], "priority": 0.5}}, "for people"),
    ({"type": "image", "data": PNG, "mimeType": "image/png"}, "[image, image/png, 34 bytes]"),
    ({"type": "audio", "data": WAV, "mimeType": "audio/wav"}, "[audio, audio/wav, 13 bytes]"),
    ({"type": "resource", "resource": {"uri": "file:///a.txt", "text": "all of it"}}, "all of it"),
    ({"type": "resource", "resource": {"uri": "file:///a.txt", "text": ""}}, ""),
    ({"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": PNG}}, "[resource, file:///a.pdf, application/pdf, 34 bytes]"),  # noqa: E501
    ({"type": "resource_link", "uri": "https://x.org/a", "name": "a", "mimeType": "text/csv", "size": 1234}, "[resource_link, a, https://x.org/a, text/csv, 1,234 bytes]"),  # noqa: E501
    ({"type": "resource_link", "uri": "db://rows", "name": "rows"}, "[resource_link, rows, db://rows]"),
]  # fmt: skip
"""Contents, and what stands for them in a result."""


def contents_compared(folder: Path, chosen: Sequence[Sequence[int]], structured: Callable[[int], Any]) -> Counter[str]:
    """Both clients get results of some contents each; none of ours lacks what the SDK's has."""
    replies = {}
    for number, some in enumerate(chosen):
        fields = {"content": [CONTENTS[k][0] for k in some]}
        if (value := structured(number)) is not None:
            fields["structuredContent"] = value
        replies[f"call:{number}"] = result(**fields)
    server = Hostile(folder, {**listing(described("look")), **replies})
    asked: list[tuple[str, dict[str, Any]]] = [("look", {})] * len(chosen)
    theirs, ours = asyncio.run(of_sdk(server, asked))[1], of_tape(server, asked)[1]
    kinds = Counter[str]()
    for number, (some, sdk, tape) in enumerate(zip(chosen, theirs, ours, strict=True)):
        texts, held = [CONTENTS[k][1] for k in some], [CONTENTS[k][0] for k in some]
        got = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in sdk.content]
        assert got == held
        others = [text for text, block in zip(texts, held, strict=True) if block["type"] != "text"]
        if (value := structured(number)) is None:
            assert tape == "\n".join(texts)
        else:
            assert tape == ({"result": value, "contents": others} if others else value)
            assert sdk.structured_content == value
        assert not others or tape.contents == held
        kinds.update(block["type"] for block in held)
    return kinds


def test_contents_of_each_kind_and_some_together_are_results(tmp_path: Path) -> None:
    rng = random.Random("contents")
    alone = [[k] for k in range(len(CONTENTS))]
    together = [rng.choices(range(len(CONTENTS)), k=rng.randrange(5)) for _ in range(20)]
    contents_compared(tmp_path, alone + together, lambda number: {"n": number} if number % 3 == 0 else None)


@pytest.mark.soak
def test_contents_of_all_kinds_together_are_results(tmp_path: Path, keep_figures: Keep) -> None:
    rng = random.Random("all contents")
    kinds = Counter[str]()
    for batch in range(20):
        chosen = [rng.choices(range(len(CONTENTS)), k=rng.randrange(9)) for _ in range(100)]
        kinds += contents_compared(
            tmp_path / str(batch), chosen, lambda number: [None, {}, {"n": [number]}][number % 3]
        )
    keep_figures("mcp_contents", {"results": 20 * 100, **kinds})


def test_what_is_no_text_is_named_in_an_episode_and_in_an_error(tmp_path: Path) -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    odd = {"type": "hologram", "beams": 3}
    replies = {
        "call:0": result(content=[image]),
        "call:1": result(content=[image], isError=True),
        "call:2": result(content=[odd]),
    }

    async def play(tools: dict[str, Tool]) -> tuple[list[Any], list[str]]:
        env = ToolEnvironment("t", [*tools.values()])
        env.reset(0)
        for number in range(3):
            await env.astep(f"look(call={number})")
        return env._state.values(), [failed.error for failed in env.failed_calls()]

    obtained, failed = inside(Hostile(tmp_path, replies), play)
    assert obtained == ["[image, image/png, 34 bytes]", "[hologram]"]
    assert failed == ["[image, image/png, 34 bytes]"]
