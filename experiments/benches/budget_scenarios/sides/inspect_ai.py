"""Inspect AI: limits of a sample, and the model and tools of ``tape.integrations.inspect_agent``."""

import asyncio
import tempfile
from functools import partial
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER
from experiments.benches.budget_scenarios.side import Job, LimitError, RefusedError, ToolError, main, openai_entry
from tape.gateway.guard import Guard

LIMITS = {"calls": "turn_limit", "steps": "turn_limit (a turn may call several)", "tokens": "token_limit"}
entry = partial(openai_entry, end=("submit", "answer"), question="input")


async def play(job: Job, guard: Guard | None) -> str:
    """Run the agent once, as the only sample of an evaluation."""
    from inspect_ai import Task, eval_async
    from inspect_ai.agent import as_solver, as_tool, react
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.tool import ToolDef
    from inspect_ai.tool import ToolError as Failed

    from tape.integrations.inspect_agent import bounded_model, bounded_tools

    settings = GenerateConfig(max_tokens=COMPLETION_TOKENS, max_retries=0)
    model = get_model(
        f"openai/{MODEL}", base_url=job.model_url, api_key="scripted", config=settings, responses_api=False
    )

    async def look(place: str) -> str:
        """Look at a place.

        Args:
            place: Its name.
        """
        try:
            return await asyncio.to_thread(job.look, place)
        except ToolError as error:
            raise Failed(str(error)) from error

    def agent(tools: list[Any], guard: Guard | None) -> Any:
        about = "Ask somebody who can look at places."
        if guard is None:
            return react(name="research", description=about, tools=tools, model=model)
        bounded = bounded_tools(tools, guard)
        return react(name="research", description=about, tools=bounded, model=bounded_model(model, guard))

    tools: list[Any] = [ToolDef(look, name="look").as_tool()]
    if job.plan.nested:
        tools = [as_tool(agent(tools, None if guard is None else guard.within("calls=1000", name="research")))]
    caps = [cap for kind in ("calls", "steps") if (cap := job.cap(kind)) is not None]
    tokens = job.cap("tokens")
    with tempfile.TemporaryDirectory() as folder:
        logs = await eval_async(
            Task(dataset=[Sample(USER)], solver=as_solver(agent(tools, guard))),
            model=model,
            log_dir=folder,
            log_level="error",
            turn_limit=int(min(caps)) if caps else None,
            token_limit=None if tokens is None else int(tokens),
        )
        if logs[0].error is not None:
            raise RuntimeError(logs[0].error.message)
        sample = (logs[0].samples or [])[0]
        if sample.limit is not None:
            said = f"{sample.limit.type} limit of {sample.limit.limit:g}"
            raise RefusedError(said) if sample.limit.type == "custom" else LimitError(said)
    return str(sample.output.completion)


if __name__ == "__main__":
    main(play)
