"""DSPy: models and tools whose calls are paid for by a guard before they start. Needs the extra ``dspy``."""

from __future__ import annotations

from asyncio import iscoroutine
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from inspect import iscoroutinefunction
from typing import Any

from tape.errors import ConfigError, TapeError
from tape.guard.charges import ModelCharge
from tape.guard.guard import REFUSALS, Guard
from tape.plugins import require_extra

require_extra("dspy", "dspy", what="the guard of DSPy programs")

import dspy
from dspy._vendor.lm15.providers.common import EFFORT_THINKING_BUDGETS
from dspy._vendor.lm15.serde import request_to_dict
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.clients.call_context import adapter_fallback_scope
from dspy.lm15 import FunctionTool, Request, Response, Usage
from dspy.utils.exceptions import LMError, LMUnexpectedError

_stream: ContextVar[Any] = ContextVar("tape_dspy_stream", default=None)


class _Engine:
    """One attempt at one answer, below DSPy's cache, retries and candidates; the model inside makes it, once paid."""

    def __init__(self, lm: dspy.BaseLM, guard: Guard) -> None:
        self._lm, self._guard = lm.copy(num_retries=0, cache=False, callbacks=[]), guard

    def __getattr__(self, name: str) -> Any:
        if name.startswith("support"):  # DSPy asks an engine what the model inside supports
            return getattr(self._lm, name)
        raise AttributeError(name)

    @contextmanager
    def _paid(self, request: Request) -> Iterator[tuple[Request, ModelCharge]]:
        if hosted := [tool.name for tool in request.tools if not isinstance(tool, FunctionTool)]:
            raise ConfigError(f"the provider runs {', '.join(hosted)} itself, where no budget reaches; leave it out")
        thinking = 0  # Claude's adapter adds it to the limit
        if (reasoning := request.config.reasoning) and not reasoning.is_off and _is_claude(self._lm.model):
            thinking = reasoning.thinking_budget or EFFORT_THINKING_BUDGETS[reasoning.effort]
        most = (request.config.max_tokens or self._guard.most_tokens) + thinking
        with (
            self._guard.model(self._lm.model, request_to_dict(request), most, fit=not thinking) as charge,
            # The model outside keeps history and usage; what is streamed comes from inside.
            dspy.context(send_stream=_stream.get(), usage_tracker=None, callbacks=[], disable_history=True),
            adapter_fallback_scope() as seen,
        ):
            try:
                yield replace(request, config=replace(request.config, max_tokens=charge.most_tokens - thinking)), charge
            except LMError as error:
                if seen.emitted:  # no retry of what has been read
                    raise LMUnexpectedError(str(error)) from error
                raise

    def complete(self, request: Request) -> Response:
        with self._paid(request) as (limited, charge):
            response: Response = self._lm(limited)
            _used(charge, response.usage, self._lm.model, response.model)
            return response


class _AsyncEngine(_Engine):
    async def complete(self, request: Request) -> Response:
        with self._paid(request) as (limited, charge):
            response: Response = await self._lm.acall(limited)
            _used(charge, response.usage, self._lm.model, response.model)
            return response


