"""SamplePlans (TAPE section 3.1): the LM writes whole plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tape.protocols import Plan, State
from tape.roles.context import RoleContext


class LmProposer:
    """Samples plans from one request.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
    """

    def __init__(self, context: RoleContext, temperature: float) -> None:
        self._context, self._temperature = context, temperature

    async def propose(self, state: State, remaining: Mapping[str, int], m: int, seed: int) -> list[Plan]:
        """Sample ``m`` plans; malformed ones keep their readable beginning and are counted."""
        request = replace(
            self._context.dialect.plan_request(state, remaining), n=m, temperature=self._temperature, seed=seed
        )
        [completion] = await self._context.lm.generate([request])
        plans = []
        for text, finish in zip(completion.texts, completion.finish, strict=True):
            plan = self._context.dialect.read_plan(text)
            if finish == "length":
                plan = replace(plan, valid=False)
            if not plan.valid:
                self._context.count_malformed("plan", text)
            plans.append(plan)
        return plans
