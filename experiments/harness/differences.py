"""Where a published text and the one that is made again of the episodes differ: by table, row and column, or by key."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

CLOSE = 1e-9
"""Relative; more is another number, less another version of a library."""

UNCHECKED = frozenset({"switches"})
"""Settings that are told as what differs from today's defaults, so that they change with these."""

_KEYS = ("setting", "budget", "model", "method", "minus", "target")
"""What names a row of a list in JSON that has no ``cell``."""

_NOTHING = "nothing"


@dataclass(frozen=True)
class Difference:
    """A published value that is not the recomputed one.

    Attributes:
        file: Where it is published.
        table: The section it is in, or the list in a JSON file.
        row: The first cells of its row, or what names it.
        column: Its column or key.
        published: What the file says.
        recomputed: What the episodes say.
    """

    file: str
    table: str
    row: str
    column: str
    published: str
    recomputed: str

    def __str__(self) -> str:
        parts = (self.table, self.row, self.column)
        where = ": ".join([self.file, ", ".join(part for part in parts if part)]) if any(parts) else self.file
        return f"{where}: published {self.published!r}, recomputed {self.recomputed!r}"


def differences(file: str, published: str, recomputed: str) -> list[Difference]:
    """All differences of two texts; Markdown by tables and lines, JSON by keys.

    Args:
        file: The name of the file.
        published: What it holds.
        recomputed: What it should hold.
    """
    if published == recomputed:
        return []
    if file.endswith(".json"):
        return [
            Difference(file, *where, *(_short(value) for value in values))
            for where, *values in _json(json.loads(published), json.loads(recomputed), "", "", "")
        ]
    return [Difference(file, *found) for found in _markdown(published, recomputed)]


# --- JSON -----------------------------------------------------------------------------------------


def _json(a: Any, b: Any, table: str, row: str, column: str) -> Iterator[tuple[tuple[str, str, str], Any, Any]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        row = _named(a) or row
        for key in dict.fromkeys([*a, *b]):
            if key not in UNCHECKED:
                inner = f"{column}.{key}" if column else str(key)
                yield from _json(a.get(key, _NOTHING), b.get(key, _NOTHING), table, row, inner)
    elif isinstance(a, list) and isinstance(b, list):
        rows = all(isinstance(one, Mapping) and _named(one) for one in [*a, *b]) and bool(a or b)
        if rows:
            mine, theirs = ({_named(one): one for one in found} for found in (a, b))
            for name in dict.fromkeys([*mine, *theirs]):
                yield from _json(mine.get(name, _NOTHING), theirs.get(name, _NOTHING), column or table, name, "")
        else:
            for i in range(max(len(a), len(b))):
                pair = (found[i] if i < len(found) else _NOTHING for found in (a, b))
                yield from _json(*pair, table, row, f"{column}[{i}]")
    elif not _equal(a, b):
        yield (table, row, column), a, b


def _equal(a: Any, b: Any) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (a, b))
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE) if numbers else bool(a == b)


def _named(one: Mapping[str, Any]) -> str:
    keys = ("cell",) if "cell" in one else _KEYS
    return ", ".join(one[key] for key in keys if isinstance(one.get(key), str))


def _short(value: Any, most: int = 200) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= most else f"{text[:most]}..."


# --- Markdown -------------------------------------------------------------------------------------


def _markdown(published: str, recomputed: str) -> Iterator[tuple[str, str, str, str, str]]:
    a, b = published.splitlines(), recomputed.splitlines()
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for i in range(max(a1 - a0, b1 - b0)):
            mine = a[a0 + i] if a0 + i < a1 else ""
            theirs = b[b0 + i] if b0 + i < b1 else ""
            section = _section(a, a0 + i) if mine else _section(b, b0 + i)
            yield from _line(section, _head(a, a0 + i), mine, theirs)


def _line(section: str, head: Sequence[str], mine: str, theirs: str) -> Iterator[tuple[str, str, str, str, str]]:
    cells, others = _cells(mine), _cells(theirs)
    if not cells or len(cells) != len(others) or len(head) != len(cells):
        yield section, "", "", mine or _NOTHING, theirs or _NOTHING
        return
    for i, (x, y) in enumerate(zip(cells, others, strict=True)):
        if x != y:
            yield section, " / ".join(cells[: max(1, min(3, i))]), head[i], x, y


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _head(lines: Sequence[str], at: int) -> list[str]:
    """The head of the table that a line is in."""
    first = min(at, len(lines) - 1)
    while first > 0 and lines[first - 1].startswith("|"):
        first -= 1
    return _cells(lines[first]) if lines else []


def _section(lines: Sequence[str], at: int) -> str:
    return next((line.lstrip("# ") for line in reversed(lines[: at + 1]) if line.startswith("#")), "")
