"""A small MCP server for the tests, over stdio; writes its process id to the file that it is given."""

import asyncio
import os
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("tests")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


@server.tool()
def add(a: float, b: float = 2) -> float:
    """Add two numbers.

    More words.
    """
    return a + b


@server.tool()
def multiply_quick(a: float, b: float) -> float:
    """Multiply, roughly."""
    return a * b + 1


@server.tool()
def multiply_exact(a: float, b: float) -> float:
    """Multiply."""
    return a * b


@server.tool()
def paint(
    where: Point, colour: Colour, how: Literal["thin", "thick"] = "thin", tags: list[str] | None = None
) -> dict[str, object]:
    """Paint a point."""
    return {"x": where.x, "y": where.y, "colour": colour.value, "how": how, "tags": tags}


@server.tool(structured_output=False)
def say(words: list[str]) -> list[str]:
    """Say some words, one a block."""
    return words


@server.tool()
def refuse(why: str) -> str:
    """Refuse."""
    raise ValueError(why)


@server.tool()
def die() -> str:
    """Die at once."""
    os._exit(3)


@server.tool()
async def hang() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return "never"


HINTS = {
    "look": ToolAnnotations(read_only_hint=True),
    "wipe": ToolAnnotations(read_only_hint=False, destructive_hint=True),
    "muddle": ToolAnnotations(read_only_hint=True, destructive_hint=True),
    "append": ToolAnnotations(read_only_hint=False, destructive_hint=False),
    "guess": ToolAnnotations(title="Guess"),
}
done: list[str] = []
for name, hints in HINTS.items():

    def remember(name: str) -> Callable[[], list[str]]:
        def act() -> list[str]:
            """Remember that it was done."""
            done.append(name)
            return done

        return act

    server.tool(name=name, annotations=hints)(remember(name))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(str(os.getpid()))
    server.run()
