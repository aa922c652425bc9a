"""What goes along with calls of MCP servers and models: the key of an effect, and the trace."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from tape import TapeAgent, mcp_tools, open_model
from tape.lm.base import Message, Request
from tape.lm.scripted import ScriptedLM
from tape.passed_on import within_trace
from tape.testing.endpoint import JsonHandler, ModelEndpoint
from tape.tools import ToolError

TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
SERVER = """
import json, sys
tools = [
    {"name": "send", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}},
    {"name": "pay", "annotations": {"idempotentHint": True},
     "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "key": {"type": "string"}}}},
    {"name": "look", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params = asked.get("params", {})
    if asked["method"] == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": tools}
    else:
        result = {"content": [{"type": "text", "text": json.dumps([params["arguments"], params.get("_meta", {})])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def asked(program: str, run: str = "order-1", **options: Any) -> tuple[Any, Any]:
    """The arguments and the ``_meta`` of a call, as the server got them."""

    async def play() -> tuple[Any, Any]:
        costs = {name: {"usd": 0} for name in ("send", "pay", "look")}
        async with mcp_tools([sys.executable, "-c", SERVER], costs=costs, **options) as tools:
            assert {item.name: item.idempotent for item in tools} == {
                "send": "keys" in options, "pay": True, "look": False,
            }  # fmt: skip
            with within_trace(TRACE):
                result = await TapeAgent(ScriptedLM([f"answer({program})"]), tools=tools).arun("Do it.", run=run)
            arguments, meta = json.loads(result.answer)
            return arguments, meta

    return asyncio.run(play())


def test_an_mcp_server_gets_the_key_of_an_effect_and_the_trace() -> None:
    arguments, meta = asked("send(to='ann')")
    assert arguments == {"to": "ann"}
    assert meta["traceparent"] == TRACE
    key = meta["tape/idempotency-key"]
    assert asked("send('ann')")[1]["tape/idempotency-key"] == key, "it is the same in another run of this name"
    assert asked("send('bob')")[1]["tape/idempotency-key"] != key
    assert asked("look()")[1] == {"traceparent": TRACE}, "what changes nothing has no key"
    assert asked("send('ann')", run="")[1] == {"traceparent": TRACE}, "nor has a run without a name"


def test_an_argument_gets_the_key_where_that_is_declared() -> None:
    with pytest.raises(ToolError, match="'send' has no argument"):
        asked("send('ann')", keys={"send": "key"})


def test_the_argument_of_the_key_is_filled_in() -> None:
    async def play() -> Any:
        async with mcp_tools(
            [sys.executable, "-c", SERVER], costs={"pay": {"usd": 0}}, only=["pay"], keys={"pay": "key"}
        ) as tools:
            agent = TapeAgent(ScriptedLM(["answer(pay(to='ann'))"]), tools=tools)
            return json.loads((await agent.arun("Pay.", run="order-1")).answer)

    arguments, meta = asyncio.run(play())
    assert arguments["key"] == meta["tape/idempotency-key"]


def test_requests_to_models_carry_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    seen: list[str | None] = []
    body = JsonHandler.body

    def heard(self: JsonHandler) -> dict[str, Any]:
        seen.append(self.headers.get("traceparent"))
        return body(self)

    monkeypatch.setattr(JsonHandler, "body", heard)
    for given in (TRACE, "nonsense\r\nx: y"):
        with ModelEndpoint(ScriptedLM(["yes"])) as endpoint, within_trace(given):
            model = open_model(f"openai:any@{endpoint.url}")
            asyncio.run(model.generate([Request((Message("user", "Hello"),), max_tokens=5)]))
    assert seen == [TRACE, None]
