"""What plans suppose where nobody has looked: drawn from the model's own beliefs, each plan's another [ours]."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

from tape.likelihood import Weigher, WeighingDialect
from tape.predicates import Predicate, SupposingDomain
from tape.protocols import State
from tape.roles.context import RoleContext


class Suppositions:
    """Draws what each of several plans from a state is to suppose.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._domain = context.domain
        self._dialect = context.dialect
        self._weigher = Weigher(context)

    async def draw(self, state: State, count: int, seed: int) -> list[State] | None:
        """States with what ``count`` plans suppose; None where nothing has to be supposed, or nobody can say what.

        Each thing's places are drawn without replacement, by the model's probabilities (Gumbel top-k); things of which
        the same is known are supposed in different places. Where there are too few, they are gone through again.
        """
        if not isinstance(self._domain, SupposingDomain) or not isinstance(self._dialect, WeighingDialect):
            return None
        groups = [group for group in self._domain.needed(state) if group]
        if not groups:
            return None
        likely = await self._weigher.weigh(state, [p for group in groups for p in group])
        rng = random.Random(f"suppose:{seed}")
        alike = Counter(tuple(p for p in group if p in likely) for group in groups)
        if () in alike:
            return None
        orders = {group: _order(rng, group, likely) for group in alike}
        return [
            self._domain.suppose(state, [p for group, n in alike.items() for p in _turn(orders[group], i, n)])
            for i in range(count)
        ]


def _order(rng: random.Random, group: Sequence[Predicate], likely: dict[Predicate, float]) -> list[Predicate]:
    """A random order in which likelier ones tend to come first."""
    keys = {p: math.log(max(likely[p], 1e-12)) - math.log(-math.log(rng.random() or 1e-12)) for p in group}
    return sorted(group, key=lambda p: (-keys[p], p))


def _turn(order: Sequence[Predicate], turn: int, count: int) -> list[Predicate]:
    """The next ``count`` of an order, which begins again at its end."""
    return [order[(turn * count + k) % len(order)] for k in range(count)]
