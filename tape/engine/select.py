"""Selection (TAPE section 3.2; algorithm 1, line 7): from an annotated plan graph to the path that is followed.

A :class:`Selector` picks a path; the default is the solver; ``experiments/ablations`` has others.
:func:`select_path` gives it the remaining budget and logs its selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import solvers
from solvers import PathProblem, PathSolution, Status
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge, PathQuery
from tape.choice.pddl import write_plan
from tape.engine.cost import CallCosts, most_moves, spendable
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.predict import Memory
from tape.errors import BudgetExceededError
from tape.protocols import Action, Plan
from tape.trace import GraphFoldedEvent, PathSelectedEvent

CONFIDENCES = (0.9, 0.5)
"""Least confidences of the predictions on a path, tried in turn before all predictions are admitted."""

_EXAMINED = 8
"""Paths that :func:`best_paths` examines for each path that it returns."""

_STAYS = 100
"""The horizon as a multiple of the most moves, if only the end of a path counts."""


@dataclass(frozen=True)
class Path:
    """A selected path.

    Attributes:
        graph: The plan graph.
        edges: Its edges, in order.
        solution: The solver's report.
        partial: The path does not end at a terminal node.
    """

    graph: PlanGraph
    edges: tuple[Edge, ...]
    solution: PathSolution
    partial: bool = False

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions of its edges."""
        return tuple(edge.action for edge in self.edges)

    def to_plan(self) -> str:
        """The path as a plan for the problem of :meth:`tape.choice.graph.PlanGraph.to_pddl`."""
        return write_plan(self.edges)

    @property
    def at_goal(self) -> bool:
        """Whether the path ends at a node scored as a goal."""
        return bool(self.edges) and bool(self.graph.attributes(self.edges[-1].target)["goal"])


class Selection(NamedTuple):
    """The answer of a selector.

    Attributes:
        solution: The solver's report.
        path: The path as edge ids of the graph.
        problem: The problem that was solved.
        confidence: Edges of less confidence were left out of the problem.
    """

    solution: PathSolution
    path: tuple[int, ...]
    problem: PathProblem
    confidence: float = 0.0


class Selector(Protocol):
    """Chooses a path on the plan graph.

    Attributes:
        name: In traces.
        recombines: Whether its paths may join plans, so that it may select again in the middle of one.
    """

    name: str
    recombines: bool

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Select a path; with ``any_end`` it may end anywhere but at the start."""


class SolverSelector:
    """The best path that keeps every budget, proven by an exact solver.

    Args:
        solver: Its name.
        discount: In (0, 1].
        time_limit: Returns the seconds that the next solve may take, or None.
        cautious: Prefer a path to a goal on which every prediction is confident: a wrong prediction costs steps, and
            most wrong predictions have low confidence.
    """

    recombines = True

    def __init__(
        self,
        solver: str,
        discount: float = 1.0,
        time_limit: Callable[[], float | None] = lambda: None,
        *,
        cautious: bool = False,
    ) -> None:
        self.name, self._discount, self._time_limit = solver, discount, time_limit
        self._cautious = cautious

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Solve, in stages (:func:`stages`)."""
        seconds = 0.0
        asked = PathQuery(start, remaining, horizon, self._discount, graph.objective, any_end=any_end)
        for confidence, problem, ids in stages(graph, asked, cautious=self._cautious):
            solution = solvers.solve(problem, self.name, self._time_limit())
            seconds += solution.seconds
            selection = Selection(solution, tuple(ids[e] for e in solution.edges), problem, confidence)
            if reaches_goal(graph, selection.path):
                break
        return selection._replace(solution=replace(solution, seconds=seconds))


def stages(
    graph: PlanGraph, asked: PathQuery, *, cautious: bool
) -> Iterator[tuple[float, PathProblem, tuple[int, ...]]]:
    """The problems to solve in turn until a path reaches a goal: with confident predictions only, then with all.

    Yields:
        The least confidence, and the result of :meth:`PlanGraph.posed`.
    """
    cautious = cautious and graph.objective != "expect"  # chances count there
    uncertain = any(edge.confidence < CONFIDENCES[0] for edge in graph.usable_edges())
    for confidence in (*CONFIDENCES, 0.0) if cautious and uncertain and not asked.any_end else (0.0,):
        yield confidence, *graph.posed(asked, confidence)


def reaches_goal(graph: PlanGraph, path: Sequence[int]) -> bool:
    """Whether a path of edge ids ends at a node scored as a goal."""
    return bool(path) and bool(graph.attributes(graph.edge(path[-1]).target)["goal"])


