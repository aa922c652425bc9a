"""smolagents: models and tools whose calls are paid for by a guard before they start.

A refused tool answers with the refusal, which the model reads. A refused model call ends the run: smolagents has no
cleaner end than its ``AgentGenerationError``, whose ``__cause__`` names the binding cap. Needs the extra
``smolagents``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import copy
from typing import Any

from tape.adapters.usage import Meter, ProviderUsage, total
from tape.errors import ChargeError, ConfigError, TapeError
from tape.guard.charges import ModelCharge
from tape.guard.guard import REFUSALS, Guard
from tape.plugins import require_extra
from tape.reading import short

require_extra("smolagents", "smolagents", what="the guard of smolagents")

from smolagents import ChatMessage, ChatMessageStreamDelta, LiteLLMModel, Model, Tool
from smolagents.models import REMOVE_PARAMETER
from smolagents.utils import Retrying

LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens")
"""How models name the limit of a completion."""


class BoundedModel(Model):  # type: ignore[misc]
    """A model that makes no call which the guard has not paid for.

    Every attempt of a retry is a call. A stream is not retried; one that is not read to its end is booked at its worst
    case. A call that does not fit raises ``BudgetExceededError``, which an agent wraps in its ``AgentGenerationError``.

    Args:
        model: The model. It is copied, and the copy leaves limits and retries to this one.
        guard: The budget, which knows the model by its ``model_id``.

    Examples:
        >>> from smolagents import ChatMessage, Model
        >>> from tape import Guard
        >>> from tape.adapters.smolagents import BoundedModel
        >>> class Scripted(Model):
        ...     def generate(self, messages, **options):
        ...         return ChatMessage("assistant", "Bern.")
        >>> guard = Guard("5 calls")
        >>> BoundedModel(Scripted(model_id="scripted"), guard).generate([ChatMessage("user", "Which town?")]).content
        'Bern.'
        >>> guard.left()["left"]
        {'calls': 4}
    """

    def __init__(self, model: Model, guard: Guard) -> None:
        super().__init__(
            flatten_messages_as_text=model.flatten_messages_as_text,
            tool_name_key=model.tool_name_key,
            tool_arguments_key=model.tool_arguments_key,
            model_id=model.model_id,
        )
        calls = _Calls(model, guard)
        # No attribute leads to the model inside or to the guard: code that a model writes reads attributes.
        self.generate = calls.generate
        if hasattr(model, "generate_stream"):  # agents look whether there is one
            self.generate_stream = calls.generate_stream


class _Calls:
    """Makes the calls of a model, once paid."""

    def __init__(self, model: Model, guard: Guard) -> None:
        inner = copy(model)
        # A limit whose value is REMOVE_PARAMETER is one that this model does not know.
        unknown = {name for name in LIMITS if model.kwargs.get(name) is REMOVE_PARAMETER}
        own = {name: _limit(name, model.kwargs.get(name)) for name in LIMITS if name not in unknown}
        set_ = {name: limit for name, limit in own.items() if limit is not None}
        self._limit_name = next(iter({**set_, **own}))
        self._limit = min(set_.values(), default=None)
        # What stays in there goes before what a call is limited to.
        inner.kwargs = {name: value for name, value in model.kwargs.items() if name not in own}
        self._retry = Retrying()  # one attempt
        if hasattr(inner, "retryer"):
            self._retry, inner.retryer = copy(inner.retryer), self._retry
            passing = self._retry.retry_predicate  # reads messages: an amount with 429 in it would look like HTTP's
            self._retry.retry_predicate = lambda error: not isinstance(error, TapeError) and passing(error)
        if isinstance(inner, LiteLLMModel):  # retries that would not be seen
            inner.kwargs |= {"max_retries": 0, "num_retries": 0}
        elif getattr(getattr(inner, "client", None), "max_retries", 0):
            inner.client = inner.client.with_options(max_retries=0)
        self._inner, self._guard, self._name = inner, guard, model.model_id or ""

    def _request(self, messages: list[ChatMessage], **options: Any) -> tuple[Any, int | None, int, dict[str, Any]]:
        """What is sent, the limit of all its completions, how many there are, and the options without a limit."""
        limits = [self._limit, *(options.pop(name, None) for name in LIMITS)]
        request = self._inner._prepare_completion_kwargs(messages, convert_images_to_image_urls=True, **options)
        answers = request.get("n") or 1
        limit = min((item for item in limits if item is not None), default=None)
        return request, None if limit is None else limit * answers, answers, options

    def generate(self, messages: list[ChatMessage], *args: Any, **options: Any) -> ChatMessage:
        """The model's answer; see ``smolagents.Model.generate``."""
        options |= dict(zip(("stop_sequences", "response_format", "tools_to_call_from"), args, strict=False))
        request, limit, answers, options = self._request(messages, **options)

        def attempt() -> ChatMessage:
            with self._guard.model(self._name, request, limit, fit=answers == 1) as charge:
                options[self._limit_name] = charge.most_tokens // answers
                message = self._inner.generate(messages, **options)
                _used(charge, message)
                return message

        return self._retry(attempt)

    def generate_stream(
        self, messages: list[ChatMessage], *args: Any, **options: Any
    ) -> Iterator[ChatMessageStreamDelta]:
        """The same piece by piece."""
        options |= dict(zip(("stop_sequences", "response_format", "tools_to_call_from"), args, strict=False))
        request, limit, answers, options = self._request(messages, **options)
        with self._guard.model(self._name, request, limit, fit=answers == 1) as charge:
            options[self._limit_name] = charge.most_tokens // answers
            usages = []
            for delta in self._inner.generate_stream(messages, **options):
                if delta.token_usage:
                    usages.append(delta.token_usage)
                yield delta
            if usages:
                charge.used(
                    total(usage.input_tokens for usage in usages), total(usage.output_tokens for usage in usages)
                )


