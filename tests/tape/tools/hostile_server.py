"""An MCP server over stdio whose answers are given, byte for byte; standard library only, so it starts at once.

It is given a JSON file: ``replies`` (by method; the one to the k-th call under ``call:k``) in base64, in which
:data:`NUMBER` stands for the request's id, and ``ways`` to behave. It writes the ids of its process and of its child to
a file beside it.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NUMBER = 777_000_777
TOOLS: list[dict[str, Any]] = [
    {
        "name": "look",
        "description": "Look something up.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "call": {"type": "integer", "minimum": 0},
                "where": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
                "how": {"enum": ["thin", "thick"], "description": "Of the line."},
            },
            "required": ["call"],
            "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        },
        "outputSchema": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "wipe", "description": "Wipe.", "inputSchema": {"type": "object", "properties": {}}},
]
GENUINE: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": False}, "experimental": {}},
        "serverInfo": {"name": "tests", "version": "2.3.0"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {
        "content": [{"type": "text", "text": "found"}, {"type": "text", "text": "it"}],
        "structuredContent": {"result": "found\nit"},
        "isError": False,
    },
}
"""What a server of the official SDK answers."""


def answer(method: str) -> bytes:
    """A genuine answer."""
    return json.dumps({"jsonrpc": "2.0", "id": NUMBER, "result": GENUINE[method]}).encode()


def main() -> None:
    """Serve until the input ends."""
    file = Path(sys.argv[1])
    settings = json.loads(file.read_text())
    replies, ways = settings["replies"], set(settings["ways"])
    pids = [os.getpid()]
    if "spawn" in ways:
        pids.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    file.with_suffix(".pids").write_text(json.dumps(pids))
    if "ignore_term" in ways:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    out = sys.stdout.buffer
    out.write(base64.b64decode(settings.get("greeting", "")))
    out.flush()
    calls = pages = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None or method is None:
            continue
        key = method
        if method == "tools/call":
            key, calls = f"call:{calls}", calls + 1
            file.with_suffix(".called").touch()
        if "chatter" in ways:
            sys.stderr.write("x" * 200_000)
            for _ in range(20):
                out.write(
                    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\nhm\n'
                )
            out.write(b'{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[]}}\n')
            out.flush()
        if "pages" in ways and method == "tools/list":
            pages += 1
            tool = {"name": f"t{pages}", "inputSchema": {"type": "object"}}
            result = {"tools": [tool], "nextCursor": str(pages)}
            out.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n")
            out.flush()
            time.sleep(settings.get("pause", 0))
            continue
        if "flood" in ways and method == "tools/call":
            while True:
                out.write(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n' * 1000)
        if "endless" in ways and method == "tools/call":
            while True:
                out.write(b"x" * 65536)
        if "echo" in ways and method == "tools/call":
            params = {key: message["params"].get(key) for key in ("name", "arguments")}
            replies["tools/call"] = base64.b64encode(
                json.dumps(
                    {"jsonrpc": "2.0", "id": NUMBER, "result": {"content": [], "structuredContent": params}}
                ).encode()
            )
        given = replies.get(key, replies.get(method))
        reply = answer(method) if given is None else base64.b64decode(given)
        out.write(reply.replace(str(NUMBER).encode(), json.dumps(number).encode()) + b"\n")
        out.flush()
    if "linger" in ways:
        time.sleep(600)


if __name__ == "__main__":
    main()
