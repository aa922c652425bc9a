"""SamplePlans (TAPE section 3.1): the LM writes whole plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.lm.base import Completion
from tape.protocols import Plan, State
from tape.roles.context import RoleContext
from tape.seeds import derive


class LmProposer:
    """Samples plans, all of one start from one request.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
    """

    def __init__(self, context: RoleContext, temperature: float) -> None:
        self._context, self._temperature = context, temperature

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample ``m`` plans from each start, one request a start.

        Malformed plans keep their readable beginning and are counted.
        """
        requests = [
            replace(
                self._context.dialect.plan_request(state, remaining),
                n=m,
                temperature=self._temperature,
                seed=seed if i == 0 else derive(seed, i),
            )
            for i, (state, remaining) in enumerate(starts)
        ]
        completions = await self._context.lm.generate(requests)
        return [self._read(state, completion) for (state, _), completion in zip(starts, completions, strict=True)]

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
