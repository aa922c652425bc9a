"""smolagents: ``max_steps``, and the model and tools of ``tape.integrations.smolagents``."""

import asyncio
from functools import partial
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER
from experiments.benches.budget_scenarios.side import Job, LimitError, main, openai_entry
from tape.gateway.guard import Guard

LIMITS = {"calls": "max_steps", "steps": "max_steps (a step may call several)"}
entry = partial(openai_entry, end=("final_answer", "answer"))
_MOST_STEPS = 1000


async def play(job: Job, guard: Guard | None) -> str:
    """Run the agent once, in a thread, since smolagents does not wait asynchronously."""
    from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent

    from tape.integrations.smolagents import BoundedModel, bounded_tools

    caps = [cap for kind in ("calls", "steps") if (cap := job.cap(kind)) is not None]
    steps = int(min(caps)) if caps else _MOST_STEPS

    class Look(Tool):  # type: ignore[misc]
        name, description, output_type = "look", "Look at a place.", "string"
        inputs = {"place": {"type": "string", "description": "Its name."}}  # noqa: RUF012 - as smolagents wants it

        def forward(self, place: str) -> str:
            return job.look(place)

    def agent(tools: list[Any], guard: Guard | None) -> Any:
        client = {"max_retries": 0}
        model: Any = OpenAIModel(
            MODEL, api_base=job.model_url, api_key="scripted", client_kwargs=client, max_tokens=COMPLETION_TOKENS
        )
        if guard is not None:
            model, tools = BoundedModel(model, guard), bounded_tools(tools, guard)
        return ToolCallingAgent(
            tools, model, max_steps=steps, verbosity_level=LogLevel.OFF, stream_outputs=job.plan.stream
        )

    tools: list[Any] = [Look()]
    if job.plan.nested:
        inner = agent(tools, None if guard is None else guard.within("calls=1000", name="research"))

        class Research(Tool):  # type: ignore[misc]
            name, description, output_type = "research", "Ask somebody who can look at places.", "string"
            inputs = {"question": {"type": "string", "description": "The question."}}  # noqa: RUF012 - the same

            def forward(self, question: str) -> str:
                return str(inner.run(question + USER))

        tools = [Research()]
    said = await asyncio.to_thread(agent(tools, guard).run, USER, return_full_result=True)
    if said.state == "max_steps_error":
        raise LimitError("max_steps")
    return str(said.output)


if __name__ == "__main__":
    main(play)