def _used(charge: ModelCharge, usage: Usage, model: str, answered: str | None = None) -> None:
    """Settle at what is reported. Providers count differently, and DSPy hands on what they say."""
    prompt, completion, total = usage.input_tokens, usage.output_tokens, usage.total_tokens
    if prompt is None or completion is None:
        charge.used(None, None)
        return
    completion = max(completion, (total or 0) - prompt)  # some leave reasoning out of what was written
    if _is_claude(model):  # and this one what was cached out of what was read
        prompt += (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    split = {"cached": usage.cache_read_tokens, "written": usage.cache_write_tokens}
    charge.used(prompt, completion, **split, model=answered)


def _is_claude(model: str) -> bool:
    return "claude" in model or "anthropic" in model


class BoundedLM(dspy.LM):  # type: ignore[misc]
    """A language model that makes no call which the guard has not paid for.

    Every attempt of DSPy's retries and every candidate of ``n`` is a call; what comes from DSPy's cache is none.

    Args:
        lm: The model. It is copied, and the copy makes single attempts.
        guard: The budget, which knows the model by the same name, as in ``openai/gpt-4o-mini``.

    Examples:
        >>> import dspy
        >>> from dspy.utils import DummyLM
        >>> from tape import Guard
        >>> from tape.adapters.dspy import BoundedLM
        >>> guard = Guard("5 calls")
        >>> with dspy.context(lm=BoundedLM(DummyLM([{"answer": "Bern."}]), guard)):
        ...     dspy.Predict("question -> answer")(question="Which town?").answer
        'Bern.'
        >>> guard.left()["left"]
        {'calls': 4}
    """

    def __init__(self, lm: dspy.BaseLM, guard: Guard) -> None:
        super().__init__(lm.model, engine=_Engine(lm, guard), async_engine=_AsyncEngine(lm, guard))
        for name in ("cache", "_cache_responses", "num_retries", "callbacks", "model_type", "use_developer_role"):
            setattr(self, name, copy(getattr(lm, name, getattr(self, name, True))))
        self.kwargs = {name: value for name, value in lm.kwargs.items() if name not in CLIENT_KEYS}

    @contextmanager
    def _streamed_from_inside(self) -> Iterator[None]:
        token = _stream.set(dspy.settings.send_stream)
        try:
            with dspy.context(send_stream=None):
                yield
        except LMUnexpectedError as error:  # how DSPy hands on errors of engines
            if isinstance(error.__cause__, TapeError):
                raise error.__cause__ from None
            raise
        finally:
            _stream.reset(token)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The model's answers; see ``dspy.LM``. A call that does not fit raises ``BudgetExceededError``."""
        with self._streamed_from_inside():
            return super().__call__(*args, **options)

    async def acall(self, *args: Any, **options: Any) -> Any:
        """The same for ``await``."""
        with self._streamed_from_inside():
            return await super().acall(*args, **options)


def bounded_tools(tools: Iterable[Callable[..., Any] | dspy.Tool], guard: Guard) -> list[dspy.Tool]:
    """The same functions or tools, called only when the guard has paid; a refused one answers with why.

    Args:
        tools: Functions, coroutine functions too, or tools.
        guard: The budget, which knows the tools by their names.

    Examples:
        >>> from tape import Guard
        >>> from tape.adapters.dspy import bounded_tools
        >>> def search(query: str) -> str:
        ...     return "Bern"
        >>> [bounded] = bounded_tools([search], Guard("$0.03", tools={"search": {"usd": "$0.02"}}))
        >>> bounded(query="town")
        'Bern'
        >>> bounded(query="river")
        'search was not called, nothing was spent: usd of the guard ledger: $0.02 requested, ...'
    """
    return [_bounded_tool(tool if isinstance(tool, dspy.Tool) else dspy.Tool(tool), guard) for tool in tools]


def _bounded_tool(tool: dspy.Tool, guard: Guard) -> dspy.Tool:
    def call(**arguments: Any) -> Any:
        with ExitStack() as stack:
            try:
                charge = stack.enter_context(guard.tool(tool.name, arguments))
            except REFUSALS as error:
                return guard.refusal(error, tool.name)
            result = tool.func(**arguments)
            if not iscoroutine(result):
                charge.answered(str(result), result)
                return result
            awaited = stack.pop_all()

        async def answer() -> Any:
            with awaited:
                value = await result
                charge.answered(str(value), value)
                return value

        return answer()

    async def acall(**arguments: Any) -> Any:
        # Nothing is paid for before it is awaited: a coroutine that is only made has not called the tool.
        result = call(**arguments)
        return await result if iscoroutine(result) else result

    return tool.model_copy(update={"func": acall if iscoroutinefunction(tool.func) else call})
