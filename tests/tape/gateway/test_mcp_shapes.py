"""What servers list and answer in many ways reaches clients of the gateway, and is priced as it was."""

import json
from pathlib import Path
from typing import Any

from tests.tape.gateway.helpers import call, gateway_on, server_table
from tests.tape.tools.hostile import Hostile, described, listing, result
from tests.tape.tools.hostile_server import answer
from tests.tape.tools.mcp_corpus import CORPUS

HEAD = '[gateway]\ncall_seconds = 100\n[budgets]\nsession = { usd = "$1" }\n'


async def test_every_shape_of_arguments_is_offered_and_passed_on_as_it_is(tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator

    names = {f"tool-{number}": shape for number, shape in enumerate(CORPUS.values())}
    entries = [{"name": name, "inputSchema": shape.schema} for name, shape in names.items()]
    hostile = Hostile(tmp_path / "server", listing(*entries), ways=["echo"])
    async with gateway_on(tmp_path, HEAD + server_table(hostile.command) + 'price = { usd = "$0.001" }\n') as gateway:
        offered = {name: tool.listed["inputSchema"] for name, tool in gateway.catalog.tools.items()}
        assert offered.keys() == names.keys()
        assert not gateway.catalog.left_out
        for name, shape in names.items():
            if shape is not CORPUS["a type that is none"]:
                assert Draft202012Validator(offered[name]).is_valid(shape.good), name
            got: dict[str, Any] = (await call(gateway, name, **shape.good))["structuredContent"]
            assert json.dumps(got["arguments"]) == json.dumps(shape.good), name


async def test_texts_of_embedded_resources_are_priced_like_other_texts(tmp_path: Path) -> None:
    text = "x" * 300
    contents: list[list[dict[str, Any]]] = [
        [{"type": "text", "text": text}],
        [{"type": "resource", "resource": {"uri": "file:///a", "text": text}}],
    ]
    replies = {f"call:{k}": result(content=content) for k, content in enumerate(contents)}
    hostile = Hostile(tmp_path / "server", {**listing(described("look")), **replies})
    price = 'price = { each = { usd = "$0.001" }, per = "output_tokens", at_most = 400 }\n'
    spent = [0]
    async with gateway_on(tmp_path, HEAD + server_table(hostile.command) + price) as gateway:
        for content in contents:
            assert (await call(gateway, "look"))["content"] == content
            spent.append(gateway.ledgers.run.used["usd"] or 0)
    assert spent[1] > 0
    assert spent[2] == 2 * spent[1]


async def test_lines_that_are_no_messages_cost_nothing_and_the_answer_comes(tmp_path: Path) -> None:
    words = b'[INFO] started\n{\'a\': 1}\n["a"]\n{"id": 1}\n'
    replies = {method: words + answer(method) for method in ("initialize", "tools/list", "tools/call")}
    hostile = Hostile(tmp_path / "server", replies)
    async with gateway_on(tmp_path, HEAD + server_table(hostile.command) + 'price = { usd = "$0.01" }\n') as gateway:
        assert (await call(gateway, "look", call=0))["structuredContent"] == {"result": "found\nit"}
