"""A gateway as a process of its own that serves over HTTP, and plain requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GATEWAY = [sys.executable, "-m", "tape", "gateway"]


def command(file: Path, *more: str) -> list[str]:
    return [*GATEWAY, str(file), *more]


def message(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


HELLO = message(
    1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "tests", "version": "1"}
) + (b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')


@contextlib.contextmanager
def serving(file: Path, *, port: str = "0", **env: str) -> Iterator[str]:
    """A gateway over HTTP; yields host and port."""
    log = file.with_suffix(".log")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(file, "--http", port), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=os.environ | env
        )
    try:
        while "serving at http://" not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.02)
        yield log.read_text().partition("http://")[2].partition("/")[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def post(address: str, body: bytes, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address)
    try:
        head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request(
            "POST", "/mcp", body, head | {name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


NEWEST = "2026-07-28"
"""The version of the protocol that has no sessions."""


def stateless(name: str, **arguments: Any) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a call in the version that has no sessions."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"Mcp_Protocol_Version": NEWEST, "Mcp_Method": "tools/call", "Mcp_Name": name}
    return message(2, "tools/call", name=name, arguments=arguments, _meta=meta), headers


def opened(address: str, token: str) -> tuple[int, str]:
    """Open a session: the status, and its name where it was opened."""
    connection = http.client.HTTPConnection(address)
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", "/mcp", HELLO.splitlines()[0], head | {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("mcp-session-id") or ""
    finally:
        connection.close()


def request(address: str, method: str, token: str, session: str) -> int:
    """The status of a request without a body."""
    connection = http.client.HTTPConnection(address)
    try:
        head = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "Mcp-Session-Id": session}
        connection.request(method, "/mcp", headers=head)
        return connection.getresponse().status
    finally:
        connection.close()
