"""OpenAI Agents SDK: ``max_turns``, and the model and tools of ``tape.integrations.openai_agents``."""

import asyncio
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER
from experiments.benches.budget_scenarios.side import Job, LimitError, ToolError, main
from tape.gateway.guard import Guard

LIMITS = {"calls": "max_turns", "steps": "max_turns (a turn may call several)"}
_MOST_TURNS = 1000


async def play(job: Job, guard: Guard | None) -> str:
    """Run the agent once."""
    from agents import (
        Agent,
        MaxTurnsExceeded,
        ModelSettings,
        OpenAIChatCompletionsModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    from tape.integrations.openai_agents import BoundedModel, bounded_tools

    set_tracing_disabled(True)
    # A turn is a call of the model; of calls of tools the closest is one turn each.
    caps = [cap for kind in ("calls", "steps") if (cap := job.cap(kind)) is not None]
    turns = int(min(caps)) if caps else _MOST_TURNS

    async def look(place: str) -> str:
        """Look at a place."""
        try:
            return await asyncio.to_thread(job.look, place)
        except ToolError as error:
            return f"failed: {error}"

    def agent(name: str, tools: list[Any], guard: Guard | None) -> Agent[Any]:
        client = AsyncOpenAI(base_url=job.model_url, api_key="scripted", max_retries=0)
        model: Any = OpenAIChatCompletionsModel(MODEL, client)
        if guard is not None:
            model, tools = BoundedModel(model, guard), bounded_tools(tools, guard)
        return Agent(name, model=model, tools=tools, model_settings=ModelSettings(max_tokens=COMPLETION_TOKENS))

    tools = [function_tool(look)]
    if job.plan.nested:
        inner = agent("inner", tools, None if guard is None else guard.within("calls=1000", name="research"))

        async def research(question: str) -> str:
            """Ask somebody who can look at places."""
            return str((await Runner.run(inner, question + USER, max_turns=turns)).final_output)

        tools = [function_tool(research, failure_error_function=None)]
    try:
        if job.plan.stream:
            streamed = Runner.run_streamed(agent("outer", tools, guard), USER, max_turns=turns)
            async for _ in streamed.stream_events():
                pass
            return str(streamed.final_output)
        return str((await Runner.run(agent("outer", tools, guard), USER, max_turns=turns)).final_output)
    except MaxTurnsExceeded as error:
        raise LimitError(str(error)) from error


if __name__ == "__main__":
    main(play)