async def select_path(
    episode: Episode, selector: Selector, graph: PlanGraph, *, any_end: bool = False, logged: bool = True
) -> Path | None:
    """The path that a selector picks from the current node within the remaining budget; None if provably none fits.

    Raises:
        EpisodeEnded: ``solver_timeout`` or ``solver_error``.
    """
    episode.deadline.require()
    remaining = spendable(episode)
    horizon = _horizon(episode, graph, remaining)
    selection = await selector.select(graph, episode.key(episode.state), remaining, horizon, any_end=any_end)
    solution, problem = selection.solution, selection.problem
    path = Path(graph, tuple(graph.edge(number) for number in selection.path), solution, any_end)
    nodes = [episode.key(episode.state), *(edge.target for edge in path.edges)]
    assert [edge.source for edge in path.edges] == nodes[:-1], "a path goes on from the current state"
    episode.result.solver_seconds += solution.seconds
    if logged:
        size = {"nodes": problem.n_nodes, "edges": len(problem.edges), "horizon": problem.horizon, "budget": remaining}
        expected = {"expected": True} if episode.config.costs == "expected" else {}
        log_selected(episode, selector.name, path, size | {"confidence": selection.confidence} | expected)
    if solution.has_path:
        return path
    if solution.status is Status.INFEASIBLE:
        return None
    raise given_up(episode, solution.status, solution.message)


def best_paths(episode: Episode, graph: PlanGraph, k: int) -> list[Path]:
    """The k best paths with a step and without a circle, best first.

    A path with a circle uses no less than the same path without it. Only the best `_EXAMINED` * k paths are examined,
    so some may be missed.
    """
    episode.deadline.require()
    remaining, discount = spendable(episode), episode.config.ablations.discount
    horizon = _horizon(episode, graph, remaining)
    start = episode.key(episode.state)
    problem, ids = graph.path_problem(start, remaining, horizon, discount, objective=graph.objective)
    best = solvers.k_best(problem, _EXAMINED * k, episode.config.solver, episode.deadline.left())
    episode.result.solver_seconds += best.seconds
    if not best.solutions and best.status is not Status.INFEASIBLE:
        raise given_up(episode, best.status, best.message)
    straight = [solution for solution in best if solution.edges and len(set(solution.nodes)) == len(solution.nodes)]
    return [Path(graph, tuple(graph.edge(ids[e]) for e in solution.edges), solution) for solution in straight[:k]]


def try_unknown(
    episode: Episode, graph: PlanGraph, plans: Sequence[Plan], memory: Memory, calls: CallCosts
) -> Path | None:
    """A path of one step of unknown outcome: the most sampled first action that was not yet tried here."""
    start = episode.key(episode.state)
    tried = {action for before, action, _ in memory.transitions if episode.key(before) == start} | {*episode.refused}
    votes = Counter(plan.actions[0] for plan in plans if plan.actions and plan.actions[0] not in tried)
    return unknown_step(episode, graph, *votes.most_common(1)[0], calls) if votes else None


def unknown_step(episode: Episode, graph: PlanGraph, action: Action, votes: int, calls: CallCosts) -> Path | None:
    """A path of one step whose outcome is not predicted, which is added to the graph; None if it does not fit."""
    remaining = spendable(episode)
    cost = episode.env.domain.cost(episode.state, action) + calls.of(episode.state, remaining, [action])
    if any((cost[kind] or 0) > left for kind, left in remaining.items()):
        return None
    start = episode.key(episode.state)
    edge = graph.add_unknown(start, action, votes)
    graph.set_cost(edge.id, cost)
    episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
    solution = PathSolution(Status.FEASIBLE, solver="probe", message="no plan leads on; its outcome is not predicted")
    path = Path(graph, (edge,), solution, partial=True)
    log_selected(episode, "probe", path, {})
    return path


def log_selected(episode: Episode, selector: str, path: Path, problem: Mapping[str, Any]) -> None:
    """Log a selection; a path without edges stands for none."""
    start, solution = episode.key(episode.state), path.solution
    goes_on = solution.has_path or bool(path.edges)
    episode.trace.write(
        PathSelectedEvent(
            selector=selector,
            status=str(solution.status.value),
            partial=path.partial,
            actions=[*path.actions],
            nodes=[start, *(edge.target for edge in path.edges)] if goes_on else [],
            objective=solution.objective,
            bound=solution.bound,
            consumption=dict(zip(sorted(episode.remaining()), solution.consumption, strict=False)),
            problem=dict(problem),
            seconds=solution.seconds,
        )
    )


def _horizon(episode: Episode, graph: PlanGraph, remaining: Mapping[str, int]) -> int:
    """L: the rest of the configured horizon, else enough moves for any affordable simple path."""
    if episode.config.horizon is not None:
        return episode.config.horizon - episode.result.steps
    # A path stays at its end until L: with a long L one more move on the way hardly reduces the reward of an end.
    return max(1, most_moves(graph, remaining)) * (_STAYS if episode.env.domain.outcomes else 1)


def given_up(episode: Episode, status: Status, message: str) -> EpisodeEnded | BudgetExceededError:
    """The exception that ends an episode if the solver has neither a path nor a proof."""
    if status is Status.TIMEOUT and episode.deadline.is_set:  # the only limit on a solver's time
        return episode.deadline.error()
    timeout = status is Status.TIMEOUT
    why = message or f"{episode.config.solver} has found neither a path nor a proof{' in time' if timeout else ''}"
    return EpisodeEnded("solver_timeout" if timeout else "solver_error", why)
