"""Destructive calls: asked about by elicitation, in both eras of the protocol, with the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tape.gateway.gateway import Gateway
from tests.tape.gateway.helpers import functions, gateway_on, left, reading

pytest.importorskip("mcp", reason="the extra mcp is not installed")

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def config(*tools: str) -> str:
    """Destructive tools, and one that waits, at $0.04 each."""
    price = 'price = { usd = "$0.04" }'
    text = f'[budgets]\nsession = {{ usd = "$0.10" }}\n[python]\nwait = {{ function = "FUNCTIONS:wait", {price} }}\n'
    function = {"drop": "echo", "wipe": "wipe"}
    return text + "".join(
        f'[python.{name}]\nfunction = "FUNCTIONS:{function[name]}"\ndestructive = true\n{price}\n' for name in tools
    )


@contextlib.asynccontextmanager
async def talking(
    folder: Path, mode: str, answer: Any = None, text: str | None = None
) -> AsyncIterator[tuple[Gateway, Any, list[str]]]:
    """A gateway in this process, its client, and what the user was asked.

    A list of answers is given one by one, the last one to all further questions.
    """
    from mcp.client import Client

    from tape.gateway.serving import make_server

    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return answer[min(len(asked), len(answer)) - 1] if isinstance(answer, list) else answer

    async with gateway_on(folder, config("drop", "wipe") if text is None else text) as gateway:
        callback = {} if answer is None else {"elicitation_callback": elicit}
        async with Client(make_server(gateway), mode=mode, **callback) as client:
            yield gateway, client, asked


def reply(action: str, **content: Any) -> Any:
    from mcp_types import ElicitResult

    return ElicitResult(action=action, content=content or None)


@MODES
async def test_a_client_lists_and_calls(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode) as (_, client, _):
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["budget", "wait", "drop", "wipe"]
        assert listed[-1].annotations.destructive_hint is True
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert (await client.call_tool("budget", {})).structured_content["left"] == {"usd": 0.1}


@MODES
async def test_what_the_user_allows_is_called(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode, reply("accept", approve=True)) as (gateway, client, asked):
        assert (await client.call_tool("drop", {"text": "all\u202e\nof it"})).is_error is False
        assert functions(gateway.config).calls == ["all\u202e\nof it"]
    assert asked == [
        "Call drop of python? It may destroy what cannot be brought back. At most: steps 1, usd 0.04. Its argument:\n"
        'text = "all\\u202e\\nof it"'
    ]


NESTED: Any = functools.reduce(lambda value, _: [value, 0], range(40), "x" * 3000)
LONG = {"a": "x" * 700, "path": "/ IMPORTANT", "options": {"recursive": True, "note": "At most: usd 0."}}


@MODES
async def test_a_long_argument_hides_no_other_one(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode, reply("accept", approve=False)) as (_, client, asked):
        assert (await client.call_tool("wipe", LONG)).is_error is True
    assert asked[0].split("\n") == [
        "Call wipe of python? It may destroy what cannot be brought back. At most: steps 1, usd 0.04. "
        'Its 3 arguments, some cut; answer with "show" to see them whole:',
        f'a = "{"x" * 80}" ... 540 of 700 characters left out ... "{"x" * 80}"',
        'path = "/ IMPORTANT"',
        'options = {"recursive": true, "note": "At most: usd 0."}',
    ]


@MODES
@pytest.mark.parametrize("approve", [True, False])
async def test_the_whole_is_shown_on_request_page_by_page(tmp_path: Path, mode: str, approve: bool) -> None:
    arguments = LONG | {"a": "".join(chr(97 + n % 26) for n in range(40_000))}
    answers = [reply("accept", approve=True, show=True)] * 3 + [reply("accept", approve=approve)]
    async with talking(tmp_path, mode, answers) as (gateway, client, asked):
        assert (await client.call_tool("wipe", arguments)).is_error is not approve
        assert functions(gateway.config).calls == ([arguments["path"]] if approve else [])
    assert [re.findall(r"page \d of \d", name) for name in asked] == [[], *([f"page {n} of 3"] for n in (1, 2, 3))]
    whole = "".join(name.partition("\n")[2] + "\n" for name in asked[1:])
    assert "".join(re.findall(r'^a, characters .* = "([a-z]+)"$', whole, re.M)) == arguments["a"]
    assert 'path = "/ IMPORTANT"' in whole


@MODES
async def test_the_last_page_has_no_next_one(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode, reply("accept", approve=True, show=True)) as (_, client, asked):
        assert (await client.call_tool("wipe", LONG)).is_error is True
    assert len(asked) == 2, "a user who still wants to see more has not approved"


@MODES
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({f"k{n}": "v" * 20 for n in range(200)}, "at most 100"),
        ({"n" * 300: 1}, "a name has 300 characters"),
        ({"n" * 180: NESTED}, "a name has"),
    ],
)
async def test_what_cannot_be_shown_is_refused_without_asking(
    tmp_path: Path, mode: str, options: dict[str, Any], why: str
) -> None:
    async with talking(tmp_path, mode, reply("accept", approve=True)) as (gateway, client, asked):
        tool = await client.call_tool("wipe", {"path": "/", "options": options})
        message = tool.structured_content["message"]
        assert "wipe was not called: it is destructive, and its arguments cannot be shown" in message
        assert why in message
        assert functions(gateway.config).calls == asked == []
        assert await left(gateway) == 0.1


@MODES
@pytest.mark.parametrize("answer", [("decline", {}), ("cancel", {}), ("accept", {"approve": False})])
async def test_what_the_user_does_not_allow_costs_nothing(tmp_path: Path, mode: str, answer: tuple[str, Any]) -> None:
    async with talking(tmp_path, mode, reply(answer[0], **answer[1])) as (gateway, client, asked):
        tool = await client.call_tool("drop", {"text": "x"})
        assert tool.structured_content["error"] == "not_approved"
        assert functions(gateway.config).calls == []
        assert await left(gateway) == 0.1
    assert len(asked) == 1


@MODES
async def test_without_a_way_to_ask_it_is_refused_unless_allowed(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode) as (_, client, _):
        tool = await client.call_tool("drop", {"text": "x"})
        assert tool.is_error is True
        assert "allow_destructive = true" in tool.structured_content["message"]
    allow, text = "allow_destructive = true\n", config("drop")
    for allowing in (text + allow, f"[gateway]\n{allow}{text}"):
        async with talking(tmp_path, mode, text=allowing) as (_, client, _):
            assert (await client.call_tool("drop", {"text": "x"})).is_error is False


@MODES
async def test_the_user_is_not_asked_about_what_cannot_be_paid(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode, reply("accept", approve=True)) as (_, client, asked):
        tools = [await client.call_tool("drop", {"text": "x"}) for _ in range(3)]
        assert tools[2].structured_content["error"] == "budget_exceeded"
    assert len(asked) == 2


async def test_an_approval_holds_once_and_for_that_call(tmp_path: Path) -> None:
    from mcp_types import InputRequiredResult

    yes = reply("accept", approve=True)
    async with talking(tmp_path, "auto", yes) as (gateway, client, _):

        async def ask(text: str, **more: Any) -> Any:
            return await client.session.call_tool("drop", {"text": text}, allow_input_required=True, **more)

        first = await ask("x")
        assert isinstance(first, InputRequiredResult)
        answers = {"input_responses": {"approve": yes}}
        for state in (first.request_state, first.request_state, "made up"):
            assert isinstance(await ask("y", request_state=state, **answers), InputRequiredResult)
        second = await ask("x")
        assert not isinstance(await ask("x", request_state=second.request_state, **answers), InputRequiredResult)
        assert isinstance(await ask("x", request_state=second.request_state, **answers), InputRequiredResult)
        assert functions(gateway.config).calls == ["x"]


@MODES
async def test_a_client_has_so_many_calls_in_flight_and_a_cancelled_one_books_its_worst_case(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tape.gateway import serving

    monkeypatch.setattr(serving, "MOST_CALLS", 1)
    async with talking(tmp_path, mode) as (gateway, client, _):
        task = asyncio.create_task(client.call_tool("wait", {}))
        await functions(gateway.config).begun.wait()
        assert (await client.call_tool("budget", {})).structured_content["error"] == "busy"
        task.cancel()
        await asyncio.wait([task])
        while reading(gateway).held:
            await asyncio.sleep(0.01)
        assert (await client.call_tool("budget", {})).structured_content["left"] == {"usd": 0.06}
        assert reading(gateway).spent["usd"] == 40_000
    journal = (tmp_path / "gateway.journal.jsonl").read_text().splitlines()
    assert json.loads(journal[-1])["state"] == "booked"


async def test_the_questions_of_one_client_take_no_place_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_types import InputRequiredResult

    from tape.gateway import approval
    from tape.gateway.gateway import Caller

    monkeypatch.setattr(approval, "_MOST_PENDING", 3)
    able = SimpleNamespace(elicitation=SimpleNamespace(form=SimpleNamespace(), url=None))
    context = SimpleNamespace(session=SimpleNamespace(client_capabilities=able, can_send_request=False))
    tool: Any = SimpleNamespace(name="drop", origin="s")
    approvals = approval.Approvals(60)

    async def ask(client: str, state: str | None = None) -> Any:
        params = SimpleNamespace(request_state=state, input_responses={"approve": reply("accept", approve=True)})
        try:
            return await approvals.ask(context, params, Caller(client, 0), tool, {}, {})
        except approval.AskedError as asked:
            return asked.result

    honest = (await ask("honest")).request_state
    flood = [(await ask("hostile")).request_state for _ in range(10)]
    assert await ask("honest", honest) == ""
    assert isinstance(await ask("hostile", flood[6]), InputRequiredResult)  # forgotten
    assert await ask("hostile", flood[9]) == ""
