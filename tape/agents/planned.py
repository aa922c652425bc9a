"""What planning without executing comes to: the path, what it may cost, the next best ones, the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tape.budget import Resources
from tape.engine.approval import amounts
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.graph import UNKNOWN, PlanGraph
from tape.engine.loop import Planner
from tape.engine.select import SelectedPath
from tape.errors import BudgetExceededError
from tape.protocols import Action


@dataclass(frozen=True)
class PlannedPath:
    """A path that was planned and not executed.

    Attributes:
        path: Its actions, in order.
        cost: The worst case of all of it in units by resource, the agent's own calls to write the actions included;
            None for an amount that nobody knows. With ``costs="lm"`` what the model predicts of it.
        costs: The same of each step.
        value: The score of the state that it is predicted to end in, at most 1; None where nobody predicts it.
        partial: It ends neither at a goal nor where a plan ends: the best that can be done, and not enough.
    """

    path: tuple[Action, ...] = ()
    cost: Mapping[str, Decimal | None] = field(default_factory=dict)
    costs: tuple[Mapping[str, Decimal | None], ...] = ()
    value: float | None = None
    partial: bool = False

    @classmethod
    def of(cls, selected: SelectedPath) -> PlannedPath:
        """A path as the selector gave it."""
        edges = selected.path
        known = bool(edges) and edges[-1].target != UNKNOWN
        value = selected.graph.attributes(edges[-1].target)["reward"] if known else None
        return cls(
            path=tuple(edge.action for edge in edges),
            cost=amounts(sum((edge.cost for edge in edges), Resources())),
            costs=tuple(amounts(edge.cost) for edge in edges),
            value=None if value is None else float(value),
            partial=selected.partial,
        )


@dataclass(frozen=True)
class Planned(PlannedPath):
    """What one round of planning came to; false where there is no path, or nothing left to do.

    Attributes:
        alternatives: The next best paths, best first.
        graph: The plan graph; empty where not even a plan was sampled.
        spent: What planning itself used, in units.
        left: What is left of every capped resource after planning, in units.
        end_state: How an episode would end here: ``infeasible``, ``budget:usd``, ``success`` where nothing is to be
            done, ...; empty where there is a path.
        detail: One or two sentences on that.
        explanation: Where no path fits: which budget binds and the least that would do, as in
            :attr:`tape.EpisodeResult.explanation`.
    """

    alternatives: tuple[PlannedPath, ...] = ()
    graph: PlanGraph = field(default_factory=PlanGraph)
    spent: Mapping[str, Decimal | None] = field(default_factory=dict)
    left: Mapping[str, Decimal | None] = field(default_factory=dict)
    end_state: str = ""
    detail: str = ""
    explanation: Mapping[str, Any] | None = None

    def __bool__(self) -> bool:
        return bool(self.path)


class Planning:
    """One round of planning in an episode that has begun.

    Args:
        episode: The episode.
        alternatives: How many of the next best paths to look for.
    """

    def __init__(self, episode: Episode, alternatives: int) -> None:
        self._episode, self._most = episode, alternatives
        self._graph = PlanGraph()
        self._selected: SelectedPath | None = None
        self._others: Sequence[SelectedPath] = ()

    async def run(self, planner: Planner) -> None:
        """Plan.

        Raises:
            EpisodeEnded: There is no path; never as a limit at which a final answer is asked for.
        """
        try:
            self._selected = await planner.plan()
            self._others = planner.next_best(self._selected, self._most)
        except EpisodeEnded as end:
            end.limit = False
            raise
        except BudgetExceededError as error:
            over = EpisodeEnded(f"budget:{error.kind}", str(error))
            over.limit = False
            raise over from error
        finally:
            self._graph = planner.graph

    def planned(self) -> Planned:
        """What it came to."""
        ledger, result = self._episode.ledger, self._episode.result
        best = PlannedPath() if self._selected is None else PlannedPath.of(self._selected)
        found = self._selected is not None
        return Planned(
            path=best.path,
            cost=best.cost,
            costs=best.costs,
            value=best.value,
            partial=best.partial,
            alternatives=tuple(map(PlannedPath.of, self._others)),
            graph=self._graph,
            spent=amounts(ledger.used),
            left=amounts(self._episode.remaining()),
            end_state="" if found else result.end_state,
            detail="" if found else result.detail,
            explanation=None if found else result.explanation,
        )
