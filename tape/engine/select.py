"""From an annotated plan graph to the path that is followed (TAPE section 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import solvers
from solvers import PathSolution, Status
from tape.budget import Resources, in_units
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.graph import Edge, PlanGraph
from tape.engine.memory import Memory
from tape.engine.selector import Selector
from tape.errors import BudgetExceededError
from tape.protocols import Action, Plan, State
from tape.trace import GraphFoldedEvent, PathSelectedEvent

_LOOK = 8
"""How many paths are looked at for each that is asked for."""

_PATIENCE = 100
"""How many times the most moves the horizon is where only the end of a path counts."""


@dataclass(frozen=True)
class SelectedPath:
    """A selected path.

    Attributes:
        graph: The plan graph.
        path: Its edges, in order.
        solution: The solver's report.
        partial: The path does not end at a terminal node.
    """

    graph: PlanGraph
    path: tuple[Edge, ...]
    solution: PathSolution
    partial: bool

    @property
    def at_goal(self) -> bool:
        """Whether the path ends at a node scored as a goal."""
        return bool(self.path) and bool(self.graph.attributes(self.path[-1].target)["goal"])


class PathSelection:
    """Asks the selector for paths and logs what it answers.

    Args:
        episode: The episode.
        selector: Picks the path.
        call_cost: The actor's own worst case in a state, with the rest of the path.
        builder: Says while a graph grows whether it holds enough; by default the selector. With a builder of its own
            a selector finds the graph that the builder would have selected on, and is asked once that is complete.
    """

    def __init__(
        self,
        episode: Episode,
        selector: Selector,
        call_cost: Callable[[State, Mapping[str, int], Sequence[Action]], Resources],
        builder: Selector | None = None,
    ) -> None:
        self._episode, self._selector, self._call_cost = episode, selector, call_cost
        self._builder = builder or selector

    def remaining(self) -> dict[str, int]:
        """What the selector may spend: the ledger's rest minus the reserve for planning.

        Raises:
            EpisodeEnded: Nothing but the reserve is left.
        """
        reserve = self._episode.config.planning_reserve
        spendable = {kind: left - reserve.get(kind, 0) for kind, left in self._episode.remaining().items()}
        for kind, left in spendable.items():
            if left < 0:
                raise EpisodeEnded(
                    f"budget:{kind}", f"{kind}: only the planning reserve of {in_units(kind, reserve[kind])} is left"
                )
        return spendable

    async def best_so_far(self, graph: PlanGraph) -> SelectedPath | None:
        """The builder's path on a graph that may still grow; None where none fits. Raises as :meth:`select`."""
        return await self._ask(self._builder, graph, told=self._builder is self._selector)

    async def settle(self, graph: PlanGraph, best: SelectedPath | None) -> SelectedPath | None:
        """The path that is followed on a complete graph, given the builder's. Raises as :meth:`select`."""
        return best if self._builder is self._selector else await self.select(graph)

    async def select(self, graph: PlanGraph, *, any_end: bool = False) -> SelectedPath | None:
        """Select a path; None where there provably is none.

        Raises:
            EpisodeEnded: ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: The episode's time is up, or a selector's call does not fit.
        """
        return await self._ask(self._selector, graph, any_end=any_end)

    async def _ask(
        self, selector: Selector, graph: PlanGraph, *, any_end: bool = False, told: bool = True
    ) -> SelectedPath | None:
        """Ask a selector, and log what it answers if that is to be told."""
        episode = self._episode
        episode.deadline.require()
        start = episode.key(episode.state)
        remaining = self.remaining()
        horizon = self._horizon(graph, remaining)
        found = await selector.select(graph, start, remaining, horizon, any_end=any_end)
        solution, ids, problem, confidence = found
        path = tuple(graph.edge(number) for number in ids)
        episode.result.solver_seconds += solution.seconds
        size = {"nodes": problem.n_nodes, "edges": len(problem.edges), "horizon": problem.horizon, "budget": remaining}
        if told:
            self.report(selector.name, solution, path, partial=any_end, problem=size | {"confidence": confidence})
        if solution.has_walk:
            return SelectedPath(graph, path, solution, any_end)
        if solution.status is Status.INFEASIBLE:
            return None
        raise self._given_up(solution.status, solution.message)

    def best(self, graph: PlanGraph, k: int) -> list[SelectedPath]:
        """The k best paths with a step and without a circle, best first.

        A path that comes back to where it was needs no less than the same path without that. No more than `_LOOK` * k
        paths are looked at, so there may be fewer than there are.

        Raises:
            EpisodeEnded: ``solver_timeout`` or ``solver_error``.
            BudgetExceededError: The episode's time is up.
        """
        episode = self._episode
        episode.deadline.require()
        start, remaining = episode.key(episode.state), self.remaining()
        horizon, discount = self._horizon(graph, remaining), episode.config.discount
        problem, ids = graph.path_problem(start, remaining, horizon, discount, objective=graph.objective)
        found = solvers.k_best(problem, _LOOK * k, episode.config.solver, episode.deadline.left())
        episode.result.solver_seconds += found.seconds
        if not found.solutions and found.status is not Status.INFEASIBLE:
            raise self._given_up(found.status, found.message)
        straight = [one for one in found if one.edges and len(set(one.nodes)) == len(one.nodes)]
        return [SelectedPath(graph, tuple(graph.edge(ids[e]) for e in one.edges), one, False) for one in straight[:k]]

    def _given_up(self, status: Status, message: str) -> EpisodeEnded | BudgetExceededError:
        """What ends the episode where the solver has neither a path nor a proof."""
        if status is Status.TIMEOUT and self._episode.deadline.is_set:  # the only limit on a solver's time
            return self._episode.deadline.error()
        return EpisodeEnded("solver_timeout" if status is Status.TIMEOUT else "solver_error", message)

    def probe(self, graph: PlanGraph, plans: Sequence[Plan], memory: Memory) -> SelectedPath | None:
        """A path of one step whose outcome is unknown, by the most sampled first action not yet tried here.

        Args:
            graph: The plan graph; gets the step as an edge.
            plans: The plans sampled from the current state.
            memory: What was tried.
        """
        episode, key = self._episode, self._episode.key
        start = key(episode.state)
        tried = {action for before, action, _ in memory.transitions if key(before) == start} | {*episode.refused}
        votes = Counter(plan.actions[0] for plan in plans if plan.actions and plan.actions[0] not in tried)
        if not votes:
            return None
        [(action, count)] = votes.most_common(1)
        remaining = self.remaining()
        cost = episode.env.domain.cost(episode.state, action) + self._call_cost(episode.state, remaining, [action])
        if any((cost[kind] or 0) > left for kind, left in remaining.items()):
            return None
        edge = graph.add_unknown(start, action, count)
        graph.set_cost(edge.id, cost)
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        solution = PathSolution(Status.FEASIBLE, solver="probe", message="predicted to be invalid; tried all the same")
        self.report("probe", solution, (edge,), partial=True, problem={})
        return SelectedPath(graph, (edge,), solution, partial=True)

    def report(
        self,
        selector: str,
        solution: PathSolution,
        path: tuple[Edge, ...],
        *,
        partial: bool,
        problem: dict[str, object],
    ) -> None:
        """Log what was selected."""
        episode = self._episode
        start = episode.key(episode.state)
        found = solution.has_walk or bool(path)
        episode.trace.write(
            PathSelectedEvent(
                selector=selector,
                status=str(solution.status.value),
                partial=partial,
                actions=[edge.action for edge in path],
                nodes=[start, *(edge.target for edge in path)] if found else [],
                objective=solution.objective,
                bound=solution.bound,
                consumption=dict(zip(sorted(episode.remaining()), solution.consumption, strict=False)),
                problem=problem,
                seconds=solution.seconds,
            )
        )

    def _horizon(self, graph: PlanGraph, remaining: Mapping[str, int]) -> int:
        """L: what is left of the configured horizon, else enough moves for any simple path that can be paid."""
        config, steps = self._episode.config, self._episode.result.steps
        most = max(1, most_moves(graph, remaining))
        if config.horizon is not None:
            return config.horizon - steps
        # A path stays at its end until L: with a long L one move more costs next to nothing of what an end is worth.
        return most * (_PATIENCE if self._episode.env.domain.outcomes else 1)


def most_moves(graph: PlanGraph, remaining: Mapping[str, int]) -> int:
    """Most moves of a simple path that the remaining budget can pay."""
    moves = len(graph.nodes)
    edges = graph.usable_edges()
    for kind, left in remaining.items():
        cheapest = min((edge.cost[kind] or 0 for edge in edges), default=0)
        if cheapest > 0:
            moves = min(moves, left // cheapest)
    return moves
