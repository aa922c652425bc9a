"""Inspect AI: agents and solvers whose calls of models and tools are paid for by a guard before they start.

``bounded_agent`` is Inspect's ReAct agent under a guard; ``bounded_model`` and ``bounded_tools`` are for agents of your
own. A refused tool is an error that the model reads; a refused model call ends the sample by Inspect's own limit error,
so that it is scored and its log says why. Needs the extra ``inspect``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from copy import copy
from functools import wraps
from typing import Any

from tape.adapters.usage import total
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.guard import REFUSALS, Guard
from tape.guard.left import amount
from tape.plugins import require_extra

require_extra("inspect", "inspect_ai", what="the guard of Inspect's agents")

from inspect_ai.agent import Agent, AgentState, agent, react
from inspect_ai.agent._handoff import AgentTool
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.tool import Tool, ToolChoice, ToolDef, ToolError, ToolInfo, ToolSource
from inspect_ai.util import LimitExceededError


def bounded_model(model: str | Model | None, guard: Guard) -> Model:
    """A model that makes no call which the guard has not paid for.

    Every attempt of Inspect's retries is a call; what comes from Inspect's cache is none.

    Args:
        model: The model; None takes that of the evaluation, if it is running.
        guard: The budget, which knows the model by its name without the provider, as in ``gpt-4o-mini``.

    Examples:
        >>> import asyncio
        >>> from inspect_ai.model import ModelOutput, ModelUsage, get_model
        >>> from tape import Guard
        >>> from tape.adapters.inspect_agent import bounded_model
        >>> output = ModelOutput.from_content("scripted", "Bern.")
        >>> output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
        >>> guard = Guard("2,000 tokens")
        >>> model = bounded_model(get_model("mockllm/scripted", custom_outputs=[output]), guard)
        >>> asyncio.run(model.generate("Which town?")).completion, guard.left()["left"]
        ('Bern.', {'tokens': 1890})
    """
    bounded = copy(get_model(model))
    api = bounded.api = copy(bounded.api)
    send = type(api).generate

    async def generate(
        input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> Any:
        client: Any = getattr(api, "client", None)
        if getattr(client, "max_retries", 0):  # the provider's client would retry behind our back; Inspect does it too
            api.client = client.with_options(max_retries=0)
        answers = max(config.num_choices or 1, config.best_of or 1)
        summary = config.reasoning_summary or "none"
        most = None if config.max_tokens is None else config.max_tokens * answers
        if hosted := [tool.name for tool in tools if _is_hosted(tool)]:
            raise ConfigError(f"the provider runs {', '.join(hosted)} itself, where no budget reaches; leave it out")
        request = {  # schemas of answers too
            "messages": [item.model_dump(exclude_none=True) for item in input],
            "tools": [tool.model_dump(exclude_none=True) for tool in tools],
            "config": config.model_dump(exclude_none=True),
        }
        try:
            with guard.model(bounded.name, request, most, fit=answers == 1) as charge:
                # Where summaries are left open, OpenAI's provider makes a call of its own to see whether it has them.
                limits = {"max_tokens": charge.most_tokens // answers, "reasoning_summary": summary}
                result = await send(api, input, tools, tool_choice, config.model_copy(update=limits))
                output = result[0] if isinstance(result, tuple) else result
                if isinstance(output, ModelOutput) and (usage := output.usage):
                    cached = (usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0)
                    prompt = total((usage.input_tokens, *cached))
                    split = {"cached": cached[0], "written": cached[1]}
                    charge.used(prompt, usage.output_tokens, **split, model=output.model)
                return result  # what reports no usage is left at its worst case
        except BudgetExceededError as error:
            used, cap = (amount(error.kind, count) or 0 for count in (error.used + error.requested, error.limit))
            raise LimitExceededError("custom", value=used, limit=cap, message=f"model call refused: {error}") from error

    async def compact(*_: Any) -> Any:
        raise NotImplementedError("a provider's own compaction has no limit of tokens, so no budget can bound it")

    api.generate, api.compact = generate, compact
    return bounded


def _is_hosted(tool: ToolInfo) -> bool:
    """Whether a provider may run a tool itself: Inspect says so in the options of these."""
    return bool(tool.options) and (tool.name in ("web_search", "code_execution") or tool.name.startswith("mcp_server"))


def bounded_tools(tools: Sequence[Tool | ToolDef | ToolSource] | ToolSource, guard: Guard) -> list[Tool | ToolSource]:
    """The same tools, called only when the guard has paid.

    Args:
        tools: Tools, and sources of tools such as an MCP server. A handoff stays as it is: it hands the conversation
            over, and the agent that takes it has a model and tools of its own.
        guard: The budget, which knows the tools by their names.

    Examples:
        >>> import asyncio
        >>> from inspect_ai.tool import ToolDef
        >>> from tape import Guard
        >>> from tape.adapters.inspect_agent import bounded_tools
        >>> async def search(query: str) -> str:
        ...     return "Bern"
        >>> found = ToolDef(search, name="search", description="Search.", parameters={"query": "What for."})
        >>> guard = Guard("$0.03", tools={"search": {"usd": "$0.02"}})
        >>> asyncio.run(bounded_tools([found], guard)[0](query="town")), guard.left()["left"]
        ('Bern', {'usd': 0.01})
    """
    listed = [tools] if isinstance(tools, ToolSource) else tools
    return [_Source(item, guard) if isinstance(item, ToolSource) else _bounded_tool(item, guard) for item in listed]


class _Source:
    def __init__(self, source: ToolSource, guard: Guard) -> None:
        self._source, self._guard = source, guard

    async def tools(self) -> list[Tool]:
        return [_bounded_tool(tool, self._guard) for tool in await self._source.tools()]


def _bounded_tool(tool: Tool | ToolDef, guard: Guard) -> Tool:
    known = tool if isinstance(tool, ToolDef) else ToolDef(tool)
    call = known.tool
    if isinstance(call, AgentTool):
        return call

    @wraps(call)  # Inspect reads the arguments' types from it
    async def execute(**arguments: Any) -> Any:
        with ExitStack() as stack:
            try:
                charge = stack.enter_context(guard.tool(known.name, arguments))
            except REFUSALS as error:
                raise ToolError(guard.refusal(error, known.name)) from error
            try:
                result = await call(**arguments)
            except BudgetExceededError as error:  # of what it calls under a guard itself
                raise ToolError(str(error)) from error
            except LimitExceededError as error:
                if isinstance(error.__cause__, BudgetExceededError):  # it is an agent, and its own budget ended it
                    raise ToolError(error.message) from error
                raise
            charge.answered(str(result), result)
            return result

    about = {name: value for name, value in vars(known).items() if name != "tool"}
    return ToolDef(execute, **about).as_tool()


@agent  # type: ignore[untyped-decorator]
def bounded_agent(
    guard: Guard,
    tools: Sequence[Tool | ToolDef | ToolSource] = (),
    model: str | Model | None = None,
    budget: str | None = None,
    **options: Any,
) -> Agent:
    """Inspect's ReAct agent under a guard; ``as_solver(bounded_agent(...))`` is a solver.

    Args:
        guard: The budget of all runs of this agent together.
        tools: What it may call.
        model: Its model; None takes that of the evaluation.
        budget: Caps of each run (of a sample, of a call as a tool) within the guard's, for instance ``"usd=0.10"``.
        options: Further options of ``inspect_ai.agent.react``.

    Examples:
        >>> from inspect_ai import Task, eval
        >>> from inspect_ai.model import ModelOutput, ModelUsage, get_model
        >>> from tape import Guard
        >>> from tape.adapters.inspect_agent import bounded_agent
        >>> output = ModelOutput.for_tool_call("scripted", "submit", {"answer": "Bern."})
        >>> output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
        >>> guard, model = Guard("5 calls"), get_model("mockllm/scripted", custom_outputs=[output])
        >>> [log] = eval(Task(solver=bounded_agent(guard, budget="calls=3")), model=model, display="none")
        >>> log.status, guard.left()["left"]
        ('success', {'calls': 4})
    """

    async def execute(state: AgentState) -> AgentState:
        """Agent that works on a task within a budget."""
        own = guard if budget is None else guard.within(budget)
        inner = react(tools=bounded_tools(tools, own), model=bounded_model(model, own), **options)
        return await inner(state)

    return execute
