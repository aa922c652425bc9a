"""SamplePlans (TAPE section 3.1): the LM writes whole plans, or a domain's own exact search finds them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.engine.context import RoleContext
from tape.engine.unseen import Weigher
from tape.errors import ConfigError
from tape.lm.base import Completion, Request
from tape.protocols import Domain, Plan, State
from tape.protocols.parts import ExactPlanner
from tape.protocols.predicates import Predicate
from tape.seeds import derive


class LmProposer:
    """Samples plans, all of one start from one request.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
        distinct: Plans of one request are drawn without replacement, where the model can
            (:attr:`tape.lm.base.Request.distinct`).
    """

    def __init__(self, context: RoleContext, temperature: float, *, distinct: bool = False) -> None:
        self._context, self._temperature, self._distinct = context, temperature, distinct
        self._suppositions = Suppositions(context)

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample ``m`` plans from each start, one request a start, or one a plan where plans have to suppose something.

        Malformed plans keep their readable beginning and are counted.
        """
        requests: list[Request] = []
        owners: list[tuple[int, State]] = []
        for i, (state, remaining) in enumerate(starts):
            own = seed if i == 0 else derive(seed, i)
            supposed = await self._suppositions.draw(state, m, own)
            for k, each in enumerate(supposed or [state]):
                request = self._context.prompt_format.plan_request(each, remaining)
                count, drawn = (1, derive(own, "supposed", k)) if supposed else (m, own)
                sampled = replace(request, n=count, temperature=self._temperature, seed=drawn)
                requests.append(replace(sampled, distinct=self._distinct))
                owners.append((i, each))
        plans: list[list[Plan]] = [[] for _ in starts]
        for (i, state), completion in zip(owners, await self._context.lm.generate(requests), strict=True):
            plans[i] += self._read(state, completion)
        return plans

    def _read(self, state: State, completion: Completion) -> list[Plan]:
        plans = []
        for text, finish in zip(completion.texts, completion.finish, strict=True):
            plan = self._context.prompt_format.read_plan(state, text)
            if finish == "length":
                plan = replace(plan, valid=False)
            if not plan.valid:
                self._context.count_malformed("plan", text)
            plans.append(plan)
        return plans


class DeclaredProposer:
    """The plans of a domain that searches for them itself (``proposer="declared"``); no model is asked [ours].

    Args:
        planner: Finds them.
    """

    def __init__(self, planner: ExactPlanner) -> None:
        self._planner = planner

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """The ``m`` best plans from each start, or as many as there are; the seed changes nothing."""
        del seed
        found = [self._planner.plans(state, remaining, m) for state, remaining in starts]
        return [[Plan(tuple(actions)) for actions in plans] for plans in found]


def require_plans_declared(domain: Domain) -> ExactPlanner:
    """The domain, if it finds plans itself.

    Raises:
        ConfigError: It does not; names it.
    """
    if domain.planner is None:
        raise ConfigError(
            f"proposer='declared': {type(domain).__name__} has no search for plans of its own (typed tools have one); "
            "use proposer='lm'"
        )
    return domain.planner


class Suppositions:
    """Draws what each of several plans from a state is to suppose.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._source = context.domain.hypotheses
        self._weigher = Weigher(context)

    async def draw(self, state: State, count: int, seed: int) -> list[State] | None:
        """States with what ``count`` plans suppose; None where nothing has to be supposed, or nobody can say what.

        Each thing's places are drawn without replacement, by the model's probabilities (Gumbel top-k); things of which
        the same is known are supposed in different places. Where there are too few, they are gone through again.
        """
        source = self._source
        if source is None:
            return None
        groups = [group for group in source.required(state) if group]
        if not groups:
            return None
        likely = await self._weigher.weigh(state, [p for group in groups for p in group])
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
