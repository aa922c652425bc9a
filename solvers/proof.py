"""Proofs that a path is best, or that nothing fits: what `solvers.check_proof` checks.

The search is a small one of its own, in whole numbers. Multipliers come from the Lagrangian dual, one resource after
the other (Handler and Zang, 1980). Beginnings of paths are then expanded, those of the greatest value first, until each
is bounded by the path that is claimed, or no better than another one. Where the numbers fit into 58 bits, it is
compiled (`native/proof.hpp`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import Any

from solvers import compiled
from solvers.check_proof import (
    SCHEMA,
    WORK,
    PathGraph,
    Prefix,
    ProofError,
    WorkLeft,
    along,
    claimed,
    farthest,
    final,
    no_better,
    parsed,
    problem_in,
)
from solvers.deadline import NEVER, SolveDeadline
from solvers.errors import LateError, SolverError
from solvers.problem import PathProblem
from solvers.proof_file import Proof
from solvers.solution import PathSolution, Status

SIZE = 10
"""A proof is at most so many times as long as its problem."""
_ENTRY = 4
"""Bytes of a beginning in the tree, about."""
_EDGE = 16
"""Bytes of an edge in a problem's file, at least."""
_DIGITS = 17
_SWEEPS = 3
_STEPS = 16
"""Rounds through the resources, and multipliers looked at for each."""
_FINE = 10**6
"""Multipliers of several resources have no greater denominators than this, or they would grow for ever."""


class NoProofError(SolverError):
    """Why there is none: it would be too long, or take too long.

    Examples:
        >>> from solvers.proof import NoProofError, prove
        >>> edge = '"n_nodes": 2, "edges": [[0, 1]], "rewards": [0, 1], "costs": [[1]], "start": 0, "terminals": [1]'
        >>> problem = f'{{"schema": "tape.path_problem/1", {edge}, "budgets": [1], "resources": ["usd"], "horizon": 1, '
        >>> try:
        ...     prove(problem + '"discount": 1, "objective": "visit"}', {"budgets": {}}, None)
        ... except NoProofError as error:
        ...     print(error)
        there is a better path than the one that is claimed
    """


def prove(text: str, asked: Mapping[str, Any], path: Sequence[int] | None, deadline: SolveDeadline = NEVER) -> Proof:
    """Proves that a path is best, or without a path that nothing fits; `Proof.check` runs the checker.

    Args:
        text: The problem's file.
        asked: ``budgets``, a whole number for each resource whose limit is not the file's; with plan graphs also
            ``start``, ``discount``, and where they are set ``goals`` and ``horizon``.
        path: The path as edges of the file, in order.
        deadline: When it is too late.

    Raises:
        NoProofError: It would be longer than ten times the problem, or the time was up; or there is a better path.
        solvers.check_proof.ProofError: The file is no problem that can be proven.

    Examples:
        >>> from solvers import PathProblem
        >>> from solvers.proof import prove
        >>> problem = PathProblem(
        ...     3, [(0, 1), (1, 2), (0, 2)], rewards=[0, 1, 1], costs=[[2], [2], [1]], budgets=[3], start=0,
        ...     terminals=[2], objective="visit", resources=["usd"],
        ... )
        >>> prove(problem.to_json(), {"budgets": {}}, [2]).check()
        'proven: best, worth 1 (budgets: as in the file)'
    """
    try:
        return _proven(text, asked, path, deadline)
    except (NoProofError, ProofError) as error:  # the horizon may be what keeps better paths away
        try:
            return _proven(text, {**asked, "layers": True}, path, deadline)
        except ProofError:
            raise error from None


def _proven(text: str, asked: Mapping[str, Any], path: Sequence[int] | None, deadline: SolveDeadline) -> Proof:
    try:
        problem = problem_in(text, parsed(json.dumps(asked)), _WorkWithin(WORK * len(text), deadline))
    except LateError:
        raise NoProofError("the time was up") from None
    proof = _of_graph(problem, text, asked, path, SIZE * len(text), deadline)
    if len(proof.text) > SIZE * len(text):
        raise NoProofError(f"it would be more than {SIZE} times as long as the problem")
    return proof


