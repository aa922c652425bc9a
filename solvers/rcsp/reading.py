"""Files with resource-constrained shortest path problems: the OR-Library's format."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from solvers.errors import FileFormatError, ProblemError
from solvers.memory import MEMORY_CAP
from solvers.rcsp.problem import MOST, Numbers, RcspProblem
from solvers.reading import LARGEST_FILE

_PIECE = 2**22
_A_NODE = 64
"""Bytes that a node takes at least, however few edges it has."""


def read_rcsp(path: str | Path) -> RcspProblem:
    """Reads a problem in the format of Beasley and Christofides (1989), as in the OR-Library.

    Numbers, parted by any white space: n, m and K; K lower limits; K upper limits; for each of the n nodes the K
    amounts that a visit uses; for each of the m edges its tail, its head, its cost and the K amounts that it uses.
    Nodes are numbered from 1 in the file and from 0 in the problem; paths lead from the first to the last.

    Args:
        path: The file; packed, if its name ends with `.gz`.

    Raises:
        FileFormatError: If it cannot be read or holds something else; it names the line.

    Examples:
        >>> from pathlib import Path
        >>> from solvers import read_rcsp, shortest_path
        >>> _ = Path("tiny.txt").write_text("2 1 1  0  9  0 0  1 2 5 4")
        >>> path = shortest_path(read_rcsp("tiny.txt"))
        >>> path.cost, path.resources
        (5, {'r0': 4})
    """
    file = _File(path)
    numbers = file.numbers()
    sizes = numbers[:3].tolist()
    if len(sizes) < 3 or any(size != int(size) or size < 0 for size in sizes):
        file.refuse(1, "a problem begins with three integers: the nodes n, the edges m and the resources K")
    n, m, n_resources = map(int, sizes)
    file.require(1, n, m)
    nodes = 3 + 2 * n_resources
    edges = nodes + n * n_resources
    width = 3 + n_resources
    if len(numbers) != edges + m * width:
        file.refuse(
            file.line(min(edges + m * width, len(numbers) - 1)),
            f"{n} nodes, {m} edges and {n_resources} resources make {edges + m * width} numbers (n m K; K lower "
            f"limits; K upper limits; K a node; tail, head, cost and K an edge), and there are {len(numbers)}",
        )
    rows = numbers[edges:].reshape(m, width)
    limits = _narrow(numbers[3:nodes]).tolist()
    wrong = (rows[:, :2] < 1) | (rows[:, :2] > n) | (rows[:, :2] != np.rint(rows[:, :2]))
    if wrong.any():
        at = file.line(edges + int(np.argmax(wrong.any(axis=1))) * width)
        file.refuse(at, f"the first two numbers of an edge must be nodes, from 1 to {n}")
    ends = _narrow(rows[:, :2])
    visits = _narrow(numbers[nodes:edges]).reshape(n, n_resources)
    try:
        visits_used, lower, upper = visits if visits.any() else None, limits[:n_resources], limits[n_resources:]
        cost, use = _narrow(rows[:, 2]), _narrow(rows[:, 3:])
        return RcspProblem(n, ends[:, 0] - 1, ends[:, 1] - 1, cost, use, None, visits_used, lower, upper)
    except ProblemError as error:
        row, column = (*(error.index if isinstance(error.index, tuple) else (error.index or 0,)), 0)[:2]
        begins = {"lower": 3, "upper": 3 + n_resources, "node_use": nodes, "cost": edges + 2, "use": edges + 3}
        step = {"node_use": n_resources, "cost": width, "use": width}.get(error.field, 1)
        file.refuse(file.line(begins[error.field] + row * step + column), str(error))


class _File:
    """A text of numbers, and where in it they are."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb") as file:
                self.data = file.read(LARGEST_FILE + 1)
        except (OSError, EOFError, zlib.error) as fault:
            raise FileFormatError(self.path, None, str(getattr(fault, "strerror", None) or fault)) from fault
        if len(self.data) > LARGEST_FILE:
            self.refuse(None, f"more than {LARGEST_FILE:,} bytes; write a smaller one")

    def refuse(self, line: int | None, message: str) -> NoReturn:
        raise FileFormatError(self.path, line, message)

    def pieces(self) -> Iterator[bytes]:
        """The text, some lines at a time, so that its words are never all in memory."""
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", start + _PIECE) + 1 or len(self.data)
            yield self.data[start:end]
            start = end

    def numbers(self) -> Numbers:
        """The numbers in the text: integers if all are."""
        if (at := self.data.find(b"_")) >= 0:  # which Python would take in numbers
            self.refuse(self.data.count(b"\n", 0, at) + 1, "expected numbers, found '_'")
        integers_floats = [_integers_or_floats(piece.split()) for piece in self.pieces()]
        if any(part is None for part in integers_floats):
            for at, line in enumerate(self.data.split(b"\n"), 1):
                if _integers_or_floats(line.split()) is None:
                    self.refuse(at, f"expected numbers, found {line[:60].decode(errors='replace')!r}")
        numbers = np.concatenate(
            [part for part in integers_floats if part is not None] or [np.empty(0, dtype=np.int64)]
        )
        if numbers.dtype.kind == "f" and not (near := np.abs(numbers) < 2.0**53).all():
            text = "what is not finite, or 2**53 or more beside decimals, is no number that can be counted exactly"
            self.refuse(self.line(int(np.argmin(near))), text)
        return numbers

    def line(self, position: int) -> int:
        """The line of a word, from 1."""
        for at, line in enumerate(self.data.split(b"\n"), 1):
            position -= len(line.split())
            if position < 0:
                return at
        return self.data.count(b"\n") + 1

    def require(self, line: int, n: int, m: int) -> None:
        """Refuses more nodes or edges than can be solved, before anything is made of them."""
        if not 1 <= n <= min(MOST, MEMORY_CAP // _A_NODE) or not 0 <= m <= MOST:
            most = min(MOST, MEMORY_CAP // _A_NODE)
            self.refuse(line, f"{n} nodes and {m} edges; there must be 1 to {most} nodes and 0 to {MOST} edges")


def _integers_or_floats(words: Sequence[bytes]) -> Numbers | None:
    try:
        return np.fromiter(map(int, words), np.int64, len(words))
    except (ValueError, OverflowError):
        pass
    try:
        return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        return None


def _narrow(numbers: Numbers) -> Numbers:
    """As integers, if all of them are."""
    if numbers.dtype.kind == "i" or (numbers != np.rint(numbers)).any():
        return numbers
    return numbers.astype(np.int64)
