"""Proofs that a path is best, or that nothing fits: what `solvers.check_proof` checks.

The search for them is a small one of its own in whole numbers, compiled (`native/proof.hpp`). Multipliers come from
the Lagrangian dual, one resource after the other (Handler and Zang, 1980). Beginnings of paths are then expanded, those
of the greatest value first, until each is bounded by the path that is claimed, or no better than another one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from solvers import compiled
from solvers.check_proof import (
    SCHEMA,
    WORK,
    PathGraph,
    ProofError,
    WorkLeft,
    parsed,
    problem_in,
    walked,
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
    rows, tree = bounded(graph, None if path is None else walked(graph, path, WorkLeft(size)).value, size, deadline)
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
    problem, rows, tree = compiled.prove(graph, best, size // _ENTRY, deadline)
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


class _WorkWithin(WorkLeft):
    """Ends the search where the check would take too long, or the time is up."""

    def __init__(self, most: int, deadline: SolveDeadline) -> None:
        super().__init__(most)
        self._deadline = deadline

    def spend(self, steps: int) -> None:
        """Take steps."""
        super().spend(steps)
        self._deadline.check()
