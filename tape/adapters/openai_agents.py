"""OpenAI Agents SDK: a model and tools that are paid for.

``Agent(model=BoundedModel("gpt-...", guard), tools=bounded_tools([search], guard))``. Needs the extra
``openai-agents``.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from tape.errors import ConfigError, DataError
from tape.guard.charges import ModelCharge
from tape.guard.guard import REFUSALS, Guard
from tape.plugins import require_extra
from tape.reading import parse_json

require_extra("openai-agents", "agents", what="the guard of OpenAI's agents")

from agents import (
    AgentsException,
    FunctionTool,
    Model,
    ModelResponse,
    ModelSettings,
    MultiProvider,
    Tool,
    default_tool_error_function,
)
from agents.models._retry_runtime import provider_managed_retries_disabled
from agents.tool_context import ToolContext

_LAST = ("response.completed", "response.incomplete", "response.failed")


class OutOfBudget(AgentsException):  # type: ignore[misc]
    """A call of the model did not fit, and was not made; ends the run, what it did so far is in ``run_data``."""


class _Beside(NamedTuple):
    """What the SDK gives to a model beside instructions, input and settings, in its order and by its names."""

    tools: Sequence[Tool]
    output_schema: Any
    handoffs: Sequence[Any]
    tracing: Any
    previous_response_id: str | None = None
    conversation_id: str | None = None
    prompt: Any = None


class BoundedModel(Model):  # type: ignore[misc]
    """A model whose every call is paid for. The client's own retries are switched off.

    Args:
        model: The model, or its name.
        guard: The budget.
        name: How the guard knows it; the model's own name by default.

    Examples:
        >>> import asyncio
        >>> from agents import Agent, RunConfig, Runner
        >>> from agents.testing import ScriptedModel, assistant_message
        >>> from tape import Guard
        >>> from tape.adapters.openai_agents import BoundedModel
        >>> guard, script = Guard("5 calls"), ScriptedModel([[assistant_message("Bern.")]])
        >>> agent = Agent("guide", model=BoundedModel(script, guard, name="scripted"))
        >>> asyncio.run(Runner.run(agent, "Which town?", run_config=RunConfig(tracing_disabled=True))).final_output
        'Bern.'
        >>> guard.left()["left"]
        {'calls': 4}
    """

    def __init__(self, model: Model | str, guard: Guard, *, name: str | None = None) -> None:
        self._model = MultiProvider().get_model(model) if isinstance(model, str) else model
        self._name = name or (model if isinstance(model, str) else str(getattr(model, "model", type(model).__name__)))
        self._guard = guard

    async def get_response(
        self, system_instructions: str | None, input: Any, model_settings: ModelSettings, *rest: Any, **more: Any
    ) -> ModelResponse:
        """Pay for a call."""
        with self._paid(system_instructions, input, model_settings, _Beside(*rest, **more)) as (charge, settings):
            with provider_managed_retries_disabled(True):
                response = await self._model.get_response(system_instructions, input, settings, *rest, **more)
            _used(charge, response.usage)
            return response

    async def stream_response(
        self, system_instructions: str | None, input: Any, model_settings: ModelSettings, *rest: Any, **more: Any
    ) -> AsyncIterator[Any]:
        """Pay for a call whose answer is streamed; one that is not read to its end costs its worst case."""
        with self._paid(system_instructions, input, model_settings, _Beside(*rest, **more)) as (charge, settings):
            stream = self._model.stream_response(system_instructions, input, settings, *rest, **more)
            try:
                while True:
                    with provider_managed_retries_disabled(True):  # not around what the reader does in between
                        try:
                            event = await anext(stream)
                        except StopAsyncIteration:
                            break
                    if getattr(event, "type", None) in _LAST:
                        answer = getattr(event, "response", None)
                        _used(charge, getattr(answer, "usage", None), getattr(answer, "model", None))
                    yield event
            finally:
                if callable(close := getattr(stream, "aclose", None)):
                    await close()

    def get_retry_advice(self, request: Any) -> Any:
        """What the model advises."""
        return self._model.get_retry_advice(request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    @contextmanager
    def _paid(
        self, system: str | None, asked: Any, settings: ModelSettings, beside: _Beside
    ) -> Iterator[tuple[ModelCharge, ModelSettings]]:
        kept = beside.previous_response_id or beside.conversation_id or beside.prompt
        functions = [tool for tool in beside.tools if isinstance(tool, FunctionTool)]
        if kept or len(functions) < len(beside.tools):
            raise ConfigError(
                f"{self._name} is given tools that are no functions, or a conversation or a prompt that the provider "
                "keeps: what such a call costs is not known before it. Use function tools, and a Session of your own"
            )
        output = beside.output_schema
        sent = {
            "messages": [system, asked],
            "tools": [
                *((tool.name, tool.description, tool.params_json_schema) for tool in functions),
                *((agent.tool_name, agent.tool_description, agent.input_json_schema) for agent in beside.handoffs),
            ],
            "format": None if output is None or output.is_plain_text() else output.json_schema(),
            "settings": settings.to_json_dict(),
        }
        with ExitStack() as paid:
            try:
                charge = paid.enter_context(self._guard.model(self._name, sent, settings.max_tokens, fit=True))
            except REFUSALS as error:
                raise OutOfBudget(self._guard.refusal(error, self._name)) from error
            yield charge, replace(settings, max_tokens=charge.most_tokens)


def bounded_tools(tools: Sequence[Tool], guard: Guard) -> list[Tool]:
    """The same tools, each call of which is paid for; agents as tools too.

    The model reads of a refused call in the place of its result, with what would fit. The tools themselves are
    wrapped, since the SDK's guardrails hear of no failure, timeout or cancellation.

    Args:
        tools: Function tools.
        guard: The budget, which knows the tools by their names.

    Raises:
        ConfigError: A tool is no function, so its calls are not made here.

    Examples:
        >>> import asyncio
        >>> from agents import Agent, RunConfig, Runner, function_tool
        >>> from agents.testing import ScriptedModel, assistant_message, function_call
        >>> from tape import Guard
        >>> from tape.gateway.example import quick_search
        >>> from tape.adapters.openai_agents import bounded_tools
        >>> guard = Guard("$0.03", tools={"quick_search": {"usd": "$0.02"}})
        >>> call = function_call("quick_search", {"query": "river"}, call_id="1")
        >>> script = ScriptedModel([[call], [assistant_message("Bern.")]])
        >>> agent = Agent("guide", model=script, tools=bounded_tools([function_tool(quick_search)], guard))
        >>> _ = asyncio.run(Runner.run(agent, "Which town?", run_config=RunConfig(tracing_disabled=True)))
        >>> guard.left()["left"]
        {'usd': 0.01}
    """
    return [_bounded(tool, guard) for tool in tools]


def explain_refusal(context: Any, error: Exception) -> str:
    """For ``as_tool(failure_error_function=explain_refusal)``: tells the model that the nested agent has no budget."""
    return str(error) if isinstance(error, OutOfBudget) else default_tool_error_function(context, error)


def _bounded(tool: Tool, guard: Guard) -> Tool:
    if not isinstance(tool, FunctionTool):
        raise ConfigError(f"{tool.name} is no function tool: its calls are not made here, and cannot be paid for")
    bounded = copy.copy(tool)
    call = bounded.on_invoke_tool

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        with ExitStack() as paid:
            try:
                charge = paid.enter_context(guard.tool(tool.name, _read(arguments)))
            except REFUSALS as error:
                return guard.refusal(error, tool.name)
            result = await call(context, arguments)
            charge.answered(str(result), result if isinstance(result, Mapping) else None)
            return result

    bounded.on_invoke_tool = invoke
    return bounded


def _read(arguments: str) -> dict[str, Any]:
    """Arguments as the model wrote them; none where they are malformed, of which the tool tells the model."""
    try:
        read = parse_json(arguments, "arguments")
    except DataError:
        return {}
    return read if isinstance(read, dict) else {}


def _used(charge: ModelCharge, usage: Any, model: Any = None) -> None:
    split = getattr(usage, "input_tokens_details", None)
    charge.used(
        getattr(usage, "input_tokens", None),
        getattr(usage, "output_tokens", None),
        cached=getattr(split, "cached_tokens", None),
        written=getattr(split, "cache_write_tokens", None),
        model=model if isinstance(model, str) else None,
    )
