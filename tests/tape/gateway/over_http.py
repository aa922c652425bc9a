"""A gateway that serves over HTTP, in a process or a thread of its own, and plain requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tape.cli.gateway import main

GATEWAY = [sys.executable, "-m", "tape", "gateway"]


def command(file: Path, *more: str) -> list[str]:
    return [*GATEWAY, str(file), *more]


def message(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def hello(**capabilities: Any) -> bytes:
    """What a client with a handshake sends first."""
    who = {"name": "tests", "version": "1"}
    asked = message(1, "initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=who)
    return asked + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


HELLO = hello()


@contextlib.contextmanager
def serving(file: Path, *, port: str = "0", **env: str) -> Iterator[str]:
    """A gateway over HTTP in a process of its own; yields host and port."""
    log = file.with_suffix(".log")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(file, "--http", port), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=os.environ | env
        )
    try:
        yield address_in(log, process.poll)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def serving_here(file: Path, *, port: str = "0", **env: str) -> Iterator[str]:
    """The same in a thread of this process, which begins at once; for tests that are not about the process."""
    from tape.gateway import http as module

    log, began = file.with_suffix(".log"), list[Any]()

    class Server(module._Server):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            began.append(self)

    with (
        log.open("w", buffering=1) as stream,
        contextlib.redirect_stderr(stream),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(module, "_Server", Server)
        patch.setattr(sys, "path", list(sys.path))
        # uvicorn closes the handlers that there are: that of absl, which OR-Tools brings, closes the stream of pytest.
        patch.setattr("logging._handlerList", [])
        for name, value in env.items():
            patch.setenv(name, value)
        thread = threading.Thread(target=main, args=([str(file), "--http", port],))
        thread.start()
        try:
            yield address_in(log, lambda: None if thread.is_alive() else 1)
        finally:
            while not began and thread.is_alive():  # it logs where it serves before it is made
                time.sleep(0.01)
            for server in began:
                server.should_exit = True
            thread.join()


def address_in(log: Path, ended: Callable[[], object]) -> str:
    """Wait until a gateway has logged that it serves; host and port."""
    while "serving at http://" not in log.read_text():
        assert ended() is None, log.read_text()
        time.sleep(0.01)
    return log.read_text().partition("http://")[2].partition("/")[0]


def heads(**headers: str) -> dict[str, str]:
    """The headers of a request; underscores stand for hyphens."""
    common = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return common | {name.replace("_", "-"): value for name, value in headers.items()}


def requested(
    address: str, method: str, path: str = "/mcp", body: bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection(address)
    try:
        connection.request(method, path, body, heads(**headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def post(address: str, body: bytes, **headers: str) -> tuple[int, str]:
    """Status and body of the answer to a message."""
    status, _, text = requested(address, "POST", body=body, **headers)
    return status, text


def opened(address: str, token: str) -> tuple[int, str]:
    """Open a session: the status, and its name where it was opened."""
    status, headers, _ = requested(address, "POST", body=HELLO.splitlines()[0], Authorization=f"Bearer {token}")
    return status, headers.get("mcp-session-id", "")


def delete(address: str, token: str, session: str) -> int:
    """End a session; the status."""
    return requested(address, "DELETE", Authorization=f"Bearer {token}", Mcp_Session_Id=session)[0]


NEWEST = "2026-07-28"
"""The version of the protocol that has no sessions."""


def stateless(name: str, **arguments: Any) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a call in the version that has no sessions."""
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": NEWEST, f"{prefix}clientCapabilities": {}}
    headers = {"Mcp_Protocol_Version": NEWEST, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return message(2, "tools/call", name=name, arguments=arguments, _meta=meta), headers
