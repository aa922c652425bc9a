"""Answers of a server over HTTP that no parser survives."""

from __future__ import annotations

import asyncio

import pytest

from tape.gateway.http_channel import HttpChannel


@pytest.mark.parametrize("answer", [b"[" * 100_000, b"9" * 5000, b"\xff", b"{}", b'{"result": []}', b'{"result": 1}'])
def test_an_initialisation_that_cannot_be_read_is_handed_on(answer: bytes) -> None:
    async def body() -> bytes | int:
        channel = HttpChannel("http://127.0.0.1:1/", {})
        try:
            assert not await channel._take(answer, {"id": 1, "method": "initialize"})
            return await anext(channel.lines())
        finally:
            await channel.stop()

    assert asyncio.run(body()) == answer
