"""SamplePlans (TAPE section 3.1): the LM writes whole plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.lm.base import Completion, Request
from tape.protocols import Plan, State
from tape.roles.context import RoleContext
from tape.roles.suppositions import Suppositions
from tape.seeds import derive


class LmProposer:
    """Samples plans, all of one start from one request.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
    """

    def __init__(self, context: RoleContext, temperature: float) -> None:
        self._context, self._temperature = context, temperature
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
                request = self._context.dialect.plan_request(each, remaining)
                count, drawn = (1, derive(own, "supposed", k)) if supposed else (m, own)
                requests.append(replace(request, n=count, temperature=self._temperature, seed=drawn))
                owners.append((i, each))
        plans: list[list[Plan]] = [[] for _ in starts]
        for (i, state), completion in zip(owners, await self._context.lm.generate(requests), strict=True):
            plans[i] += self._read(state, completion)
        return plans

    def _read(self, state: State, completion: Completion) -> list[Plan]:
        plans = []
        for text, finish in zip(completion.texts, completion.finish, strict=True):
            plan = self._context.dialect.read_plan(state, text)
            if finish == "length":
                plan = replace(plan, valid=False)
            if not plan.valid:
                self._context.count_malformed("plan", text)
            plans.append(plan)
        return plans
