"""pydantic-ai: a capability that pays for the calls of an agent's model and tools.

``Agent(model, tools=[...], capabilities=[GuardCapability(guard)])``. It is always innermost, so every attempt of
a retry is paid for. Needs the extra ``pydantic-ai``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from tape.errors import ConfigError
from tape.guard.charges import ModelCharge
from tape.guard.guard import REFUSALS, Guard
from tape.plugins import require_extra

require_extra("pydantic-ai", "pydantic_ai", what="the guard of pydantic-ai agents")

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, WrapToolExecuteHandler
from pydantic_ai.exceptions import ToolFailed, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart, ToolReturn
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.usage import RequestUsage
from pydantic_core import to_json, to_jsonable_python

_KEPT_ELSEWHERE = ("previous_response_id", "conversation_id")


class OutOfBudget(UsageLimitExceeded):  # type: ignore[misc]
    """A call of the model did not fit, and was not made; ends the run as pydantic-ai's own limits do."""


@dataclass
class GuardCapability(AbstractCapability[Any]):  # type: ignore[misc]
    """Every call of an agent's model and tools is paid for from a guard.

    A refused tool call reaches the model as a failed one, with what would fit; so does a tool whose nested agent ran
    out of its own budget. A refused model call raises :class:`OutOfBudget`.

    Attributes:
        guard: The budget.

    Examples:
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> from tape import Guard
        >>> from tape.adapters.pydantic_ai import GuardCapability
        >>> def search(query: str) -> str:
        ...     return "Bern"
        >>> guard = Guard("5 steps, 5 calls")
        >>> Agent(TestModel(), tools=[search], capabilities=[GuardCapability(guard)]).run_sync("Which town?").output
        '{"search":"Bern"}'
        >>> guard.left()["left"]
        {'calls': 3, 'steps': 4}
    """

    guard: Guard

    def get_ordering(self) -> CapabilityOrdering:
        """Within all that repeats calls."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Pay for what this model is asked; one that is paid for already is left alone.

        Raises:
            ConfigError: It would ask several models, of which this sees one call.
        """
        if isinstance(model, BoundedModel):
            return None
        if isinstance(model, FallbackModel):
            if all(isinstance(item, BoundedModel) for item in model.models):
                return None
            raise ConfigError(
                "a FallbackModel asks several models in one call: bound each, FallbackModel(BoundedModel(one, guard), "
                "BoundedModel(other, guard)), or take the capability ModelFallback"
            )
        return BoundedModel(model, self.guard)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Pay for a call of a tool."""
        del ctx, tool_def
        with ExitStack() as paid:
            try:
                charge = paid.enter_context(self.guard.tool(call.tool_name, _plain(args)))
            except REFUSALS as error:
                raise ToolFailed(self.guard.refusal(error, call.tool_name)) from error
            try:
                result = await handler(args)
            except OutOfBudget as error:
                raise ToolFailed(f"{call.tool_name} ran out of its own budget: {error.__cause__}") from error
            value = _plain(result.return_value if isinstance(result, ToolReturn) else result)
            charge.answered(value if isinstance(value, str) else to_json(value).decode(), value)
            return result


class BoundedModel(WrapperModel):  # type: ignore[misc]
    """A model whose every call is paid for. The capability makes it; use it alone for the models of a FallbackModel.

    Args:
        wrapped: The model, or its name. Its client's own retries are switched off by the setting ``max_retries``.
        guard: The budget, which knows the model by its ``model_name``.

    Examples:
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.fallback import FallbackModel
        >>> from pydantic_ai.models.test import TestModel
        >>> from tape import Guard
        >>> from tape.adapters.pydantic_ai import BoundedModel
        >>> guard, first, spare = Guard("5 calls"), TestModel(custom_output_text="Bern."), TestModel()
        >>> both = FallbackModel(BoundedModel(first, guard), BoundedModel(spare, guard))
        >>> Agent(both).run_sync("Which town?").output, guard.left()["left"]
        ('Bern.', {'calls': 4})
    """

    def __init__(self, wrapped: Model | str, guard: Guard) -> None:
        super().__init__(wrapped)
        self._guard = guard

    async def request(
        self, messages: list[ModelMessage], model_settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        """Pay for a call."""
        with self._paid(messages, model_settings, parameters) as (charge, settings):
            response = await self.wrapped.request(messages, settings, parameters)
            _used(charge, response.usage, response.model_name)
            return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Pay for a call whose answer is streamed; one that is not read to its end costs its worst case."""
        with self._paid(messages, model_settings, parameters) as (charge, settings):
            async with self.wrapped.request_stream(messages, settings, parameters, run_context) as stream:
                yield stream
            if (answer := stream.get()).state == "complete":
                _used(charge, stream.usage, answer.model_name)

    async def batch_create(self, *_: Any) -> NoReturn:
        """Refuse: what a batch costs is not known here."""
        raise ConfigError("a guard does not pay for batches of requests; take BatchModelRequests out")

    async def compact_messages(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: what it costs is not known here."""
        raise ConfigError("a guard does not pay for messages that the provider makes shorter; take that out")

    @contextmanager
    def _paid(
        self, messages: list[ModelMessage], given: ModelSettings | None, parameters: ModelRequestParameters
    ) -> Iterator[tuple[ModelCharge, ModelSettings]]:
        settings = merge_model_settings(self.wrapped.settings, given) or ModelSettings()
        _, prepared = self.wrapped.prepare_request(settings, parameters)
        if prepared.native_tools or any(key.endswith(_KEPT_ELSEWHERE) for key in settings):
            raise ConfigError(
                f"{self.model_name} is given tools that the provider runs, or a conversation that it keeps: what such "
                "a call costs is not known before it. Use tools and messages of your own"
            )
        dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        sent = to_json([dumped, prepared, *([settings] if settings else [])], serialize_unknown=True)
        with ExitStack() as paid:
            try:
                limit = settings.get("max_tokens")
                charge = paid.enter_context(self._guard.model(self.model_name, sent, limit, fit=True))
            except REFUSALS as error:
                raise OutOfBudget(self._guard.refusal(error, self.model_name)) from error
            yield charge, {**settings, "max_tokens": charge.most_tokens, "max_retries": 0}


def _used(charge: ModelCharge, usage: RequestUsage, model: str | None = None) -> None:
    charge.used(
        None if usage.unmeasured_requests else usage.input_tokens,
        usage.output_tokens,
        cached=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        written_1h=usage.details.get("ephemeral_1h_input_tokens"),
        model=model,
    )


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, serialize_unknown=True, bytes_mode="base64")
