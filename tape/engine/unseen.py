"""What plans assume about unseen things, in partially observable domains [ours].

The environment proposes assumptions and computes their likelihood (:class:`tape.protocols.hooks.EpisodeHooks`); this
file asks the model for its beliefs. Other domains are not affected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tape.choice.graph import PlanGraph
from tape.engine.context import RoleContext
from tape.protocols import Action, State
from tape.protocols.hooks import EpisodeHooks
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import option_values

_EVEN = 0.05
"""Share of every answer that is spread evenly over the options, so that no option gets probability 0."""

FoldedPlan: TypeAlias = tuple[Sequence[Action], Sequence[str]]
"""A plan's actions and the keys of the nodes that it passes, one more than actions."""


class Weigher:
    """Asks the model how likely predicates are; once per predicate and state."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Predicate], float] = {}

    async def weigh(self, state: State, predicates: Sequence[Predicate]) -> dict[Predicate, float]:
        """The probability of each predicate for which the prompt format has a question."""
        key = self._context.domain.key(state)
        fresh = [p for p in dict.fromkeys(predicates) if (key, p) not in self._known]
        asked = self._context.prompt_format.weigh_requests(state, fresh) if fresh else ()
        answers = await self._context.lm.score_options([request for request, _ in asked])
        for (request, affirms), (weights, _) in zip(asked, answers, strict=True):
            even = 1 / len(weights)  # an unreadable answer has no weights
            share = _EVEN if any(weights) else 1.0
            numbered = {option: float(i) for i, option in enumerate(affirms)}
            for weight, number in zip(weights, option_values(request, numbered), strict=True):
                self._known[key, list(affirms.values())[int(number)]] = (1 - share) * weight + share * even
        return {p: self._known[key, p] for p in predicates if (key, p) in self._known}


async def weigh_assumptions(
    graph: PlanGraph, hooks: EpisodeHooks, weigher: Weigher, start: State, paths: Sequence[FoldedPlan]
) -> None:
    """Put on every node of some paths from a state how likely their assumptions up to there are."""
    if not hooks.unseen:
        return
    plans = [(actions, [graph.state(node) for node in nodes[1:]]) for actions, nodes in paths]
    likely = await hooks.likelihood(weigher.weigh, start, plans)
    # The start may itself be a predicted state that depends on assumptions.
    certain = graph.attributes(paths[0][1][0]).get("likelihood", 1.0)
    for (_, nodes), along in zip(paths, likely, strict=True):
        for node, chance in zip(nodes[1:], along, strict=True):
            graph.set_likelihood(node, certain * chance)
