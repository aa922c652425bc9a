"""A long drawing broken into rows, as a text is into lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tape.show.layout import Arranged

BETWEEN = 26.0
"""Room between two rows, in points."""


@dataclass(frozen=True)
class Row:
    """A part of the drawing, from and to along and across, and how far it is moved in either direction."""

    begin: float
    end: float
    low: float
    high: float
    across: float

    def moved(self, along: float, across: float) -> tuple[float, float]:
        """Where a point of this part goes."""
        return along - self.begin, across - self.low + self.across


class Rows:
    """The rows of a drawing.

    Args:
        arranged: The drawing.
        most: A row should not be longer than this, in points; None leaves it whole.
    """

    def __init__(self, arranged: Arranged, most: float | None = None) -> None:
        count = 1 if most is None else max(1, int(-(-arranged.length // most)))
        wanted = [arranged.length * i / count for i in range(1, count)] if arranged.cuts else []
        cuts = sorted({_nearest(arranged.cuts, at) for at in wanted})
        self.rows: list[Row] = []
        used = 0.0
        for begin, end in zip([0.0, *cuts], [*cuts, arranged.length], strict=True):
            # Lines run on to where the next row's labels are.
            rooms = [room for room in arranged.rooms if begin <= room[0] <= end and (room[1] <= end or room[0] == end)]
            low = min(room[2] for room in rooms)
            high = max(room[3] for room in rooms)
            self.rows.append(Row(begin, end, low, high, used))
            used += high - low + BETWEEN
        self.breadth = used - BETWEEN
        self.length = max(row.end - row.begin for row in self.rows)

    def row(self, along: float) -> Row:
        """The row that holds what is at this place along."""
        return next((row for row in self.rows if along < row.end), self.rows[-1])


def _nearest(cuts: Sequence[float], at: float) -> float:
    """The cut that is nearest to a place."""
    return min(cuts, key=lambda cut: abs(cut - at))
