"""LangChain and LangGraph: a middleware and a callback that pay for calls of models and tools, and a node that plans.

``create_agent(model, tools, middleware=[..., GuardMiddleware(guard)])``, last in the list. In a graph of your own:
``ToolNode(tools, wrap_tool_call=..., awrap_tool_call=...)`` with the middleware's methods of these names, and
:class:`GuardCallback` for its models. Needs the extra ``langchain``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from tape.adapters.usage import total
from tape.budget import PausedError
from tape.errors import BudgetExceededError, ChargeError, ConfigError, UnknownCostError
from tape.guard.charges import ModelCharge, ToolCharge
from tape.guard.guard import REFUSALS, Guard
from tape.guard.left import amount
from tape.plugins import require_extra

require_extra("langchain", "langchain", "langgraph", what="the guard of LangChain agents")

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, messages_to_dict
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_WRITTEN = ("cache_creation", "ephemeral_")
_MINUTES, _HOUR = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
_FUNCTIONS = (None, "function", "custom")
_paying: ContextVar[GuardCallback | None] = ContextVar("tape_guard", default=None)
register_configure_hook(_paying, inheritable=False)  # LangChain gives every model this callback, beside the caller's


class GuardCallback(BaseCallbackHandler):  # type: ignore[misc]
    """Pays for every call of a chat model that is made with it, for instance of all models in a graph.

    A call that does not fit raises, before the model is called. Callbacks get what is really sent, with tools and
    formats, and every attempt. Since a callback cannot limit a call, models need a limit of completion tokens.

    Args:
        guard: The budget.
        limit: What models call that limit.

    Examples:
        >>> from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        >>> from tape import Guard
        >>> from tape.adapters.langchain import GuardCallback
        >>> guard = Guard("2 calls")
        >>> model = GenericFakeChatModel(messages=iter(["Bern."])).bind(max_tokens=100)
        >>> model.invoke("Which town?", {"callbacks": [GuardCallback(guard)]}).text
        'Bern.'
        >>> guard.left()["left"]
        {'calls': 1}
    """

    raise_error = True  # else LangChain logs what a callback raises, and calls the model
    run_inline = True

    def __init__(self, guard: Guard, *, limit: str = "max_tokens") -> None:
        self._guard, self._limit = guard, limit
        self._open: dict[UUID, tuple[AbstractContextManager[ModelCharge], ModelCharge]] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Pay for a call.

        Raises:
            BudgetExceededError: It does not fit.
            UnknownCostError: The price is unknown, and money is capped.
            ConfigError: The model has no limit of completion tokens.
        """
        del serialized
        about, options = kwargs.get("metadata") or {}, kwargs.get("options") or {}
        parameters = kwargs.get("invocation_params") or options
        name, names = about.get("ls_model_name", "model"), (self._limit, *_LIMITS)
        limits = [given[text] for given in (options, parameters) for text in names if given.get(text)]
        most = max(limits, default=about.get("ls_max_tokens"))  # the model decides which of them holds
        if most is None:
            raise ConfigError(f"the most that a call of {name} costs is unknown: give the model {self._limit}")
        sent = {"messages": [messages_to_dict(message) for message in messages], "parameters": parameters}
        paid = self._guard.model(name, sent, most * int(parameters.get("n") or 1))
        self._open[run_id] = paid, paid.__enter__()

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        """Refuse a model that takes plain prompts: such a model reports no usage."""
        del serialized, prompts, kwargs
        raise ConfigError("a guard pays for chat models, and this one takes plain prompts; use a chat model")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Settle at what the provider reports."""
        del kwargs
        if run_id in self._open:
            message = getattr(response.generations[0][0], "message", None)
            usage, about = (getattr(message, name, None) or {} for name in ("usage_metadata", "response_metadata"))
            split = usage.get("input_token_details") or {}
            self._open[run_id][1].used(
                usage.get("input_tokens"),
                usage.get("output_tokens"),
                cached=split.get("cache_read"),
                written=total(n or 0 for key, n in split.items() if key.startswith(_WRITTEN)),
                written_1h=split.get(_HOUR, 0 if _MINUTES in split else None),
                model=about.get("model_name") or about.get("model"),
            )
            self._open.pop(run_id)[0].__exit__(None, None, None)

    def on_llm_error(self, error: BaseException | None, *, run_id: UUID, **kwargs: Any) -> None:
        """Settle at the worst case."""
        del error, kwargs
        if run_id in self._open:
            self._open.pop(run_id)[0].__exit__(None, None, None)

    def close(self) -> None:
        """Settle what ended without an event, as a cancelled task does."""
        for run_id in list(self._open):
            self.on_llm_error(None, run_id=run_id)


def _to_be_logged(record: logging.LogRecord) -> bool:
    """Not what a guard's callback raises: LangChain raises it too, since ``raise_error`` is set."""
    return not (isinstance(record.args, tuple) and record.args[:1] == (GuardCallback.__name__,))


logging.getLogger("langchain_core.callbacks.manager").addFilter(_to_be_logged)


