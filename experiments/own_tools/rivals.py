"""Agents of others, on the same questions with the same model: ReAct written by hand, and pydantic-ai."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from typing import Any

from experiments.own_tools.sets import Question, World

MOST_ROUNDS = 8
MOST_TOKENS = 300
REACT = """You solve a task step by step. In each step write a thought in one line, then one action in one line:
Action: {"tool": NAME, "arguments": {...}}
or, when you know the answer:
Action: {"answer": {...}}
Tools:
"""


def _chat(server: str, messages: list[dict[str, str]]) -> tuple[str, int]:
    """One reply, greedy, and the tokens of the request."""
    asked = {"messages": messages, "max_tokens": MOST_TOKENS, "temperature": 0, "stop": ["\nObservation"]}
    request = urllib.request.Request(
        f"{server}/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=900) as reply:
        read: dict[str, Any] = json.load(reply)
    usage = read["usage"]
    return read["choices"][0]["message"]["content"], usage["prompt_tokens"] + usage["completion_tokens"]


def react_by_hand(question: Question, world: World, server: str) -> dict[str, Any]:
    """ReAct as one writes it in an afternoon: a growing chat, one JSON action a turn, errors as observations."""
    tools = {tool.kind: tool for tool in world.tools}
    listed = "\n".join(
        f"- {name}({', '.join(tool.arguments.model_fields)}): {tool.description}" for name, tool in tools.items()
    )
    fields = ", ".join(f"{name}: {kind.__name__}" for name, kind in question.fields.items())
    task = f"Task: {question.task}\nThe answer has the fields {fields}."
    messages = [{"role": "system", "content": REACT + listed}, {"role": "user", "content": task}]
    tokens = 0
    for round_ in range(1, MOST_ROUNDS + 1):
        text, used = _chat(server, messages)
        tokens += used
        observation = ""
        found = re.search(r"Action:\s*(\{.*\})", text, re.DOTALL)
        try:
            action = json.JSONDecoder().raw_decode(found[1])[0] if found else None
            if isinstance(action, dict) and "answer" in action:
                return {"answer": action["answer"], "tokens": tokens, "requests": round_, "end": "answered"}
            if not isinstance(action, dict):
                raise ValueError("write one line: Action: {...}")
            observation = json.dumps(tools[action["tool"]](**action["arguments"]))
        except Exception as error:  # whatever a tool raises is what the model is told
            observation = f"error: {type(error).__name__}: {error}"
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"Observation: {observation}"}]
    return {"answer": None, "tokens": tokens, "requests": MOST_ROUNDS, "end": "rounds"}


def pydantic_ai_agent(question: Question, world: World, server: str) -> dict[str, Any]:
    """pydantic-ai with its defaults: tools by function calling, the answer as its output type."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    model = OpenAIChatModel("qwen", provider=OpenAIProvider(base_url=server, api_key="none"))
    agent = Agent(model, output_type=question.answer, retries=2, model_settings={"temperature": 0.0, "max_tokens": 300})
    for tool in world.tools:
        agent.tool_plain(tool.function)
    answer, end = None, "answered"

    async def run() -> Any:
        return await agent.run(question.task, usage_limits=UsageLimits(request_limit=MOST_ROUNDS))

    from pydantic_ai import capture_run_messages

    with capture_run_messages() as messages:
        try:
            answer = asyncio.run(run()).output.model_dump()
        except Exception as error:  # its own exceptions, and those of the server
            end = f"{type(error).__name__}: {str(error)[:100]}"
    replies = [message.usage for message in messages if message.kind == "response"]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in replies)
    return {"answer": answer, "tokens": tokens, "requests": len(replies), "end": end}
