"""Destructive calls: asked about by elicitation, in both eras of the protocol, with the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tape.gateway.helpers import functions, left, running, write_config

pytest.importorskip("mcp", reason="the extra mcp is not installed")

TEXT = """
[budgets]
session = { usd = "$0.10" }

[python.drop]
function = "FUNCTIONS:echo"
destructive = true
price = { usd = "$0.04" }
"""
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def play(folder: Path, body: Any, mode: str, answer: Any = None, text: str = TEXT) -> list[str]:
    """Talk to a gateway in this process; returns what the user was asked.

    A list of answers is given one by one, the last one to all further questions.
    """
    from mcp.client import Client

    from tape.gateway.serving import make_server

    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return answer[min(len(asked), len(answer)) - 1] if isinstance(answer, list) else answer

    async def run() -> None:
        async with running(write_config(folder, text)) as gateway:
            callback = {} if answer is None else {"elicitation_callback": elicit}
            async with Client(make_server(gateway), mode=mode, **callback) as client:
                await body(gateway, client)

    asyncio.run(run())
    return asked


def says(action: str, **content: Any) -> Any:
    from mcp_types import ElicitResult

    return ElicitResult(action=action, content=content or None)


@MODES
def test_a_client_lists_and_calls(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["plan", "budget", "checkpoint", "resume", "drop"]
        assert listed[-1].annotations.destructive_hint is True
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        said = await client.call_tool("budget", {})
        assert said.structured_content["left"] == {"usd": 0.1}

    play(tmp_path, body, mode)


@MODES
def test_what_the_user_allows_is_called(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        said = await client.call_tool("drop", {"text": "all\u202e\nof it"})
        assert said.is_error is False
        assert functions(gateway.config).calls == ["all\u202e\nof it"]

    asked = play(tmp_path, body, mode, says("accept", approve=True))
    assert asked == [
        "Call drop of python? It may destroy what cannot be brought back. At most: steps 1, usd 0.04. Its argument:\n"
        'text = "all\\u202e\\nof it"'
    ]


def _nested(value: Any, times: int) -> Any:
    for _ in range(times):
        value = [value, 0]
    return value


ANYTHING = """
[budgets]
session = { usd = "$0.10" }

