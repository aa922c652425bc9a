"""A small MCP server for the tests: notes as files in the folder that it is given.

Standard library only: it is started again on each copy, and at once.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

folder, starts = Path(sys.argv[1]), Path(sys.argv[2])


def write(name: str, text: str) -> str:
    """Write a note."""
    (folder / name).write_text(text)
    return text


def delete(pattern: str) -> int:
    """Delete the notes that match a pattern; returns how many are left."""
    for path in folder.glob(pattern):
        path.unlink()
    return len(list(folder.iterdir()))


def names() -> list[str]:
    """The names of all notes."""
    return sorted(path.name for path in folder.iterdir())


def call_out(port: int) -> str:
    """Connect to a port of this machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return "connected"


TOOLS: list[Callable[..., Any]] = [write, delete, names, call_out]
TYPES = {"int": "integer", "str": "string"}
HINTS = {"delete": {"destructiveHint": True}, "names": {"readOnlyHint": True}}


def described(tool: Callable[..., Any]) -> dict[str, Any]:
    given = {name: {"type": TYPES[hint]} for name, hint in tool.__annotations__.items() if name != "return"}
    return {
        "name": tool.__name__,
        "description": tool.__doc__,
        "inputSchema": {"type": "object", "properties": given, "required": [*given]},
        "outputSchema": {"type": "object", "properties": {"result": {}}, "required": ["result"]},
        "annotations": HINTS.get(tool.__name__, {}),
    }


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [described(tool) for tool in TOOLS]}
    called = next(tool for tool in TOOLS if tool.__name__ == params["name"])
    try:
        made = called(**params["arguments"])
    except OSError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(made)}], "structuredContent": {"result": made}}


if __name__ == "__main__":
    with starts.open("a") as file:
        file.write(f"{folder}\n")
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked["method"], asked.get("params", {}))}
            print(json.dumps(reply), flush=True)