def _of_graph(
    graph: PathGraph, of: str | PathProblem, asked: Mapping[str, Any], path: Sequence[int] | None, size: int,
    deadline: SolveDeadline,
) -> Proof:  # fmt: skip
    rows, tree = bounded(graph, None if path is None else claimed(graph, path), size, deadline)
    data: dict[str, Any] = {"schema": SCHEMA, "claim": "nothing fits" if path is None else "best", "asked": dict(asked)}
    data |= {"path": list(path)} if path is not None else {}
    return Proof(of, data | {"rows": rows, "tree": tree})


def bounded(
    graph: PathGraph, best: int | None, size: int, deadline: SolveDeadline
) -> tuple[list[list[int]], list[int]]:
    """Rows and a tree that show that nothing is worth more than `best`, or without it that nothing fits.

    Args:
        graph: The problem.
        best: In the graph's units.
        size: Of the proof in bytes, at most.
        deadline: When it is too late.

    Raises:
        NoProofError: There are none of that size, or the time was up.
    """
    made = compiled.prove(graph, best, size // _ENTRY, deadline)
    if made is None:
        try:
            search = _Search(graph, best, size, deadline)
            made = "", search.rows, search.tree()
        except LateError:
            made = "the time was up", [], []
    problem, rows, tree = made
    if problem:
        raise NoProofError(problem)
    return rows, tree


def with_proof(problem: PathProblem, answer: PathSolution, deadline: SolveDeadline) -> PathSolution:
    """The answer with its proof, or with a message that says why there is none."""
    try:
        if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            raise NoProofError("only what is best, or that nothing fits, can be proven")
        if problem.is_risky:
            raise NoProofError("limits on chances cannot be proven")
        path = answer.edges if answer.has_path else None
        return answer.but(proof=_quickly(problem, path, deadline) or _by_file(problem, path, deadline))
    except (NoProofError, ProofError) as error:
        return answer.but(message="; ".join(filter(None, [answer.message, f"no proof: {error}"])))


def _by_file(problem: PathProblem, path: Sequence[int] | None, deadline: SolveDeadline) -> Proof:
    asked = {"budgets": problem.named(problem.budgets)}
    return prove(problem.with_valid(risk=None, spreads=()).to_json(), asked, path, deadline)


def _quickly(problem: PathProblem, path: Sequence[int] | None, deadline: SolveDeadline) -> Proof | None:
    """The proof of a problem whose values need no fractions, without its file; None where there is no such one."""
    if problem.discount != 1 or problem.objective == "stay":
        return None
    values, unit = _whole(problem.rewards)
    own, of_edges = _whole(problem.edge_rewards)
    if min(unit, of_edges) == 0 or max(unit, of_edges) > 10**_DIGITS:
        return None
    most = max(unit, of_edges)
    values = [value * (most // unit) for value in values]
    gains = [values[head] for _, head in problem.edges]
    if own:
        gains = [gain + more * (most // of_edges) for gain, more in zip(gains, own, strict=True)]
    uses = problem.costs or ((),) * len(gains)
    limits, ends = [*problem.budgets], dict.fromkeys(problem.terminals, 0)
    graph = PathGraph(
        problem.n_nodes, problem.edges, gains, uses, [0] * len(limits), limits, problem.start, ends, most,  # type: ignore[arg-type]
        problem.horizon, 0,
    )  # fmt: skip
    kept, size = problem.with_valid(risk=None, spreads=()), SIZE * _EDGE * len(gains)
    try:
        return _of_graph(graph, kept, {"budgets": problem.named(problem.budgets)}, path, size, deadline)
    except (NoProofError, ProofError):
        return None


def _whole(values: Sequence[float]) -> tuple[list[int], int]:
    """Values as whole numbers of a power of ten, as they are written; (.., 0) where one is written with an exponent."""
    parts = [repr(float(value)).partition(".") for value in values]
    digits = max((len(after) for _, _, after in parts if after != "0"), default=0)
    if any("e" in after for _, _, after in parts):
        return [], 0
    return [int(before + (after if after != "0" else "").ljust(digits, "0")) for before, _, after in parts], 10**digits


@dataclass
class _Beginning:
    """A beginning in the tree; its code is 0 where it is expanded."""

    prefix: Prefix
    code: int = 0
    like: _Beginning | None = None
    longer: tuple[_Beginning, ...] = ()
    place: int = 0


class _WorkWithin(WorkLeft):
    """Ends the search where the check would take too long, or the time is up."""

    def __init__(self, most: int, deadline: SolveDeadline) -> None:
        super().__init__(most)
        self._deadline = deadline

    def spend(self, steps: int) -> None:
        """Take steps."""
        super().spend(steps)
        self._deadline.check()


class _Search:
    """The search for one proof.

    Attributes:
        rows: Multipliers, as the proof has them.
    """

    def __init__(self, problem: PathGraph, best: int | None, size: int, deadline: SolveDeadline) -> None:
        self._problem, self._most, self._best = problem, size // _ENTRY, best
        self._leaving: list[list[int]] = [[] for _ in range(problem.n)]
        for edge, (tail, _) in enumerate(problem.edges):
            self._leaving[tail].append(edge)
        self.rows: list[list[int]] = []
        self._tables: list[list[int | None]] = []
        self._bounds: list[int] = []
        self._meter = _WorkWithin(WORK * self._most, deadline)
        self._known: dict[tuple[int, ...], list[int | None]] = {}
        resources = range(len(problem.lower))
        for k in resources:
            self._add([0, *(int(k == other) for other in resources)])
            if problem.lower[k] > 0:
                self._add([0, *(-int(k == other) for other in resources)])
        for row in self._dual() if best is not None else self._mixed():
            self._add(row)

    def _farthest(self, row: Sequence[int]) -> list[int | None]:
        key = tuple(row)
        if key not in self._known:
            self._known[key] = farthest(self._problem, row, self._meter)
        return self._known[key]

    def _add(self, row: list[int]) -> None:
        problem = self._problem
        limits = zip(row[1:], problem.upper, problem.lower, strict=True)
        self.rows.append(row)
        self._tables.append(self._farthest(row))
        self._bounds.append(sum(part * (most if part > 0 else least) for part, most, least in limits))

    # --- multipliers ----------------------------------------------------------------------------

    def _at(self, prices: Sequence[Fraction], worth: int = 1) -> tuple[list[int], tuple[int, tuple[int, ...]] | None]:
        """The row of prices, and value and use of the path that is best by it."""
        unit = math.lcm(*(price.denominator for price in prices))
        row = [worth * unit, *(int(price * unit) for price in prices)]
        table = self._farthest(row)
        at, met = Prefix(self._problem.start, 0, (0,) * len(prices)), set[int]()
        while at.node not in met:
            met.add(at.node)
            far = table[at.node]
            if far is None:
                return row, None
            more = self._problem.ends.get(at.node)
            if more is not None and far == row[0] * more:
                return row, (at.value + more, at.use)
            at = next(
                longer
                for longer in (along(self._problem, at, edge) for edge in self._leaving[at.node])
                if (rest := table[longer.node]) is not None and far == rest + self._gain(row, at, longer)
            )
        return row, None

    @staticmethod
    def _gain(row: Sequence[int], before: Prefix, after: Prefix) -> int:
        used = (a - b for a, b in zip(after.use, before.use, strict=True))
        return row[0] * (after.value - before.value) - sum(map(int.__mul__, row[1:], used))

    def _dual(self) -> list[list[int]]:
        """Rows that bound what a path within the limits is worth, the last one best."""
        upper, prices = self._problem.upper, [Fraction(0)] * len(self._problem.upper)
        row, path = self._at(prices)
        rows = [row]
        for _ in range(_SWEEPS):
            before = list(prices)
            for k, limit in enumerate(upper):
                prices[k] = Fraction(0)
                _, over = self._at(prices)
                _, least = self._at([Fraction(int(k == other)) for other in range(len(upper))], 0)
                if over is None or least is None or over[1][k] <= limit or least[1][k] > limit:
                    continue
                for _ in range(_STEPS):
                    gap = self._priced(over, prices, k) - self._priced(least, prices, k)
                    prices[k] = max(Fraction(0), gap / (over[1][k] - least[1][k]))
                    row, path = self._at(prices)
                    if path is None or path[1][k] in (over[1][k], least[1][k]):
                        break
                    over, least = (path, least) if path[1][k] > limit else (over, path)
                if len(upper) > 1:
                    prices[k] = prices[k].limit_denominator(_FINE)
            rows.append(self._at(prices)[0])
            if prices == before or len(upper) == 1:
                break
        return [row for number, row in enumerate(rows) if row not in rows[:number]][-2:]

    @staticmethod
    def _priced(path: tuple[int, tuple[int, ...]], prices: Sequence[Fraction], but: int) -> Fraction:
        return path[0] - sum((prices[k] * use for k, use in enumerate(path[1]) if k != but), Fraction(0))

    def _mixed(self) -> list[list[int]]:
        """Rows by which the cheapest path breaks several limits together, where such are found."""
        upper = self._problem.upper
        if len(upper) < 2 or min(upper) < 0:
            return []
        prices, rows = [Fraction(1, most + 1) for most in upper], []
        for step in range(1, _STEPS + 1):
            row, path = self._at(prices, 0)
            rows.append(row)
            if path is None or sum(map(int.__mul__, row[1:], path[1])) > sum(map(int.__mul__, row[1:], upper)):
                break
            over = [Fraction(use - most, (most + 1) * step) for use, most in zip(path[1], upper, strict=True)]
            moved = zip(prices, over, upper, strict=True)
            prices = [
                max(Fraction(0), price + part / (most + 1)).limit_denominator(_FINE) for price, part, most in moved
            ]
            if not any(prices):
                break
        return rows[-2:]

    # --- the tree -------------------------------------------------------------------------------

    def tree(self) -> list[int]:
        """The codes of the beginnings, each before those that go on from it."""
        root = _Beginning(Prefix(self._problem.start, 0, (0,) * len(self._problem.lower)))
        expanded: dict[int, list[_Beginning]] = {}
        queue: list[tuple[int, int, _Beginning]] = []
        entries, ties = 1, count()
        self._open(root, queue, ties)
        while queue:
            self._meter.spend(1)
            beginning = heappop(queue)[2]
            prefix = beginning.prefix
            others = expanded.setdefault(prefix.node, [])
            beginning.like = next((it for it in others if no_better(self._problem, prefix, it.prefix)), None)
            if beginning.like is not None:
                continue
            worth = final(self._problem, prefix)
            if worth is not None and (self._best is None or worth > self._best):
                raise NoProofError("there is a better path than the one that is claimed")
            others.append(beginning)
            longer = (along(self._problem, prefix, edge) for edge in self._leaving[prefix.node])
            fitting = (it for it in longer if all(map(int.__le__, it.use, self._problem.upper)))
            beginning.longer = tuple(map(_Beginning, fitting))
            entries += len(beginning.longer)
            if entries > self._most:
                raise NoProofError(f"it would be more than {SIZE} times as long as the problem")
            for one_longer in beginning.longer:
                self._open(one_longer, queue, ties)
        return _written(root)

    def _open(self, beginning: _Beginning, queue: list[tuple[int, int, _Beginning]], ties: Iterator[int]) -> None:
        """Bound a beginning by a row, or put it into the queue."""
        prefix, inside = beginning.prefix, False
        for number in reversed(range(len(self.rows))):
            row, far = self.rows[number], self._tables[number][prefix.node]
            if far is not None:
                bound = row[0] * prefix.value - sum(map(int.__mul__, row[1:], prefix.use)) + self._bounds[number] + far
                inside = bound < 0 if row[0] == 0 else self._best is not None and bound <= row[0] * self._best
            if far is None or inside:
                beginning.code = number + 1
                return
        heappush(queue, (-prefix.value, next(ties), beginning))


def _written(root: _Beginning) -> list[int]:
    """Codes in the order in which the checker meets the beginnings."""
    order, stack = [], [root]
    while stack:
        beginning = stack.pop()
        order.append(beginning)
        beginning.place = len(order)
        stack += reversed(beginning.longer)
    return [-item.like.place if item.like is not None else item.code for item in order]
