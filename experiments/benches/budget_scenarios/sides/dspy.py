"""DSPy: ``max_iters``, and the model and tools of ``tape.integrations.dspy``.

ReAct reads its steps from text, and takes one call of a tool a step: calls at once become calls one after the other.
Once it is done, it asks the model once more for the answer.
"""

import asyncio
import json
from typing import Any

from experiments.benches.budget_scenarios.scenarios import COMPLETION_TOKENS, MODEL, USER, Turn
from experiments.benches.budget_scenarios.side import Job, LimitError, main
from tape.gateway.guard import Guard

LIMITS = {"calls": "ReAct(max_iters)", "steps": "ReAct(max_iters)"}
_MOST_ITERATIONS = 1000


def entry(turn: Turn) -> list[dict[str, Any]]:
    """A turn as DSPy's chat format has it."""
    steps = [("look", {"place": f"place {i}"}) for i in range(turn.looks)]
    steps += [("research", {"question": "what is there?"})] * turn.research
    if steps:
        return [
            _text(next_thought="On.", next_tool_name=name, next_tool_args=json.dumps(given)) for name, given in steps
        ]
    return [
        _text(next_thought="Done.", next_tool_name="finish", next_tool_args="{}"),
        _text(reasoning="All was seen.", answer="Nothing is unlike the others."),
    ]


def _text(**fields: str) -> dict[str, Any]:
    said = [f"[[ ## {name} ## ]]\n{value}\n" for name, value in fields.items()]
    return {"content": "\n".join([*said, "[[ ## completed ## ]]"]), "tool_calls": None}


async def play(job: Job, guard: Guard | None) -> str:
    """Run the program once."""
    import dspy

    from tape.integrations.dspy import BoundedLM, bounded_tools

    caps = [cap for kind in ("calls", "steps") if (cap := job.cap(kind)) is not None]
    iterations = int(min(caps)) if caps else _MOST_ITERATIONS
    there = {"api_base": job.model_url, "api_key": "scripted", "cache": False, "num_retries": 0}

    async def look(place: str) -> str:
        """Look at a place."""
        return await asyncio.to_thread(job.look, place)

    def program(tools: list[Any], guard: Guard | None) -> tuple[Any, Any]:
        lm: Any = dspy.LM(f"openai/{MODEL}", max_tokens=COMPLETION_TOKENS, **there)
        if guard is not None:
            lm, tools = BoundedLM(lm, guard), bounded_tools(tools, guard)
        return dspy.ReAct("question -> answer", tools=tools, max_iters=iterations), lm

    tools: list[Any] = [look]
    if job.plan.nested:
        inner, inner_lm = program(tools, None if guard is None else guard.within("calls=1000", name="research"))

        async def research(question: str) -> str:
            """Ask somebody who can look at places."""
            with dspy.context(lm=inner_lm):
                return str((await inner.acall(question=question + USER)).answer)

        tools = [research]
    outer, lm = program(tools, guard)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        if job.plan.stream:
            said = [one async for one in dspy.streamify(outer)(question=USER)][-1]
        else:
            said = await outer.acall(question=USER)
    if "finish" not in said.trajectory.values():
        raise LimitError("max_iters, or the program went on without the model")
    return str(said.answer)


if __name__ == "__main__":
    main(play)
