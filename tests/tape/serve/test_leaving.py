"""Clients that leave, and what is kept and shown of a run: never a secret."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from tape.serve.deps import Deps
from tests.tape.serve import shop
from tests.tape.serve.serving import ANN, BOSS, Server, chat, played, served
from tests.tape.serve.test_page import listening

SECRET = "planted-secret-in-deps"


def when(server: Server, state: str, known: set[str]) -> str:
    """The run that is new, when it is in a state."""
    while True:
        for record in server.runs._kept.listed():
            if record.id not in known and record.state == state:
                return record.id
        time.sleep(0.02)


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_outlives_its_client_unless_that_asked_for_the_end(tmp_path: Path, stream: bool) -> None:
    with listening(tmp_path) as (url, server, loop):
        body, host = json.dumps(chat("Wait.", stream=stream)), url.removeprefix("http://")

        def leave(head: str, known: set[str]) -> str:
            with socket.create_connection(tuple(host.split(":"))) as client:  # type: ignore[arg-type]
                client.sendall(
                    f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ANN}\r\n{head}"
                    f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
                )
                return when(server, "running", known)

        ended = leave("On-Leave: cancel\r\n", set())
        assert when(server, "cancelled", set()) == ended
        stays = leave("", {ended})
        loop.call_soon_threadsafe(shop.gate.set)
        assert when(server, "ended", {ended}) == stays


@played
async def test_no_secret_is_kept_shown_or_logged(tmp_path: Path) -> None:
    heard: list[str] = []

    class Hearing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(self.format(record))

    handler = Hearing()
    logging.getLogger("tape").addHandler(handler)
    try:
        async with served(tmp_path) as server, server.client() as ann, server.client(BOSS) as boss:
            server.runs._deps = Deps(lambda asked: {"user": SECRET, "prices": {"lamp": 30}, "key": SECRET})
            shown: list[Any] = []
            for task in ("What does a lamp cost?", "Fail."):
                shown.append((await ann.post("/v1/chat/completions", json=chat(task))).text)
            for path in ("/runs", "/state", "/metrics"):
                shown.append((await boss.get(path)).text)
            id = server.runs._kept.listed()[0].id
            shown.append((await ann.get(f"/runs/{id}/events")).text)
            await asyncio.sleep(0)
    finally:
        logging.getLogger("tape").removeHandler(handler)
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) >= 5
    assert heard, "what failed is logged"
    for text in [*shown, *kept, *heard]:
        assert SECRET not in text
        assert ANN not in text
        assert BOSS not in text
