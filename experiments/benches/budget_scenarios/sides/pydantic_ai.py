"""pydantic-ai: ``UsageLimits``, and the capability of ``tape.integrations.pydantic_ai``."""

import asyncio
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER
from experiments.benches.budget_scenarios.side import Job, LimitError, ToolError, main
from tape.gateway.guard import Guard

LIMITS = {
    "calls": "UsageLimits(request_limit)",
    "steps": "UsageLimits(tool_calls_limit)",
    "tokens": "UsageLimits(total_tokens_limit)",
}
_USED: list[Any] = []
"""The usage that runs of one process share: pydantic-ai's own way to limit several runs together."""


async def play(job: Job, guard: Guard | None) -> str:
    """Run the agent once."""
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.exceptions import ToolFailed, UsageLimitExceeded
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RunUsage, UsageLimits

    from tape.integrations.pydantic_ai import GuardCapability, OutOfBudget

    def agent(guard: Guard | None) -> Agent[None, str]:
        return Agent(
            OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=job.model_url, api_key="scripted")),
            model_settings=ModelSettings(max_tokens=COMPLETION_TOKENS),
            retries=job.plan.retries or 1,
            capabilities=[GuardCapability(guard)] if guard is not None else [],
        )

    outer = agent(guard)
    inner = agent(None if guard is None else guard.within("calls=1000", name="research")) if job.plan.nested else outer

    @inner.tool_plain
    async def look(place: str) -> str:
        """Look at a place."""
        try:
            return await asyncio.to_thread(job.look, place)
        except ToolError as error:
            raise ToolFailed(str(error)) from error

    if job.plan.nested:

        @outer.tool
        async def research(ctx: RunContext[None], question: str) -> str:
            """Ask somebody who can look at places."""
            return (await inner.run(question + USER, usage=ctx.usage, usage_limits=limits)).output

    own = {"calls": "request_limit", "steps": "tool_calls_limit", "tokens": "total_tokens_limit"}
    given = {own[kind]: int(cap) for kind in own if (cap := job.cap(kind)) is not None}
    limits = UsageLimits(**{"request_limit": None, **given})
    if not _USED:
        _USED.append(RunUsage())
    try:
        if job.plan.stream:
            async with outer.run_stream(USER, usage=_USED[0], usage_limits=limits) as streamed:
                return str(await streamed.get_output())
        return (await outer.run(USER, usage=_USED[0], usage_limits=limits)).output
    except OutOfBudget:
        raise
    except UsageLimitExceeded as error:
        raise LimitError(str(error)) from error


if __name__ == "__main__":
    main(play)
