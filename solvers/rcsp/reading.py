"""Files with resource-constrained shortest path problems: the OR-Library's format, and DIMACS graphs."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from solvers.errors import FileFormatError, ProblemError
from solvers.memory import MEMORY_CAP
from solvers.rcsp.problem import MOST, Amount, Numbers, RcspProblem
from solvers.reading import LARGEST_FILE

_Words = Callable[[bytes], list[bytes]]

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
    """
    file = _File(path)
    numbers = file.numbers(bytes.split)
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


def read_dimacs(
    cost: str | Path,
    *others: str | Path,
    source: int = 1,
    target: int | None = None,
    upper: Sequence[Amount | None] | None = None,
    lower: Sequence[Amount | None] | None = None,
    resources: Sequence[str] = (),
) -> RcspProblem:
    """Reads a graph in the format of the 9th DIMACS challenge, from one `.gr` file for each weight of its arcs.

    The arcs of all files have to be the same, in the same order, as those of a road map's distances and times are.

    Args:
        cost: The file with the costs (lines `p sp NODES ARCS`, `a TAIL HEAD WEIGHT`, and `c` for comments); packed, if
            its name ends with `.gz`.
        others: K files with what the arcs use of each resource.
        source: Where paths begin, as the files number the nodes: from 1.
        target: Where they end; None for the last node.
        upper: K upper limits; None for none.
        lower: K lower limits; None for none.
        resources: K names; r0, r1, ... by default.

    Raises:
        FileFormatError: If a file cannot be read or holds something else; it names the line.
        ProblemError: If the ends, the limits or the names are malformed.
    """
    n, arcs = _graph(cost)
    use = [np.empty((len(arcs), 0), dtype=np.int64)]
    for other in others:
        nodes, more = _graph(other)
        if nodes != n or len(more) != len(arcs):
            text = f"{nodes} nodes and {len(more)} arcs, and {cost} has {n} and {len(arcs)}; they must be the same"
            raise FileFormatError(other, None, text)
        differing = (more[:, :2] != arcs[:, :2]).any(axis=1)
        if differing.any():
            text = f"arc {int(np.argmax(differing)) + 1} leads elsewhere than in {cost}; they must come in one order"
            raise FileFormatError(other, None, text)
        use.append(_narrow(more[:, 2:]))
    for name, node in (("source", source), ("target", target)):
        if node is not None and (isinstance(node, bool) or not isinstance(node, int) or not 1 <= node <= n):
            raise ProblemError(name, None, node, f"expected a node of {cost}, from 1 to {n}")
    tails, heads, costs = (_narrow(arcs[:, column]) for column in range(3))
    end = -1 if target is None else target - 1
    return RcspProblem(
        n, tails - 1, heads - 1, costs, np.hstack(use), None, None, lower, upper, source - 1, end, resources
    )


def _graph(path: str | Path) -> tuple[int, Numbers]:
    """The number of nodes, and m rows of tail, head and weight as they are in the file."""
    file = _File(path)
    start = 0
    for at, line in file.lines():
        start += len(line) + 1
        words = line.split()
        if not words or words[0] == b"c":
            continue
        if len(words) == 4 and words[:2] == [b"p", b"sp"] and words[2].isdigit() and words[3].isdigit():
            break
        file.refuse(at, "expected 'p sp NODES ARCS', after comments that begin with 'c'")
    else:
        file.refuse(None, "no line 'p sp NODES ARCS'")
    n, m = int(words[2][:20]), int(words[3][:20])
    file.require(at, n, m)
    numbers = file.numbers(_weights, start, "'a TAIL HEAD WEIGHT' or a comment")
    if len(numbers) != 3 * m:
        file.refuse(at, f"{m} arcs are announced, and there are {len(numbers) // 3}")
    rows = numbers.reshape(m, 3)
    wrong = (rows[:, :2] < 1) | (rows[:, :2] > n) | (rows[:, :2] != np.rint(rows[:, :2]))
    if wrong.any():
        at = file.line(3 * int(np.argmax(wrong.any(axis=1))), _weights, start)
        file.refuse(at, f"the ends of an arc must be nodes, from 1 to {n}")
    return n, rows


def _weights(text: bytes) -> list[bytes]:
    """Three words for each arc; an empty one for a line that is none."""
    words = text.split()
    if len(words) % 4 == 0 and words[::4].count(b"a") == len(words) // 4 and b"_" not in text:
        del words[::4]
        return words
    found: list[bytes] = []
    for line in text.split(b"\n"):
        words = line.split()
        if words and words[0] == b"a" and len(words) == 4 and b"_" not in line:
            found += words[1:]
        elif words and words[0] != b"c":
            found.append(b"")
    return found


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

    def pieces(self, start: int = 0) -> Iterator[bytes]:
        """The text from there on, some lines at a time, so that its words are never all in memory."""
        while start < len(self.data):
            end = self.data.find(b"\n", start + _PIECE) + 1 or len(self.data)
            yield self.data[start:end]
            start = end

    def numbers(self, words: _Words, start: int = 0, expected: str = "numbers") -> Numbers:
        """The numbers among the words from there on: integers if all are."""
        if (at := self.data.find(b"_", start)) >= 0 and words is bytes.split:  # which Python would take in numbers
            self.refuse(self.data.count(b"\n", 0, at) + 1, f"expected {expected}, found '_'")
        found = [_integers_or_floats(words(piece)) for piece in self.pieces(start)]
        if any(part is None for part in found):
            for at, line in self.lines(start):
                if _integers_or_floats(words(line)) is None:
                    self.refuse(at, f"expected {expected}, found {line[:60].decode(errors='replace')!r}")
        numbers = np.concatenate([part for part in found if part is not None] or [np.empty(0, dtype=np.int64)])
        if numbers.dtype.kind == "f" and not (near := np.abs(numbers) < 2.0**53).all():
            text = "what is not finite, or 2**53 or more beside decimals, is no number that can be counted exactly"
            self.refuse(self.line(int(np.argmin(near)), words, start), text)
        return numbers

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """The lines from there on, with their numbers from 1."""
        yield from enumerate(self.data[start:].split(b"\n"), self.data.count(b"\n", 0, start) + 1)

    def line(self, position: int, words: _Words = bytes.split, start: int = 0) -> int:
        """The line of a word, counted among those from there on."""
        for at, line in self.lines(start):
            position -= len(words(line))
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
