"""C_theta by the model (``costs="lm"``): what actions use, between nothing and their declared worst case."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tape.budget import Resources, in_units
from tape.engine.context import RoleContext
from tape.lm.base import Choice, Request
from tape.protocols import Action, State
from tape.protocols.prompt_format import option_values

COST_ROLE = "cost"

_LEVELS = 8
"""Steps from nothing to the declared worst case in which a cost is predicted."""


class LmCostModel:
    """C_theta: predicted costs of actions; each (state, action) once per episode.

    One request asks about one resource and offers amounts from nothing to the declared worst case, so no prediction is
    out of bounds. The prediction is the expected amount (``c_theta(e)`` of TAPE section 3.1), rounded up; a backend
    without probabilities gives one amount.

    Args:
        context: The episode's model and prompts; the prompt format must support ``ask``.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Action, str], int] = {}

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
        request = Request(self._context.ask(state, ask), 16, constraint=Choice(tuple(amounts)), role=COST_ROLE)
        return request, amounts