[python.wipe]
function = "FUNCTIONS:wipe"
destructive = true
price = { usd = "$0.04" }
"""
LONG = {"a": "x" * 700, "path": "/ IMPORTANT", "options": {"recursive": True, "note": "At most: usd 0."}}


@MODES
def test_a_long_argument_hides_no_other_one(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        assert (await client.call_tool("wipe", LONG)).is_error is True

    [asked] = play(tmp_path, body, mode, says("accept", approve=False), ANYTHING)
    assert asked.split("\n") == [
        "Call wipe of python? It may destroy what cannot be brought back. At most: steps 1, usd 0.04. "
        'Its 3 arguments, some cut; answer with "show" to see them whole:',
        f'a = "{"x" * 80}" ... 540 of 700 characters left out ... "{"x" * 80}"',
        'path = "/ IMPORTANT"',
        'options = {"recursive": true, "note": "At most: usd 0."}',
    ]


@MODES
@pytest.mark.parametrize("approve", [True, False])
def test_the_whole_is_shown_on_request_page_by_page(tmp_path: Path, mode: str, approve: bool) -> None:
    arguments = LONG | {"a": "".join(chr(97 + n % 26) for n in range(40_000))}

    async def body(gateway: Any, client: Any) -> None:
        assert (await client.call_tool("wipe", arguments)).is_error is not approve
        assert functions(gateway.config).calls == ([arguments["path"]] if approve else [])

    more = says("accept", approve=True, show=True)
    asked = play(tmp_path, body, mode, [more, more, more, says("accept", approve=approve)], ANYTHING)
    assert [re.findall(r"page \d of \d", one) for one in asked] == [[], *([f"page {n} of 3"] for n in (1, 2, 3))]
    whole = "".join(one.partition("\n")[2] + "\n" for one in asked[1:])
    assert "".join(re.findall(r'^a, characters .* = "([a-z]+)"$', whole, re.M)) == arguments["a"]
    assert 'path = "/ IMPORTANT"' in whole


@MODES
def test_the_last_page_has_no_next_one(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        assert (await client.call_tool("wipe", LONG)).is_error is True

    both = says("accept", approve=True, show=True)
    assert len(play(tmp_path, body, mode, both, ANYTHING)) == 2, "whoever still wants to see more has not approved"


@MODES
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"path": "/", "options": {f"k{n}": "v" * 20 for n in range(200)}}, "at most 100"),
        ({"path": "/", "options": {"n" * 300: 1}}, "a name has 300 characters"),
        ({"path": "/", "options": {"n" * 180: _nested("x" * 3000, 40)}}, "a name has"),
    ],
)
def test_what_cannot_be_shown_is_refused_without_asking(
    tmp_path: Path, mode: str, arguments: dict[str, Any], why: str
) -> None:
    async def body(gateway: Any, client: Any) -> None:
        said = await client.call_tool("wipe", arguments)
        assert said.is_error is True
        assert (
            "wipe was not called: it is destructive, and its arguments cannot be shown"
            in (said.structured_content["message"])
        )
        assert why in said.structured_content["message"]
        assert functions(gateway.config).calls == []
        assert await left(gateway) == 0.1

    assert play(tmp_path, body, mode, says("accept", approve=True), ANYTHING) == []


@MODES
@pytest.mark.parametrize("answer", [("decline", {}), ("cancel", {}), ("accept", {"approve": False})])
def test_what_the_user_does_not_allow_costs_nothing(tmp_path: Path, mode: str, answer: tuple[str, Any]) -> None:
    async def body(gateway: Any, client: Any) -> None:
        said = await client.call_tool("drop", {"text": "x"})
        assert said.is_error is True
        assert said.structured_content["error"] == "not_approved"
        assert functions(gateway.config).calls == []
        assert await left(gateway) == 0.1

    assert len(play(tmp_path, body, mode, says(answer[0], **answer[1]))) == 1


@MODES
def test_without_a_way_to_ask_it_is_refused_unless_allowed(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        said = await client.call_tool("drop", {"text": "x"})
        assert said.is_error is True
        assert "allow_destructive = true" in said.structured_content["message"]

    play(tmp_path, body, mode)

    async def allowed(gateway: Any, client: Any) -> None:
        assert (await client.call_tool("drop", {"text": "x"})).is_error is False

    play(tmp_path, allowed, mode, text=TEXT + "allow_destructive = true\n")
    play(tmp_path, allowed, mode, text="[gateway]\nallow_destructive = true\n" + TEXT)


@MODES
def test_nobody_is_asked_about_what_cannot_be_paid(tmp_path: Path, mode: str) -> None:
    async def body(gateway: Any, client: Any) -> None:
        for _ in range(2):
            await client.call_tool("drop", {"text": "x"})
        said = await client.call_tool("drop", {"text": "x"})
        assert said.structured_content["error"] == "budget_exceeded"

    assert len(play(tmp_path, body, mode, says("accept", approve=True))) == 2


def test_an_approval_holds_once_and_for_that_call(tmp_path: Path) -> None:
    from mcp_types import InputRequiredResult

    async def body(gateway: Any, client: Any) -> None:
        async def ask(text: str, **more: Any) -> Any:
            return await client.session.call_tool("drop", {"text": text}, allow_input_required=True, **more)

        first = await ask("x")
        assert isinstance(first, InputRequiredResult)
        yes = {"input_responses": {"approve": says("accept", approve=True)}}
        for state in (first.request_state, first.request_state, "made up"):
            again = await ask("y", request_state=state, **yes)
            assert isinstance(again, InputRequiredResult)
        second = await ask("x")
        assert not isinstance(await ask("x", request_state=second.request_state, **yes), InputRequiredResult)
        assert isinstance(await ask("x", request_state=second.request_state, **yes), InputRequiredResult)
        assert functions(gateway.config).calls == ["x"]

    play(tmp_path, body, "auto", says("accept", approve=True))


@MODES
def test_cancelling_a_call_books_its_worst_case(tmp_path: Path, mode: str) -> None:
    text = TEXT + '[python.wait]\nfunction = "FUNCTIONS:wait"\nprice = { usd = "$0.04" }\n'

    async def body(gateway: Any, client: Any) -> None:
        task = asyncio.create_task(client.call_tool("wait", {}))
        await functions(gateway.config).begun.wait()
        task.cancel()
        await asyncio.wait([task])
        while gateway.books.run.reserved:
            await asyncio.sleep(0.01)
        assert gateway.books.run.used["usd"] == 40_000
        assert await left(gateway) == 0.06

    play(tmp_path, body, mode, text=text)
    said = [json.loads(line) for line in (tmp_path / "gateway.journal.jsonl").read_text().splitlines()]
    assert said[-1]["outcome"] == "cut off"


@MODES
def test_a_client_has_so_many_calls_in_flight(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tape.gateway import serving

    monkeypatch.setattr(serving, "MOST_CALLS", 1)
    text = TEXT + '[python.wait]\nfunction = "FUNCTIONS:wait"\nprice = { usd = "$0.04" }\n'

    async def body(gateway: Any, client: Any) -> None:
        task = asyncio.create_task(client.call_tool("wait", {}))
        await functions(gateway.config).begun.wait()
        assert (await client.call_tool("budget", {})).structured_content["error"] == "busy"
        task.cancel()
        await asyncio.wait([task])
        while gateway.books.run.reserved:
            await asyncio.sleep(0.01)
        assert "left" in (await client.call_tool("budget", {})).structured_content

    play(tmp_path, body, mode, text=text)


def test_the_questions_of_one_client_take_no_place_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_types import InputRequiredResult

    from tape.gateway import approval
    from tape.gateway.gateway import Caller

    monkeypatch.setattr(approval, "_MOST_PENDING", 3)
    able = SimpleNamespace(elicitation=SimpleNamespace(form=SimpleNamespace(), url=None))
    context = SimpleNamespace(session=SimpleNamespace(client_capabilities=able, can_send_request=False))
    tool: Any = SimpleNamespace(name="drop", origin="s")
    approvals = approval.Approvals(60)

    async def ask(client: str, state: str | None = None) -> Any:
        params = SimpleNamespace(request_state=state, input_responses={"approve": says("accept", approve=True)})
        try:
            return await approvals.ask(context, params, Caller(client, 0), tool, {}, {})
        except approval.AskedError as asked:
            return asked.result

    async def body() -> None:
        honest = (await ask("honest")).request_state
        flood = [(await ask("hostile")).request_state for _ in range(10)]
        assert await ask("honest", honest) == ""
        assert isinstance(await ask("hostile", flood[6]), InputRequiredResult)  # forgotten
        assert await ask("hostile", flood[9]) == ""

    asyncio.run(body())
