"""What an agent's own rule of selection picks on one plan graph: under its budgets, and under others.

The rule is that of :mod:`tape.engine.select`: the horizon follows from what is left, predictions of little
confidence are left out as long as a goal can be reached without them, and a partial path comes last. All answers are
proven by an exact solver; costs and budgets are integer counts, so a smallest budget is exact too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import networkx as nx

import solvers
from solvers import Explanation, PathProblem
from solvers.proven import solved_and_proven
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import PathQuery
from tape.engine.select import CONFIDENCES

_SAME = 1e-12
"""Objectives that differ by less, relative to their size, are equal."""

MOST_SECONDS = 20.0
"""How long an explanation may take; what is open then is reported as open."""

PROVEN = 1e-6
"""By how much of its size a proven objective may differ from one solver to another (``solvers.check``)."""

_LOOK, _MOST_LOOKED_AT = 8, 512
"""Paths looked at for each that is asked for, since those with circles are left out; and how many at most."""


@dataclass(frozen=True)
class Stage:
    """One of the problems that the rule solves in turn.

    Attributes:
        any_end: A path may end anywhere (a partial path).
        confidence: Predictions of less are left out.
        goal_only: It is taken only where its best path ends at a goal.
    """

    any_end: bool = False
    confidence: float = 0.0
    goal_only: bool = False


@dataclass(frozen=True)
class SelectionRule:
    """How an agent selects.

    Attributes:
        start: Key of the node where it is.
        left: Counts of each capped resource that the path may use.
        stages: What is solved in turn.
        horizon: L under ``left``.
        patience: L is so many times the most moves that can be paid; None: L is fixed.
        discount: In (0, 1].
    """

    start: str
    left: Mapping[str, int]
    stages: tuple[Stage, ...]
    horizon: int
    patience: int | None
    discount: float = 1.0


def stages_of(graph: PlanGraph, *, cautious: bool, partial: bool) -> tuple[Stage, ...]:
    """The stages of :class:`tape.engine.select.SolverSelector` on a graph, and last that of partial paths.

    Args:
        graph: The plan graph.
        cautious: ``TapeConfig.cautious``.
        partial: Whether partial paths are taken.
    """
    doubtful = cautious and any(edge.confidence < CONFIDENCES[0] for edge in graph.usable_edges())
    confident = [Stage(confidence=least, goal_only=True) for least in CONFIDENCES] if doubtful else []
    return (*confident, Stage(), *([Stage(any_end=True)] if partial else []))


@dataclass(frozen=True)
class Pick:
    """A path on the graph, as an answer to one stage.

    Attributes:
        stage: Index of the stage.
        problem: What was solved; its resources have their names.
        moves: The path as edges of the problem.
        path: The path as edge ids of the graph.
        objective: Its objective in the problem.
    """

    stage: int
    problem: PathProblem
    moves: tuple[int, ...]
    path: tuple[int, ...]
    objective: float

    @property
    def cost(self) -> dict[str, int]:
        """What it needs in the worst case, of each capped resource."""
        return dict(zip(self.problem.resources, solvers.consumption_of(self.problem, self.moves), strict=True))


def _outcome(pick: Pick) -> tuple[float, tuple[int, ...], int]:
    """The score of a path's end, what it needs, and its moves: all that people weigh."""
    ends = pick.problem.edges[pick.moves[-1]][1] if pick.moves else pick.problem.start
    score = float(f"{pick.problem.rewards[ends]:.12g}")  # the same sum in another order is the same score
    return score, solvers.consumption_of(pick.problem, pick.moves), len(pick.moves)