def _used(charge: ModelCharge, message: ChatMessage) -> None:
    """Settle at what smolagents counts; what the cache had and which model it is only the provider's answer says."""
    usage, meter = message.token_usage, Meter()
    meter.take(message.raw)
    counts = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    (meter.usage or ProviderUsage(None, None, None, None))._replace(prompt=counts[0], completion=counts[1]).settle(
        charge
    )


def _limit(name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ConfigError(f"the model's {name} is {short(value)}; give it as a whole number above 0, or leave it out")


class _BoundedTool(Tool):  # type: ignore[misc]
    skip_forward_signature_validation = True

    def __init__(self, tool: Tool, guard: Guard) -> None:
        self.name, self.description, self.inputs = tool.name, tool.description, tool.inputs
        self.output_type, self.output_schema = tool.output_type, tool.output_schema
        self.forward = _paid(tool, guard)
        super().__init__()

    def to_dict(self) -> dict[str, Any]:
        raise ConfigError(f"the tool {self.name} is under a guard and cannot be sent elsewhere as source code")


def _paid(tool: Tool, guard: Guard) -> Callable[..., Any]:
    """A tool's call behind the guard.

    What it holds is no attribute: code that a model writes may read and set those of the tool that it was given.
    """
    name, inputs, answers_text = tool.name, tuple(tool.inputs), tool.output_type in {"string", "any"}

    def forward(*args: Any, **arguments: Any) -> Any:
        named = dict(zip(inputs, args, strict=False)) | arguments  # written code may leave the names out
        with ExitStack() as stack:
            try:
                charge = stack.enter_context(guard.tool(name, named))
            except REFUSALS as error:
                message = guard.refusal(error, name)
                if answers_text:
                    return message
                raise ChargeError(message) from error  # no text can stand for a number or a picture
            result = tool(*args, **arguments)
            charge.answered(str(result), result)
            return result

    return forward


def bounded_tools(tools: Iterable[Tool], guard: Guard) -> list[Tool]:
    """The same tools, called only when the guard has paid; a refused one answers with the reason and what would fit.

    Where a tool answers by a number or a picture, a refusal is an error, which an agent reads as well.

    Args:
        tools: The tools. An agent in ``managed_agents`` is none: its own model and tools are bounded, by
            ``guard.within(...)`` where it has caps of its own.
        guard: The budget, which knows the tools by their names.

    Examples:
        >>> from smolagents import Tool
        >>> from tape import Guard
        >>> from tape.adapters.smolagents import bounded_tools
        >>> class Search(Tool):
        ...     name, description, output_type = "search", "Search.", "string"
        ...     inputs = {"query": {"type": "string", "description": "What for."}}
        ...     def forward(self, query: str) -> str:
        ...         return "Bern"
        >>> [bounded] = bounded_tools([Search()], Guard("$0.03", tools={"search": {"usd": "$0.02"}}))
        >>> bounded(query="town"), bounded(query="river")
        ('Bern', 'search was not called, nothing was spent: usd of the guard ledger: $0.02 requested, ...')
    """
    return [_BoundedTool(tool, guard) for tool in tools]
