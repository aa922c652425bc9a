"""The one reader of TOML from outside: configurations and data files, within the bounds of :mod:`tape.reading`.

``tomllib`` calls itself once for each bracket, and its values do not remember their lines. So a scan of our own finds
the statements with their lines, in time that grows with the length of the text alone, and without a stack.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tape.errors import DataError
from tape.reading import MOST_DEPTH, MOST_DIGITS, MOST_SHOWN, Problem

MOST_TOML = 1 << 20
"""Most characters of a TOML file: people write it, and the parser takes many seconds for more."""

_LONG = re.compile(rf"[0-9_]{{{MOST_DIGITS + 1}}}")
_TOKEN = re.compile(
    r"""
    (?P<text> \"{3} (?: [^"\\] | \\. | "{1,2}(?!") )*+ "{3,5}
            | '{3} (?: [^'] | '{1,2}(?!') )*+ '{3,5}
            | " (?: [^"\\\n] | \\[^\n] )*+ "
            | ' [^'\n]*+ ' )
  | (?P<space> \#[^\n]*+ | [ \t\r]++ )
  | (?P<mark> [\[\]{}=,.\n] )
  | (?P<word> [^\s"'\#\[\]{}=,.]++ )
  | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_DIGITS = re.compile(r"[-+]?[0-9_]+")


def parse_toml(text: str, where: str, *, error: Problem = DataError) -> dict[str, Any]:
    """Read TOML within bounds: size, nesting, length of numbers; no ``nan``, no infinity."""
    if len(text) > MOST_TOML:
        raise error(f"{where}: longer than {MOST_TOML} characters, which is the most that is read of a TOML file")
    if _LONG.search(text) or max(map(text.count, "[{.")) > MOST_DEPTH:
        for statement in statements(text):  # before a parser that calls itself for every bracket sees it
            if statement.depth > MOST_DEPTH:
                raise error(
                    f"{where}:{statement.line}: nested deeper than {MOST_DEPTH}, which is the most that is read"
                )
            if statement.digits > MOST_DIGITS:
                raise error(
                    f"{where}:{statement.line}: a whole number of {statement.digits} digits; the most that is read is "
                    f"{MOST_DIGITS}"
                )
    try:
        table = tomllib.loads(text)
    except ValueError as problem:
        message, _, place = str(problem).partition(" (at line ")
        line = place.partition(",")[0] if place else str(text.count("\n") + 1)
        raise error(f"{where}:{line}: no TOML: {message}; see https://toml.io for how values are written") from problem
    if (unbounded := _unbounded(table)) is not None:
        path, wrong = unbounded
        raise error(f"{where}:{line_of(text, path)}: field {'.'.join(map(str, path[:MOST_SHOWN]))}: {wrong}")
    return table


def _unbounded(table: dict[str, Any]) -> tuple[tuple[str | int, ...], str] | None:
    """The path to a value that is beyond the bounds, and what is wrong with it; None where all are within."""
    left: list[tuple[tuple[str | int, ...], Any]] = [((), table)]
    while left:
        path, value = left.pop()
        if len(path) > MOST_DEPTH:
            return path, f"nested deeper than {MOST_DEPTH}, which is the most that is read"
        if isinstance(value, dict):
            left.extend(((*path, key), held) for key, held in value.items())
        elif isinstance(value, list):
            left.extend(((*path, index), held) for index, held in enumerate(value))
        elif isinstance(value, float) and not math.isfinite(value):
            return path, f"{value} is no number that can be used; give a finite one"
        elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            return path, f"a whole number of more than {MOST_DIGITS} digits, which is the most that is read"
    return None


@dataclass
class TomlStatement:
    """A header or an assignment.

    Attributes:
        line: Where it begins, from 1.
        keys: Of the header, or before the equals sign.
        header: Brackets before the keys: 0 for an assignment, 1 for a table, 2 for an array of tables.
        depth: The deepest nesting of its brackets, or the most parts of a dotted key, whichever is more.
        digits: Of its longest whole number.
    """

    line: int
    keys: list[str] = field(default_factory=list)
    header: int = 0
    depth: int = 0
    digits: int = 0


class _Scan:
    """Makes statements of parts."""

    def __init__(self) -> None:
        self._line = 1
        self._statement: TomlStatement | None = None
        self._in_value = False
        self._open = self._dots = 0

    def take(self, kind: str | None, part: str) -> TomlStatement | None:
        """Take the next part; returns the statement that it ends."""
        if kind == "space":
            return None
        if part == "\n" and not self._open:
            self._line += 1
            return self.end()
        if self._statement is None and part != "\n":
            self._statement = TomlStatement(self._line)
        if self._statement is not None:
            (self._value if self._in_value else self._head)(self._statement, kind, part)
        self._line += part.count("\n")
        return None

    def end(self) -> TomlStatement | None:
        """The statement so far."""
        ended, self._statement, self._in_value, self._open, self._dots = self._statement, None, False, 0, 0
        return ended

    def _head(self, statement: TomlStatement, kind: str | None, part: str) -> None:
        if kind in ("text", "word"):
            statement.keys.append(_key(part))
            statement.depth = max(statement.depth, len(statement.keys))
        elif part == "[" and not statement.keys:
            statement.header += 1
        elif part in "=]":
            self._in_value = True

    def _value(self, statement: TomlStatement, kind: str | None, part: str) -> None:
        if kind == "mark":
            self._open = max(0, self._open + (part in "[{") - (part in "]}"))
            self._dots = self._dots + 1 if part == "." else 0
            statement.depth = max(statement.depth, self._open, self._dots)
        elif kind == "word" and _DIGITS.fullmatch(part):
            statement.digits = max(statement.digits, len(part))


def statements(text: str) -> Iterator[TomlStatement]:
    """The statements of a TOML document, in order; of an invalid one those up to the first wrong quote, at least."""
    scan = _Scan()
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "other":
            break  # a quote that nothing closes: no parser gets beyond it
        if ended := scan.take(match.lastgroup, match[0]):
            yield ended
    if ended := scan.end():
        yield ended


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line on which the statement begins that makes a field, or the nearest field around it that is there.

    Args:
        text: A valid TOML document.
        path: Keys and indices that lead to the field.

    Returns:
        From 1; 1 where nothing of the path is there.
    """
    best, line = 0, 1
    table: tuple[str | int, ...] = ()
    last: dict[tuple[str | int, ...], int] = {}
    for statement in statements(text):
        if statement.header:
            table = made = _table(statement, last)
        else:
            made = (*table, *statement.keys)
        same = _common(made, path)
        if same > best:
            best, line = same, statement.line
        if same == len(path) or (same == len(made) and not statement.header):
            break  # nothing after it can be nearer
    return line


def _table(statement: TomlStatement, last: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """The path of a header's table; ``last`` holds the last index of every array of tables, and gets this one's."""
    path: tuple[str | int, ...] = ()
    for number, key in enumerate(statement.keys, 1):
        path = (*path, key)
        if statement.header == 2 and number == len(statement.keys):
            last[path] = last.get(path, -1) + 1
        if path in last:
            path = (*path, last[path])
    return path


def _common(made: Sequence[str | int], path: Sequence[str | int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(made, path, strict=False)))


def _key(part: str) -> str:
    if part[0] not in "\"'":
        return part
    if "\\" not in part:
        return part[1:-1]
    try:
        return str(tomllib.loads(f"key = {part}")["key"])
    except tomllib.TOMLDecodeError:
        return part
