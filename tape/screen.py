r"""What others wrote, on a terminal: seen, never obeyed.

Models, tools, tasks and files may hold escape sequences, which move the cursor, hide text, set a window's title or fill
the clipboard. A command writes through :func:`guarded`: each control character that reaches standard output or standard
error there is shown as an escape such as ``\x1b``. A display that moves the cursor itself asks for the bare stream
(:func:`bare`) and guards its words on its own (``tape/show/console.py``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but line feed and tab
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of text
    "\u2028\u2029"  # what only some take for the end of a line
    "\ud800-\udfff]"  # halves of surrogate pairs, which no encoding can write
)


def printable(text: str) -> str:
    """A text in which all but what is to be seen, line feeds and tabs is escaped as in Python."""
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class _Guarded:
    """A stream of which everything is the other's but that texts are made :func:`printable`."""

    def __init__(self, stream: TextIO) -> None:
        self.bare = stream

    def write(self, text: str) -> int:
        """Write a text; returns its length."""
        self.bare.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)

    def __enter__(self) -> _Guarded:
        return self

    def __exit__(self, *_: object) -> None:
        self.bare.flush()

    def __iter__(self) -> Iterator[str]:
        return iter(self.bare)


def guard() -> Callable[[], None]:
    """Guard standard output and standard error of this process from now on; returns what undoes it.

    What their encoding cannot write is escaped as well, whoever writes it, also to the bare stream.
    """
    before = sys.stdout, sys.stderr
    escaping = [(stream, stream.errors) for stream in before if isinstance(stream, TextIOWrapper)]
    for stream, _ in escaping:
        stream.reconfigure(errors="backslashreplace")
    # A process without a console has neither.
    sys.stdout, sys.stderr = (stream and cast(TextIO, _Guarded(stream)) for stream in before)

    def undo() -> None:
        sys.stdout, sys.stderr = before
        for stream, errors in escaping:
            with suppress(OSError):  # what it holds is written first, and cannot be where the reader is gone
                stream.reconfigure(errors=errors)

    return undo


@contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error in this block."""
    undo = guard()
    try:
        yield
    finally:
        undo()


def bare(stream: TextIO) -> TextIO:
    """The stream behind the guards, for who writes control sequences of its own and guards all else."""
    while isinstance(stream, _Guarded):
        stream = stream.bare
    return stream
