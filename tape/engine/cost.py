"""The costs of a plan graph's edges, and the budget left to pay for them (TAPE section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from tape.budget import Budget, Ledger, Resources, in_units
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.project import LmProjector
from tape.lm.price import FREE
from tape.protocols import Action, PlannedActor, State

PAID = {"calls", "tokens", "usd"}
"""The resource kinds that model calls use."""

SPARE = "planning"
"""The name of the ledger of what the path in hand leaves over."""


class Costs:
    """What plans count with: here the declared worst case of every step, so a path that is selected can be paid for.

    A subclass may count with less. Every step must still fit at its worst case when it is its turn.
    """

    counted: ClassVar[str] = ""
    """What a least cap rests on where it is not the worst case of every step."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def price(self, graph: PlanGraph) -> None:
        """Replace the worst cases of actions on a graph; model calls keep theirs.

        Raises:
            BudgetExceededError: Asking for costs does not fit; every edge then has its worst case.
        """

    def overdrawn(self, rest: Sequence[Edge], *, begun: bool, partial: bool) -> bool:
        """Whether a path must be abandoned because costs were counted too low.

        Args:
            rest: What is left of it.
            begun: Whether a step of it was taken.
            partial: Whether it ends short of where a path is to end.
        """
        del rest, begun, partial
        return False


def overdrawn(episode: Episode, rest: Sequence[Edge], *, begun: bool) -> bool:
    """Whether what is left pays neither for the next action at its worst nor, on a begun path, for the counted rest.

    A whole path is not checked here, because the selector decides about it, and not all selectors keep budgets.
    """
    if not episode.config.ablations.replan:
        return False
    worst = episode.env.domain.cost(episode.state, rest[0].action)
    return any(
        (worst[kind] or 0) > count or (begun and sum(edge.cost[kind] or 0 for edge in rest) > count)
        for kind, count in episode.remaining().items()
    )


class CallCosts:
    """The worst case of the model calls of one step: writing the action, and reading its observation."""

    def __init__(self, episode: Episode, actor: PlannedActor) -> None:
        self._episode, self._actor = episode, actor
        self._projector = LmProjector(episode.roles)

    def of(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The worst case of writing the first action of a plan and of reading its observation."""
        return self.writing(state, remaining, plan) + (self.reading(state, plan[0]) if plan else Resources())

    def writing(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The worst case of the actor's call."""
        return self._actor.worst_case(state, remaining, plan) if self._are_paid() else Resources()

    def reading(self, state: State, action: Action) -> Resources:
        """The worst case of reading the observation after an action."""
        if not self._are_paid():
            return Resources()
        return self._projector.worst_case(state, action)

    def _are_paid(self) -> bool:
        """Whether a cap limits model calls; else their tokens need not be counted."""
        paid = PAID - {"usd"} if self._episode.roles.lm.price == FREE else PAID
        return bool(paid & set(self._episode.remaining()))


async def annotate_edges(graph: PlanGraph, episode: Episode, calls: CallCosts, costs: Costs) -> None:
    """AnnotateGraph: each edge gets its cost, the agent's own calls included.

    Raises:
        BudgetExceededError: Asking for costs does not fit; every edge then has its worst case.
    """
    domain, remaining = episode.env.domain, episode.remaining()
    edges = [*graph.edges()]
    for edge in edges:
        graph.set_cost(edge.id, domain.cost(graph.state(edge.source), edge.action))
    # The actor's prompt has the rest of the path, so it may be as long as the longest affordable path.
    longest = [max((edge.action for edge in edges), key=len, default="")] * most_moves(graph, remaining)
    writing = {e: calls.writing(graph.state(e), remaining, longest) for e in dict.fromkeys(e.source for e in edges)}
    before = {edge.action: graph.state(edge.source) for edge in edges}
    reading = {action: calls.reading(state, action) for action, state in before.items()}
    for edge in graph.edges():
        graph.set_cost(edge.id, edge.cost + writing[edge.source] + reading[edge.action])
    await costs.price(graph)


def most_moves(graph: PlanGraph, remaining: Mapping[str, int]) -> int:
    """Most moves of a simple path that the remaining budget affords."""
    moves = len(graph.nodes)
    edges = graph.usable_edges()
    for kind, left in remaining.items():
        cheapest = min((edge.cost[kind] or 0 for edge in edges), default=0)
        if cheapest > 0:
            moves = min(moves, left // cheapest)
    return moves


def spendable(episode: Episode) -> dict[str, int]:
    """What a path may use: the remaining budget without the reserve for planning.

    Raises:
        EpisodeEnded: Only the reserve is left.
    """
    reserve = episode.config.planning_reserve
    left_by_kind = {kind: left - reserve.get(kind, 0) for kind, left in episode.remaining().items()}
    for kind, left in left_by_kind.items():
        if left < 0:
            raise EpisodeEnded(
                f"budget:{kind}", f"{kind}: only the planning reserve of {in_units(kind, reserve[kind])} is left"
            )
    return left_by_kind


@contextmanager
def within_spare(episode: Episode, path: Sequence[Edge]) -> Iterator[None]:
    """Let model calls use only what a path leaves over, so that the path stays affordable.

    Raises:
        BudgetExceededError: A call does not fit, and was not made. Its ``ledger`` is :data:`SPARE` if the path needs
            what the call would use.
    """
    needs = {kind: sum(edge.cost[kind] or 0 for edge in path) for kind in PAID}
    left = {kind: max(0, count - needs[kind]) for kind, count in spendable(episode).items() if kind in PAID}
    with episode.roles.lm.within(Ledger(Budget(left), episode.ledger, name=SPARE)):
        yield
