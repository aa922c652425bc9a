"""What servers list and answer in many ways reaches clients of the gateway, and is priced as it was."""

from pathlib import Path
from typing import Any

from tests.tape.gateway.helpers import call, gateway_on, reading, server_table
from tests.tape.tools.hostile import Hostile, described, listing, result

HEAD = '[gateway]\ncall_seconds = 100\n[budgets]\nsession = { usd = "$1" }\n'


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
            spent.append(reading(gateway).spent["usd"] or 0)
    assert spent[1] > 0
    assert spent[2] == 2 * spent[1]
