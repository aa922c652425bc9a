"""Where a field of a TOML file stands: its line, for messages."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

_MOST_LINES = 2000
"""Lines of a file that are searched; each takes a parse of what is before it."""


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line on which the statement begins that makes a field, or the nearest field around it that is there.

    Args:
        text: A valid TOML document.
        path: Keys and indices that lead to the field.

    Returns:
        From 1; 1 where nothing of the path is there.
    """
    lines = text.split("\n")[:_MOST_LINES]
    best = (0, 1)
    begun = 0
    for number in range(1, len(lines) + 1):
        try:
            found = _depth(tomllib.loads("\n".join(lines[:number])), path)
        except tomllib.TOMLDecodeError:
            continue  # within a statement of several lines
        if found > best[0]:
            best = (found, _first(lines, begun))
        begun = number
    return best[1]


def _depth(value: Any, path: Sequence[str | int]) -> int:
    """How many keys of a path can be followed."""
    for depth, key in enumerate(path):
        inside = isinstance(value, dict) and key in value
        if not inside and not (isinstance(value, list) and isinstance(key, int) and key < len(value)):
            return depth
        value = value[key]
    return len(path)


def _first(lines: Sequence[str], begun: int) -> int:
    """The first line after some that is neither empty nor a comment."""
    for number in range(begun, len(lines)):
        if (line := lines[number].strip()) and not line.startswith("#"):
            return number + 1
    return begun + 1
