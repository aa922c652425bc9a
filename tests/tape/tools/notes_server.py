"""A small MCP server for the tests: notes as files in the folder that it is given."""

import socket
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("notes")
folder = Path(sys.argv[1])
starts = Path(sys.argv[2])


@server.tool()
def write(name: str, text: str) -> str:
    """Write a note."""
    (folder / name).write_text(text)
    return text


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def delete(pattern: str) -> int:
    """Delete the notes that match a pattern; returns how many are left."""
    for path in folder.glob(pattern):
        path.unlink()
    return len(list(folder.iterdir()))


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def names() -> list[str]:
    """The names of all notes."""
    return sorted(path.name for path in folder.iterdir())


@server.tool()
def call_out(port: int) -> str:
    """Connect to a port of this machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return "connected"


if __name__ == "__main__":
    with starts.open("a") as file:
        file.write(f"{folder}\n")
    server.run()
