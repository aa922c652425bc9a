"""The costs of a plan graph's edges, and the budget left to pay for them (TAPE section 3.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from tape.budget import Budget, Ledger, Resources, in_units
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.forecast import Forecaster
from tape.engine.graph import PlanGraph
from tape.engine.graph_problem import Edge
from tape.engine.project import LmProjector
from tape.lm.price import FREE
from tape.protocols import Action, PlannedActor, State

PAID = {"calls", "tokens", "usd"}
"""The resource kinds that model calls use."""

SPARE = "planning"
"""The name of the ledger of what the path in hand leaves over."""


class CostModel(Protocol):
    """C_theta: predicts what actions use."""

    async def predict(self, pairs: Sequence[tuple[State, Action]], kinds: Collection[str]) -> list[Resources]:
        """The predicted use of some kinds by each action; the declared worst case of all other kinds."""


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
        merger = self._episode.merger
        merging = Resources() if merger is None else merger.worst_case(state)
        return self._projector.worst_case(state, action) + merging

    def _are_paid(self) -> bool:
        """Whether a cap limits model calls; else their tokens need not be counted."""
        paid = PAID - {"usd"} if self._episode.roles.lm.price == FREE else PAID
        return bool(paid & set(self._episode.remaining()))


async def annotate_edges(
    graph: PlanGraph,
    episode: Episode,
    calls: CallCosts,
    predicted: CostModel | None,
    forecaster: Forecaster | None = None,
) -> None:
    """AnnotateGraph: each edge gets its worst case, its mean or its predicted cost, the agent's own calls included.

    Raises:
        BudgetExceededError: The request for predictions does not fit; every edge then has its worst case.
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
    if predicted is not None:
        await _predict(graph, episode, predicted)
    if forecaster is not None:
        forecaster.price(graph)


async def _predict(graph: PlanGraph, episode: Episode, model: CostModel) -> None:
    """Replace the worst case of actions by their predicted costs; model calls keep their worst case.

    An edge whose worst case does not fit can never be executed. It keeps its worst case, so it is never selected.
    """
    domain, remaining = episode.env.domain, episode.remaining()
    edges = [e for e in graph.edges() if all((e.cost[kind] or 0) <= left for kind, left in remaining.items())]
    predicted = await model.predict([(graph.state(edge.source), edge.action) for edge in edges], remaining.keys())
    for edge, cost in zip(edges, predicted, strict=True):
        worst = domain.cost(graph.state(edge.source), edge.action)
        saved = {kind: (worst[kind] or 0) - (cost[kind] or 0) for kind in remaining}
        now = {kind: count and count - saved.get(kind, 0) for kind, count in edge.cost.items()}
        graph.set_cost(edge.id, Resources(now))


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
    found = {kind: left - reserve.get(kind, 0) for kind, left in episode.remaining().items()}
    for kind, left in found.items():
        if left < 0:
            raise EpisodeEnded(
                f"budget:{kind}", f"{kind}: only the planning reserve of {in_units(kind, reserve[kind])} is left"
            )
    return found


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
