"""C_theta by the model: what actions use, ``--ablation cost_model=experiments.ablations.cost_model:LmCosts``."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from experiments.ablations import require_ask
from tape.budget import Resources, in_units
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.engine.context import RoleContext
from tape.engine.cost import Costs, overdrawn
from tape.engine.episode import Episode
from tape.lm.base import OneOf, Request
from tape.protocols import Action, State
from tape.protocols.prompt_format import option_values

COST_ROLE = "cost"

_LEVELS = 8
"""Steps from nothing to the declared worst case in which a cost is predicted."""


class LmCosts(Costs):
    """C_theta: predicted costs of actions, up to their declared worst case; each (state, action) once per episode.

    One request asks about one resource and offers amounts from nothing to the declared worst case, so no prediction is
    out of bounds. The prediction is the expected amount (``c_theta(e)`` of TAPE section 3.1), rounded up; a backend
    without probabilities gives one amount.

    Args:
        episode: Its prompt format must support ``ask``.
    """

    counted = ", by predicted costs"

    @classmethod
    def require(cls, roles: RoleContext) -> None:
        """Refuse prompts without a question about costs."""
        require_ask(roles, COST_ROLE)

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode)
        self._context = episode.roles
        self._known: dict[tuple[str, Action, str], int] = {}

    async def price(self, graph: PlanGraph) -> None:
        """Replace the worst case of actions by their predicted costs.

        An edge whose worst case does not fit can never be executed. It keeps its worst case, so it is never selected.
        """
        domain, remaining = self._context.domain, self._episode.remaining()
        edges = [e for e in graph.edges() if all((e.cost[kind] or 0) <= left for kind, left in remaining.items())]
        predicted = await self.predict([(graph.state(edge.source), edge.action) for edge in edges], remaining.keys())
        for edge, cost in zip(edges, predicted, strict=True):
            worst = domain.cost(graph.state(edge.source), edge.action)
            saved = {kind: (worst[kind] or 0) - (cost[kind] or 0) for kind in remaining}
            now = {kind: count and count - saved.get(kind, 0) for kind, count in edge.cost.items()}
            graph.set_cost(edge.id, Resources(now))

    def overdrawn(self, rest: Sequence[Edge], *, begun: bool, partial: bool) -> bool:
        """Whether the budget left pays neither for the next action at its worst nor for the rest as predicted."""
        del partial
        return overdrawn(self._episode, rest, begun=begun)

    async def predict(self, pairs: Sequence[tuple[State, Action]], kinds: Collection[str]) -> list[Resources]:
        """The predicted use of some kinds by each action; the declared worst case of all other kinds."""
        domain = self._context.domain
        declared = [domain.cost(state, action) for state, action in pairs]
        open_: dict[tuple[str, Action, str], tuple[Request, dict[str, float]]] = {}
        for (state, action), worst in zip(pairs, declared, strict=True):
            for kind in sorted(kinds):
                name = (domain.key(state), action, kind)
                if worst[kind] and name not in self._known:
                    open_[name] = self._request(state, action, kind, worst[kind] or 0)
        distinct = list(dict.fromkeys(request for request, _ in open_.values()))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True))
        for name, (request, amounts) in open_.items():
            weights, _ = answers[request]
            values = option_values(request, amounts)
            if any(weights):
                mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
                self._known[name] = min(math.ceil(round(mean, 6)), int(max(values)))
            else:
                self._context.count_malformed(COST_ROLE, "the answer is none of the options")
                self._known[name] = int(max(values))  # the worst case
        return [
            Resources(
                {
                    kind: self._known.get((domain.key(state), action, kind), count) if kind in kinds else count
                    for kind, count in worst.items()
                }
            )
            for (state, action), worst in zip(pairs, declared, strict=True)
        ]

    def _request(self, state: State, action: Action, kind: str, worst: int) -> tuple[Request, dict[str, float]]:
        """The question, and the count of each of its options."""
        counts = dict.fromkeys(-(-worst * level // _LEVELS) for level in range(_LEVELS + 1))
        amounts = {in_units(kind, count): float(count) for count in counts}
        ask = (
            f"Suppose that this is done now: {action}\nHow much of the resource {kind!r} will it use? It cannot use "
            f"more than {in_units(kind, worst)}. Answer with one of these amounts: {'; '.join(amounts)}."
        )
        request = Request(self._context.ask(state, ask), 16, constraint=OneOf(tuple(amounts)), role=COST_ROLE)
        return request, amounts
