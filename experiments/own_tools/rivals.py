"""Agents of others, on the same questions with the same model: ReAct written by hand, and pydantic-ai.

Both were made as strong as could be on the library's questions, as TAPE's prompt was.
"""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from experiments.own_tools.sets import Question, World

SERVER = "http://model/v1"
"""Where the client that is given finds the model."""
MOST_ROUNDS = 8
MOST_TOKENS = 300
REACT = """You solve a task step by step. In each step write one thought and one action, then wait for the observation:
Thought: what to do next
Action: {"tool": NAME, "arguments": {...}}
As soon as you know the answer:
Action: {"answer": {...}}
Do all that the task asks for, and nothing else.

Example. Task: How many parcels went to Oslo? The answer has the fields n: int.
Thought: I count the parcels to Oslo.
Action: {"tool": "select", "arguments": {"sql": "SELECT COUNT(*) AS n FROM parcels WHERE city = 'Oslo'"}}
Observation: {"n": 4}
Thought: There are 4.
Action: {"answer": {"n": 4}}

Your tools:
"""
_ACTION = re.compile(r"Action:\s*(\{.*)", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)


async def _chat(client: httpx.AsyncClient, messages: list[dict[str, str]]) -> tuple[str, int]:
    """One reply, greedy, and the tokens of the request."""
    asked = {"messages": messages, "max_tokens": MOST_TOKENS, "temperature": 0, "stop": ["\nObservation", "\n\n"]}
    read: dict[str, Any] = (await client.post(f"{SERVER}/chat/completions", json=asked)).raise_for_status().json()
    usage = read["usage"]
    return read["choices"][0]["message"]["content"], usage["prompt_tokens"] + usage["completion_tokens"]


async def react_by_hand(question: Question, world: World, client: httpx.AsyncClient, trace: Path) -> dict[str, Any]:
    """ReAct as one writes it in an afternoon: a growing chat, one JSON action a turn, errors as observations."""
    tools = {tool.kind: tool for tool in world.tools}
    listed = "\n".join(
        f"- {name}({', '.join(tool.arguments.model_fields)}): {tool.description}" for name, tool in tools.items()
    )
    fields = ", ".join(f"{name}: {getattr(kind, '__name__', kind)}" for name, kind in question.fields.items())
    task = f"Task: {question.task} The answer has the fields {fields}."
    messages = [{"role": "system", "content": REACT + listed}, {"role": "user", "content": task}]
    tokens, answer, end = 0, None, "rounds"
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007  (read after the loop)
        text, used = await _chat(client, messages)
        tokens += used
        try:
            match = _ACTION.search(text)
            if match is None:
                raise ValueError("write one line: Action: {...}")
            action, read = json.JSONDecoder().raw_decode(match[1])
            text = text[: match.start(1) + read]  # what a model writes after its first action it has made up
            if "answer" in action:
                answer, end = action["answer"], "answered"
                messages.append({"role": "assistant", "content": text})
                break
            observation = json.dumps(tools[action["tool"]](**action["arguments"]))
        except Exception as error:  # whatever a tool raises is what the model is told
            observation = f"error: {type(error).__name__}: {error}"
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"Observation: {observation}"}]
    trace.write_text(json.dumps(messages, indent=1))
    return {"answer": answer, "tokens": tokens, "requests": rounds, "end": end}


async def pydantic_ai_agent(question: Question, world: World, client: httpx.AsyncClient, trace: Path) -> dict[str, Any]:
    """pydantic-ai: tools by function calling, the answer as its output type.

    Qwen2.5-Coder writes its calls in a fenced block, which llama.cpp does not take for calls. They are read here, or
    the agent could call nothing; and the server is not told to require a call, which it answers by blank lines.
    """
    from pydantic_ai import Agent, capture_run_messages
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    numbers = count(1)  # its own are random, and the same requests are to be sent when this is played again

    class Coder(OpenAIChatModel):
        async def request(self, *given: Any, **named: Any) -> ModelResponse:
            response = await super().request(*given, **named)
            response.parts = [call for part in response.parts for call in _calls(part)]
            return response

    def _calls(part: Any) -> list[Any]:
        if not isinstance(part, TextPart):
            return [part]
        calls = []
        for text in _FENCED.findall(part.content) or [part.content]:
            try:
                call = json.loads(text)
                calls.append(ToolCallPart(str(call["name"]), call["arguments"], f"call_{next(numbers)}"))
            except (ValueError, KeyError, TypeError):
                continue
        return calls or [part]

    profile = ModelProfile(supports_forced_tool_choice=False)
    provider = OpenAIProvider(base_url=SERVER, api_key="none", http_client=client)
    model = Coder("qwen", provider=provider, profile=profile)
    agent = Agent(model, output_type=question.answer, retries=2, model_settings={"temperature": 0.0, "max_tokens": 300})
    for tool in world.tools:
        agent.tool_plain(tool.function)
    answer, end = None, "answered"

    messages: list[ModelMessage]
    with capture_run_messages() as messages:
        try:
            limits = UsageLimits(request_limit=MOST_ROUNDS)
            answer = (await agent.run(question.task, usage_limits=limits)).output.model_dump()
        except Exception as error:  # its own exceptions, and those of the server
            end = f"{type(error).__name__}: {str(error)[:100]}"
    trace.write_bytes(ModelMessagesTypeAdapter.dump_json(messages, indent=1))
    replies = [message.usage for message in messages if message.kind == "response"]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in replies)
    return {"answer": answer, "tokens": tokens, "requests": len(replies), "end": end}
