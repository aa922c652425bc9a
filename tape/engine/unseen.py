"""What plans assume about things that have not been seen yet, in partially observable domains [ours].

Plans are sampled under hypotheses drawn from the model's own beliefs (:func:`draw_hypotheses`). The reward of a node
beyond an assumption is multiplied by how likely the assumption is (:class:`Likelihood`), so the solver takes the path
with the best expected end and not the shortest one. Domains without such assumptions are not touched.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from tape.engine.context import RoleContext
from tape.engine.graph import PlanGraph
from tape.protocols import Action, State
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import option_values

_DOUBT = 0.05
"""Share of every answer that is spread evenly: models that answer with one option only rule out all others."""

FoldedPlan: TypeAlias = tuple[Sequence[Action], Sequence[str]]
"""A plan's actions and the keys of the nodes that it passes, one more than actions."""


class Weigher:
    """Asks the model how likely predicates are; each once per state."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Predicate], float] = {}

    async def weigh(self, state: State, predicates: Sequence[Predicate]) -> dict[Predicate, float]:
        """The probability of each predicate that the model can be asked about; the others are left out."""
        key = self._context.domain.key(state)
        fresh = [p for p in dict.fromkeys(predicates) if (key, p) not in self._known]
        asked = self._context.prompt_format.weigh_requests(state, fresh) if fresh else ()
        answers = await self._context.lm.score_options([request for request, _ in asked])
        for (request, says), (weights, _) in zip(asked, answers, strict=True):
            even = 1 / len(weights)  # an answer that cannot be read has no weights, and tells nothing
            doubt = _DOUBT if any(weights) else 1.0
            numbered = {option: float(i) for i, option in enumerate(says)}
            for weight, number in zip(weights, option_values(request, numbered), strict=True):
                self._known[key, list(says.values())[int(number)]] = (1 - doubt) * weight + doubt * even
        return {p: self._known[key, p] for p in predicates if (key, p) in self._known}


class Likelihood:
    """Puts on the nodes of a plan graph how likely what the plans assume is."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._weigher = Weigher(context)

    async def weigh(self, graph: PlanGraph, start: State, paths: Sequence[FoldedPlan]) -> None:
        """Put on every node of some paths how likely what they assume up to there is.

        Nothing happens in a domain without assumptions. What the model cannot be asked about counts as certain.
        """
        domain = self._context.domain
        unseen = domain.unseen
        if unseen is None:
            return
        assumed = [unseen.assumptions(start, actions) for actions, _ in paths]
        likely = await self._weigher.weigh(start, [p for predicates in assumed for p in predicates])
        # The start may itself be a predicted state that rests on something.
        certain = graph.attributes(paths[0][1][0]).get("likelihood", 1.0)
        for (actions, nodes), predicates in zip(paths, assumed, strict=True):
            for i, node in enumerate(nodes[1:], 1):
                # What has been looked into by then is part of the state, whether or not it was made use of yet.
                to_come = unseen.assumptions(graph.state(node), actions[i:])
                so_far = [likely.get(predicate, 1.0) for predicate in predicates if predicate not in to_come]
                graph.set_likelihood(node, certain * math.prod(so_far))


async def draw_hypotheses(
    context: RoleContext, weigher: Weigher, state: State, count: int, seed: int
) -> list[State] | None:
    """States with what each of ``count`` plans from a state is to assume.

    Each thing's places are drawn without replacement, by the model's probabilities (Gumbel top-k); things of which the
    same is known are assumed in different places. Where there are too few, they are gone through again.

    Returns:
        None where nothing has to be assumed, or the model cannot be asked.
    """
    source = context.domain.hypotheses
    if source is None:
        return None
    groups = [group for group in source.required(state) if group]
    if not groups:
        return None
    likely = await weigher.weigh(state, [p for group in groups for p in group])
    rng = random.Random(f"suppose:{seed}")
    alike = Counter(tuple(p for p in group if p in likely) for group in groups)
    if () in alike:
        return None
    orders = {group: _order(rng, group, likely) for group in alike}
    return [
        source.hypothesise(state, [p for group, n in alike.items() for p in _turn(orders[group], i, n)])
        for i in range(count)
    ]


def _order(rng: random.Random, group: Sequence[Predicate], likely: dict[Predicate, float]) -> list[Predicate]:
    """A random order in which likelier ones tend to come first."""
    keys = {p: math.log(max(likely[p], 1e-12)) - math.log(-math.log(rng.random() or 1e-12)) for p in group}
    return sorted(group, key=lambda p: (-keys[p], p))


def _turn(order: Sequence[Predicate], turn: int, count: int) -> list[Predicate]:
    """The next ``count`` of an order, which begins again at its end."""
    return [order[(turn * count + k) % len(order)] for k in range(count)]
