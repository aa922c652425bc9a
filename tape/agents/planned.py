"""Planning without executing: the path, its worst-case cost, alternatives, the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import prod
from typing import Any, Protocol

from solvers import PathProblem, PathSolution, Status
from tape.approval import amounts
from tape.budget import Resources
from tape.choice.frontiers import VALUE, criteria_of, frontier_paths, unlimited
from tape.choice.graph import UNKNOWN, PlanGraph
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.select import Path, best_paths
from tape.errors import BudgetExceededError
from tape.protocols import Action


@dataclass(frozen=True)
class PricedPath:
    """A path that was planned and not executed.

    Attributes:
        path: Its actions, in order.
        cost: Its worst case in units by resource, the agent's own calls to write the actions included; None for an
            unknown amount. With ``costs="expected"`` that cost.
        costs: The cost of each step.
        value: The score of its predicted last state, at most 1; None if that state is unknown. Where steps have
            chances, such as calls of tools of declared quality, it is multiplied by these.
        partial: It ends neither at a goal nor where a plan ends; no complete path fits.
    """

    path: tuple[Action, ...] = ()
    cost: Mapping[str, Decimal | None] = field(default_factory=dict)
    costs: tuple[Mapping[str, Decimal | None], ...] = ()
    value: float | None = None
    partial: bool = False

    @classmethod
    def of(cls, path: Path) -> PricedPath:
        """A selected path with its costs in units."""
        edges = path.edges
        known = bool(edges) and edges[-1].target != UNKNOWN
        value = path.graph.attributes(edges[-1].target)["reward"] if known else None
        if value is not None and path.graph.objective == "expect":
            value *= prod(edge.chance for edge in edges)
        return cls(
            path=path.actions,
            cost=amounts(sum((edge.cost for edge in edges), Resources())),
            costs=tuple(amounts(edge.cost) for edge in edges),
            value=None if value is None else float(value),
            partial=path.partial,
        )


@dataclass(frozen=True)
class Planned(PricedPath):
    """What :meth:`tape.TapeAgent.plan` returns; false if there is no path, or nothing left to do.

    It has the fields of the best path, which are described at :class:`PricedPath`, and those below.

    Attributes:
        alternatives: The next best paths, best first.
        graph: The plan graph; empty if no plan was sampled.
        spent: What planning used, in units.
        left: What is left of every capped resource after planning, in units.
        end_state: The end state of an episode here, for instance ``infeasible``, ``budget:usd`` or ``success``; empty
            if there is a path.
        detail: The end state in one or two sentences.
        explanation: If no path fits, the binding budget and the caps that would suffice
            (:attr:`tape.EpisodeResult.explanation`).
        start: Key of the node of the graph where the path begins.
        caps: Counts of every capped resource that were left after planning.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import TapeAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> planned = TapeAgent("bundled:nano").plan(env)
        >>> print(*planned.path, planned.cost["steps"], planned.left["steps"])
        L L L U L D 6 8
    """

    alternatives: tuple[PricedPath, ...] = ()
    graph: PlanGraph = field(default_factory=PlanGraph)
    spent: Mapping[str, Decimal | None] = field(default_factory=dict)
    left: Mapping[str, Decimal | None] = field(default_factory=dict)
    end_state: str = ""
    detail: str = ""
    explanation: Mapping[str, Any] | None = None
    start: str = field(default="", repr=False)
    caps: Mapping[str, int] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.path)

    def frontier(self, *criteria: str, epsilon: float = 0.0) -> tuple[PricedPath, ...]:
        """The complete paths of the graph of which no other is as good in all criteria and better in one.

        Args:
            criteria: Resources, less of which is better, and ``"value"``, the score of the end; by default dollars and
                value. What is left of these resources is no limit here, what is left of the others is.
            epsilon: As for `tape.select`; needed for more than three criteria.

        Returns:
            The paths, the best in the first criterion first; none where nothing was sampled.

        Raises:
            ConfigError: A criterion is malformed or no action costs it, or there are more than 1,000 paths.
            GraphError: A cost is unknown under a cap.
        """
        edges = self.graph.usable_edges()
        kinds = {kind for edge in edges for kind in edge.cost}
        known = sorted(kind for kind in kinds if all(edge.cost[kind] is not None for edge in edges))
        names = criteria_of(criteria or ("usd", VALUE), epsilon, known, valued=True) if edges else ()
        if not names or not self.graph.terminals(self.start):
            return ()
        nodes = len(self.graph.nodes)
        problem, ids = self.graph.path_problem(self.start, self.caps, nodes, objective=self.graph.objective)
        taken = [self.graph.edge(number) for number in ids]
        if problem.objective == "stay":
            problem = _by_end(problem)
        free = len(problem.edges) - len(ids)
        rows = {name: [*(edge.cost[name] or 0 for edge in taken), *[0] * free] for name in names if name != VALUE}
        frontier = frontier_paths(unlimited(problem, rows, lambda _: nodes + 1), names, epsilon)
        all_numbers = [path.edges for path in frontier]
        paths = (tuple(taken[move] for move in moves if move < len(ids)) for moves in all_numbers)
        return tuple(PricedPath.of(Path(self.graph, path, PathSolution(Status.OPTIMAL))) for path in paths if path)


def _by_end(problem: PathProblem) -> PathProblem:
    """The problem in which a path earns the reward of its end once: by an edge from there to one more node."""
    ends = [(terminal, problem.n_nodes) for terminal in problem.terminals]
    return replace(
        problem,
        n_nodes=problem.n_nodes + 1,
        edges=[*problem.edges, *ends],
        costs=[*problem.costs, *[[0] * len(problem.budgets)] * len(ends)],
        rewards=[0.0] * (problem.n_nodes + 1),
        edge_rewards=[*[0.0] * len(problem.edges), *(problem.rewards[terminal] for terminal in problem.terminals)],
        terminals=[problem.n_nodes],
        objective="visit",
        discount=1.0,
    )


class RoundPlanner(Protocol):
    """What plans a round."""

    graph: PlanGraph

    async def plan(self) -> Path:
        """The path to follow; without one the episode ends."""


class OneRound:
    """One round of planning in an episode, without executing anything, with at most so many alternatives."""

    def __init__(self, planner_of: Callable[[Episode], RoundPlanner], alternatives: int) -> None:
        self._planner_of, self._most = planner_of, alternatives
        self._graph = PlanGraph()
        self._best: Path | None = None
        self._others: Sequence[Path] = ()

    async def play(self, episode: Episode) -> None:
        """Plan.

        Raises:
            EpisodeEnded: There is no path; never as a limit at which a final answer is asked for.
        """
        planner = self._planner_of(episode)
        try:
            self._best = await planner.plan()
            self._others = _next_best(episode, self._best, self._most)
        except EpisodeEnded as end:
            end.limit = False
            raise
        except BudgetExceededError as error:
            over = EpisodeEnded(f"budget:{error.kind}", str(error))
            over.limit = False
            raise over from error
        finally:
            self._graph = planner.graph

    def planned(self, episode: Episode) -> Planned:
        """The result of the round."""
        result, best, reserve = episode.result, self._best, episode.config.planning_reserve
        path = PricedPath() if best is None else PricedPath.of(best)
        return Planned(
            **vars(path),
            alternatives=tuple(map(PricedPath.of, self._others)),
            graph=self._graph,
            spent=amounts(episode.ledger.used),
            left=amounts(episode.remaining()),
            end_state=result.end_state if best is None else "",
            detail=result.detail if best is None else "",
            explanation=result.explanation if best is None else None,
            start=episode.key(episode.state) if self._graph.nodes else "",
            caps={kind: max(0, left - reserve.get(kind, 0)) for kind, left in episode.remaining().items()},
        )


def _next_best(episode: Episode, best: Path, k: int) -> list[Path]:
    """At most k paths after the best one; none after a partial one."""
    if k == 0 or best.partial:
        return []
    mine = [edge.id for edge in best.edges]
    paths = best_paths(episode, best.graph, k + 1)
    return [other for other in paths if [edge.id for edge in other.edges] != mine][:k]