class Selections:
    """Answers of one rule on one graph; every problem is solved once."""

    def __init__(self, graph: PlanGraph, rule: SelectionRule) -> None:
        self.graph, self.rule = graph, rule
        self.kinds = sorted(rule.left)
        self._bases: dict[int, tuple[PathProblem, tuple[int, ...]]] = {}
        self._solved: dict[tuple[int, int, tuple[int, ...]], Pick | None] = {}
        self._values: dict[tuple[int, tuple[int, ...], int], float] = {}

    # --- what is picked ---------------------------------------------------------------------

    def pick(self, left: Mapping[str, int] | None = None, horizon: int | None = None) -> Pick | None:
        """What the rule picks with so much left and such a horizon, by default as they were; None: no path fits."""
        budgets = self.rule.left if left is None else left
        horizon = self.horizon(budgets) if horizon is None else horizon
        for number, stage in enumerate(self.rule.stages):
            best = self.best(number, budgets, horizon)
            if best is not None and (not stage.goal_only or self.at_goal(best)):
                return best
        return None

    def placed(self, stage: int, path: Sequence[int]) -> Pick | None:
        """A given path as an answer to a stage under the budgets as they were, kept or not; None if it is no path."""
        problem, ids = self._base(stage)
        index = {number: move for move, number in enumerate(ids)}
        if any(edge not in index for edge in path) or len(path) > problem.steps:
            return None
        moves = tuple(index[edge] for edge in path)
        nodes = (problem.start, *(problem.edges[move][1] for move in moves))
        if any(problem.edges[move][0] != node for move, node in zip(moves, nodes, strict=False)):
            return None
        return Pick(stage, problem, moves, tuple(path), solvers.objective_of(problem, moves))

    def others(self, than: Pick, k: int) -> tuple[list[Pick], int]:
        """The best paths that fit beside a given one of the same stage: none empty, none with a circle.

        Of paths whose ends have the same score, at the same cost, the first stands for all as long as there are
        others.

        Args:
            than: The given path.
            k: How many.

        Returns:
            At most k paths, best first, and how many (of those looked at) are scored as the given one at its cost.
        """
        problem, ids = self._base(than.stage)
        asked = _LOOK * (k + 1)
        while True:
            best_paths = solvers.k_best(problem, asked)
            straight = [
                solution
                for solution in best_paths
                if solution.edges and len(set(solution.nodes)) == len(solution.nodes)
            ]
            picks = [
                Pick(
                    than.stage,
                    problem,
                    solution.edges,
                    tuple(ids[e] for e in solution.edges),
                    solution.objective or 0.0,
                )
                for solution in straight
            ]
            picks = [entry for entry in picks if entry.path != than.path]
            outcomes = {_outcome(than): -1}
            for rank, item in enumerate(picks):
                outcomes.setdefault(_outcome(item), rank)
            if len(outcomes) > k or len(best_paths) < asked or asked >= _MOST_LOOKED_AT:
                break
            asked *= _LOOK
        first = sorted(rank for rank in outcomes.values() if rank >= 0)[:k]
        rest = [rank for rank in range(len(picks)) if rank not in first][: k - len(first)]
        alike = sum(_outcome(entry) == _outcome(than) for entry in picks)
        return [picks[rank] for rank in sorted([*first, *rest])], alike

    def at_goal(self, pick: Pick) -> bool:
        """Whether a path ends at a node scored as a goal."""
        return bool(pick.path) and bool(self.graph.attributes(self.graph.edge(pick.path[-1]).target)["goal"])

    def better(self, pick: Pick | None, than: Pick) -> bool:
        """Whether the rule prefers a path, picked under larger budgets, to one that fits those as they were."""
        if pick is None or pick.stage != than.stage:
            return pick is not None and pick.stage < than.stage
        value = self.value(than, pick.problem.steps)
        return pick.objective > value + _SAME * max(1.0, abs(value))

    def value(self, pick: Pick, horizon: int) -> float:
        """A path's objective with another horizon, no shorter than the path."""
        key = (pick.stage, pick.moves, horizon)
        if key not in self._values:
            self._values[key] = solvers.objective_of(replace(pick.problem, horizon=horizon), pick.moves)
        return self._values[key]

    # --- other budgets ----------------------------------------------------------------------

    def unlimited(self, *kinds: str) -> dict[str, int]:
        """What was left, with so much of some kinds that they rule nothing out."""
        return {kind: self.ample[kind] if kind in kinds else count for kind, count in self.rule.left.items()}

    def explain(self) -> Explanation:
        """Which budgets are short for a complete path, and the least that would do; its resources have their names."""
        complete = max(number for number, stage in enumerate(self.rule.stages) if not stage.any_end)
        problem = self._base(complete)[0]
        # L only says how many moves can be paid, so it is no limit of its own, unless it is fixed.
        free = problem.horizon if self.rule.patience is None else max(1, problem.n_nodes - 1)
        return solvers.explain(replace(problem, horizon=free), MOST_SECONDS)

    def horizon(self, left: Mapping[str, int]) -> int:
        """L with so much left."""
        if self.rule.patience is None:
            return self.rule.horizon
        return self.rule.patience * max(1, self.most_moves(left))

    def most_moves(self, left: Mapping[str, int]) -> int:
        """Most moves of a simple path that can be paid, as :func:`tape.engine.cost.most_moves` has it."""
        paid = [count // self.cheapest[kind] for kind, count in left.items() if self.cheapest[kind] > 0]
        return min([len(self.graph.nodes), *paid])

    # --- within -----------------------------------------------------------------------------

    @cached_property
    def cheapest(self) -> dict[str, int]:
        """The least that any action takes of each resource."""
        edges = self.graph.usable_edges()
        return {kind: min((edge.cost[kind] or 0 for edge in edges), default=0) for kind in self.kinds}

    @cached_property
    def ample(self) -> dict[str, int]:
        """More than any path can use."""
        edges, longest = self.graph.usable_edges(), self.rule.horizon
        if self.rule.patience is not None:
            longest = self.rule.patience * len(self.graph.nodes)
        if self.acyclic:
            longest = min(longest, len(self.graph.nodes))
        dearest = {kind: max((edge.cost[kind] or 0 for edge in edges), default=0) for kind in self.kinds}
        return {kind: max(self.rule.left[kind], longest * dearest[kind]) + 1 for kind in self.kinds}

    @cached_property
    def acyclic(self) -> bool:
        """Whether no path comes back to where it was."""
        plain: Any = nx.DiGraph((edge.source, edge.target) for edge in self.graph.usable_edges())
        return bool(nx.is_directed_acyclic_graph(plain))

    def is_proven(self, pick: Pick | None) -> bool:
        """Whether the checker passes a proof that a pick is the best, or without one that no complete path fits."""
        complete = max(number for number, stage in enumerate(self.rule.stages) if not stage.any_end)
        problem = self._base(complete)[0] if pick is None else pick.problem
        solution, proof = solved_and_proven(problem, MOST_SECONDS)
        if proof is None or (pick is None) == solution.has_path:
            return False
        return pick is None or abs((solution.objective or 0.0) - pick.objective) <= PROVEN * max(
            1.0, abs(pick.objective)
        )

    def _base(self, number: int) -> tuple[PathProblem, tuple[int, ...]]:
        if number not in self._bases:
            rule, stage = self.rule, self.rule.stages[number]
            objective = self.graph.objective
            asked = PathQuery(rule.start, rule.left, rule.horizon, rule.discount, objective, any_end=stage.any_end)
            problem, ids = self.graph.posed(asked, stage.confidence)
            self._bases[number] = replace(problem, resources=self.kinds), ids
        return self._bases[number]

    def best(self, number: int, left: Mapping[str, int], horizon: int) -> Pick | None:
        """The best path of a stage, with steps; None where none fits."""
        key = (number, horizon, tuple(left[kind] for kind in self.kinds))
        if key not in self._solved:
            base, ids = self._base(number)
            problem = replace(base, budgets=key[2], horizon=horizon)
            solution = solvers.solve(problem)
            pick = None
            if solution.has_path and solution.objective is not None:
                path = tuple(ids[edge] for edge in solution.edges)
                pick = Pick(number, problem, solution.edges, path, solution.objective)
            self._solved[key] = pick
        return self._solved[key]
