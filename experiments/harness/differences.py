"""Where a published text and the one that is made again of the episodes differ: by table, row and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_NOTHING = "nothing"


@dataclass(frozen=True)
class Difference:
    """A published value that is not the recomputed one.

    Attributes:
        file: Where it is published.
        table: The section it is in.
        row: The first cells of its row.
        column: Its column.
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
    """All differences of two texts in Markdown, by tables and lines.

    Args:
        file: The name of the file.
        published: What it holds.
        recomputed: What it should hold.
    """
    return [Difference(file, *pair) for pair in _markdown(published, recomputed)]


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
