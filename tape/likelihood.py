"""How likely it is that what a plan assumes is so: a plan graph's nodes beyond an assumption are worth that much less.

A plan in a partially observable household may rest on where nobody has looked. Without this, the shortest walk would
be chosen however unlikely its assumption; with it, the expected number of steps left at the goal decides [ours].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from tape.graph import PlanGraph
from tape.lm.base import Request
from tape.lm.dialect import Dialect, option_values
from tape.predicates import AssumingDomain, Predicate
from tape.protocols import Action, State
from tape.roles.context import RoleContext

Walk: TypeAlias = tuple[Sequence[Action], Sequence[str]]
"""A plan's actions and the keys of the nodes that it passes, one more than actions."""


@runtime_checkable
class WeighingDialect(Dialect, Protocol):
    """A dialect in which the model can say how likely assumptions are; optional."""

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Mapping[str, Predicate]]]:
        """Questions with a :class:`tape.lm.base.Choice`, and the predicate that each option says is true."""


class Likelihood:
    """Weighs the assumptions of plans; each once per observed state.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Predicate], float] = {}

    async def weigh(
        self, graph: PlanGraph, start: State, walks: Sequence[tuple[Sequence[Action], Sequence[str]]]
    ) -> None:
        """Put on every node of some walks how likely what they assume up to there is.

        Args:
            graph: The plan graph.
            start: The state from which the walks go.
            walks: Of plans from there.

        Nothing happens in a domain without assumptions, or where the model cannot be asked about them.
        """
        domain, dialect = self._context.domain, self._context.dialect
        if not isinstance(domain, AssumingDomain) or not isinstance(dialect, WeighingDialect):
            return
        assumed = [domain.assumptions(start, actions) for actions, _ in walks]
        likely = await self._ask(dialect, start, [p for predicates in assumed for p in predicates])
        for (actions, nodes), predicates in zip(walks, assumed, strict=True):
            if not predicates:
                continue
            for i, node in enumerate(nodes[1:], 1):
                so_far = domain.assumptions(start, actions[:i])
                chance = 1.0
                for predicate in so_far:
                    chance *= likely.get(predicate, 1.0)
                graph.set_likelihood(node, chance)

    async def _ask(
        self, dialect: WeighingDialect, state: State, predicates: Sequence[Predicate]
    ) -> dict[Predicate, float]:
        key = self._context.domain.key(state)
        fresh = [p for p in dict.fromkeys(predicates) if (key, p) not in self._known]
        asked = dialect.weigh_requests(state, fresh) if fresh else []
        answers = await self._context.lm.score_options([request for request, _ in asked])
        for (request, says), (weights, _) in zip(asked, answers, strict=True):
            numbered = {option: float(i) for i, option in enumerate(says)}
            for weight, number in zip(weights, option_values(request, numbered), strict=True):
                self._known[key, list(says.values())[int(number)]] = weight
        return {p: self._known[key, p] for p in predicates if (key, p) in self._known}