class GuardMiddleware(AgentMiddleware[Any, Any, Any]):  # type: ignore[misc]
    """Every call of an agent's models and tools is paid for from a guard.

    A refused tool call is answered by a message of status ``error`` with the reason and what would fit. The model reads
    it, and goes on. A refused model call ends the run: its last message is the reason, and its ``response_metadata``
    has the ``finish_reason`` ``budget``. The fields of a refusal are the message's ``artifact``, and ``refusal`` of
    that ``response_metadata``: ``error`` is ``budget_exceeded``, ``paused``, ``unknown_price`` or
    ``invalid_arguments``.

    Args:
        guard: The budget.
        limit: What the model calls its limit of completion tokens; a call without one is given the guard's
            ``most_tokens``. A limit that is set stays: no call is limited to what is left.

    Examples:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        >>> from tape import Guard
        >>> from tape.adapters.langchain import GuardMiddleware
        >>> model = GenericFakeChatModel(messages=iter(["Bern.", "Rome."]))
        >>> agent = create_agent(model, middleware=[GuardMiddleware(Guard("1 call"))])
        >>> for _ in range(2):
        ...     print(agent.invoke({"messages": "Which town?"})["messages"][-1].text)
        Bern.
        The model was not called, nothing was spent: calls of the guard ledger: 1 call requested, ...
    """

    def __init__(self, guard: Guard, *, limit: str = "max_tokens") -> None:
        super().__init__()
        self._guard, self._limit = guard, limit

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Pay for what the handler asks models."""
        try:
            with self._pay():
                return handler(self._limited(request))
        except REFUSALS as error:
            return self._ended(error)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """The same for an agent that is run asynchronously."""
        try:
            with self._pay():
                return await handler(self._limited(request))
        except REFUSALS as error:
            return self._ended(error)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Pay for a call of a tool."""
        with ExitStack() as paid:
            try:
                charge = paid.enter_context(self._guard.tool(request.tool_call["name"], request.tool_call["args"]))
            except REFUSALS as error:
                return self._refused(request, error)
            return _answered(charge, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """The same for an agent that is run asynchronously."""
        with ExitStack() as paid:
            try:
                charge = paid.enter_context(self._guard.tool(request.tool_call["name"], request.tool_call["args"]))
            except REFUSALS as error:
                return self._refused(request, error)
            return _answered(charge, await handler(request))

    @contextmanager
    def _pay(self) -> Iterator[None]:
        callback = GuardCallback(self._guard, limit=self._limit)
        token = _paying.set(callback)
        try:
            yield
        finally:
            _paying.reset(token)
            callback.close()

    def _limited(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        model, settings = request.model, request.model_settings
        if (retries := getattr(model, "max_retries", 0)) != 0:
            raise ConfigError(
                f"{type(model).__name__} has max_retries={retries}: its client repeats calls that are paid for once. "
                "Set max_retries=0, and put ModelRetryMiddleware() before GuardMiddleware to have calls repeated"
            )
        if hosted := [tool for tool in request.tools if isinstance(tool, dict) and tool.get("type") not in _FUNCTIONS]:
            raise ConfigError(f"the provider runs {hosted[0]['type']}: what it costs is not known before the call")
        most = settings.get(self._limit) or getattr(model, self._limit, None) or self._guard.most_tokens
        return request.override(model_settings={**settings, self._limit: most})

    def _ended(self, error: BudgetExceededError | UnknownCostError | ChargeError) -> AIMessage:
        ended = {"finish_reason": "budget", "refusal": _fields(error)}
        return AIMessage(self._guard.refusal(error, "The model"), response_metadata=ended)

    def _refused(
        self, request: ToolCallRequest, error: BudgetExceededError | UnknownCostError | ChargeError
    ) -> ToolMessage:
        call = request.tool_call
        message, fields = self._guard.refusal(error, call["name"]), _fields(error)
        return ToolMessage(message, artifact=fields, tool_call_id=call["id"], name=call["name"], status="error")


def _fields(error: BudgetExceededError | UnknownCostError | ChargeError) -> dict[str, Any]:
    """A refusal for programs, with the names of the gateway's refusals and amounts in units."""
    if not isinstance(error, BudgetExceededError):
        return {"error": "unknown_price" if isinstance(error, UnknownCostError) else "invalid_arguments"}
    if isinstance(error, PausedError):
        return {"error": "paused"}
    counts = {
        "requested": error.requested,
        "left": max(0, error.limit - error.used),
        "cap": error.limit,
        "cap_needed": error.used + error.requested,
    }
    amounts = {name: amount(error.kind, count) for name, count in counts.items()}
    return {"error": "budget_exceeded", "resource": error.kind, "scope": error.ledger, **amounts}


def _answered(charge: ToolCharge, answer: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    if isinstance(answer, ToolMessage):  # what a Command took is not reported: the worst case
        charge.answered(answer.text, answer.artifact)
    return answer


def plan_node(guard: Guard, tools: Sequence[str] | None = None) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A node of a graph that asks which tools to call: the exact selection under what is left.

    Args:
        guard: The budget.
        tools: Names of tools or kinds, in order; None reads them from ``tools`` of the graph's state.

    Returns:
        What ``add_node`` takes. It writes ``plan`` into the state: the answer of :meth:`tape.Guard.plan`.

    Examples:
        >>> from tape import Guard
        >>> from tape.adapters.langchain import plan_node
        >>> guard = Guard("$0.03", tools={"quick": {"price": {"usd": "$0.01"}, "kind": "search"}})
        >>> plan = plan_node(guard, ["search", "search"])({})["plan"]
        >>> print([step["tool"] for step in plan["plan"]], plan["fits"], plan["cost_at_most"]["usd"])
        ['quick', 'quick'] True 0.02
    """

    def node(state: Mapping[str, Any]) -> dict[str, Any]:
        return {"plan": guard.plan(tools=list(state["tools"] if tools is None else tools))}

    return node
