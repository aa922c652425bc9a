"""OpenTelemetry: episodes as spans, by the semantic conventions for generative AI, live or from a finished run.

The conventions (https://github.com/open-telemetry/semantic-conventions-genai, of 2026, status "development") name the
spans ``invoke_agent``, ``plan``, ``chat`` and ``execute_tool`` and the attributes ``gen_ai.*``. What they have no name
for is ``tape.*``. Needs the extra ``otel``.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tape import __version__
from tape.adapters.operations import DURATION, MEASURED, ORDER, FinishedEpisode, Operation, Operations
from tape.budget import amount_of
from tape.plugins import require_extra
from tape.redaction import redacted
from tape.trace import (
    ActedEvent,
    DescribedEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    GraphFoldedEvent,
    LedgerEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    StartedEvent,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

Attributes = dict[str, Any]

SDK = ("opentelemetry", "opentelemetry.sdk")
"""What the extra brings; other packages bring the first one alone."""
FAULTS = frozenset({"model_error", "env_error", "solver_error", "solver_timeout", "invalid_output", "interrupted"})
"""End states that are errors; that a goal was not reached, or a budget kept, is none."""
PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""How the conventions call the services behind our model names; others keep the name that they have here."""
_REMOTE = frozenset({*PROVIDERS, "vllm", "sglang", "ollama", "llamacpp"})
_LARGEST = 1 << 63
_NAMES = {"walk_selected": "path_selected"}
"""Events that files call by an older name."""
_UNTOLD = (LedgerEvent, ObservedEvent, GraphFoldedEvent, ActedEvent, GeneratedEvent, StartedEvent, FinishedEvent)
"""Events that become attributes or spans; all others stand in a span as events of their own."""


class Spans:
    """A listener that makes spans of an agent's episodes, one trace each, while they are played.

    ``with Spans() as spans: agent.run(env, listener=spans)``. One listener serves one episode after another; episodes
    that are played at the same time need one each. Where a span is open in the caller, the episode is its child.

    Args:
        tracer: Makes the spans; None takes one of the program's own tracer provider.
        content: Prompts, completions, thoughts and observations too. They may hold private data, so
            the conventions leave them out by default.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        >>> from tape import OpenLoopAgent
        >>> from tape.adapters.otel import Spans, provider
        >>> tracers, kept = provider(), InMemorySpanExporter()
        >>> tracers.add_span_processor(SimpleSpanProcessor(kept))
        >>> with Spans(tracers.get_tracer("my program")) as spans:
        ...     _ = OpenLoopAgent("bundled:nano").run(SokobanEnvironment(load_set("easy")[0], 8), listener=spans)
        >>> print(*dict.fromkeys(span.name for span in kept.get_finished_spans()), sep=", ")
        chat nano, plan open_loop, execute_tool L, execute_tool U, execute_tool D, invoke_agent open_loop
    """

    def __init__(self, tracer: Tracer | None = None, *, content: bool = False) -> None:
        require_extra("otel", "opentelemetry", what="an export to OpenTelemetry")
        from opentelemetry import trace

        self._tracer = tracer or trace.get_tracer("tape", __version__)
        self._content = content
        self._spans: dict[Operation, Span] = {}
        self._config: Mapping[str, Any] = {}
        self._operations = Operations(self._begun, self._ended)
        self._times, self._more = MEASURED, Attributes()

    def __enter__(self) -> Spans:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        """Take an event of the episode under way; the time is now."""
        self._operations.take(time.time_ns(), event)

    def close(self) -> None:
        """End the spans of an episode that never ended, as failed ones."""
        self._operations.close()

    def replay(self, episode: FinishedEpisode, more: Attributes) -> None:
        """Make the spans of a finished episode."""
        self._times, self._more = ORDER, more
        for moment, event in zip(episode.times, episode.events, strict=True):
            self._operations.take(moment, event)
        self.close()

    def _begun(self, operation: Operation) -> None:
        from opentelemetry import trace

        if operation.kind == "agent":
            started = operation.last(StartedEvent)
            assert isinstance(started, StartedEvent)
            self._config = started.config
        # Outermost spans of a finished run have no parent, whatever is under way here.
        context = None if self._times == MEASURED else trace.set_span_in_context(trace.INVALID_SPAN)
        if operation.parent is not None:
            context = trace.set_span_in_context(self._spans[operation.parent])
        name, known = self._name(operation)
        remote = operation.kind == "model" and known["gen_ai.provider.name"] in {*_REMOTE, *PROVIDERS.values()}
        self._spans[operation] = self._tracer.start_span(
            redacted(name),
            context,
            kind=trace.SpanKind.CLIENT if remote else trace.SpanKind.INTERNAL,
            attributes=clean(known),
            start_time=operation.start,
        )

    def _ended(self, operation: Operation) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._spans.pop(operation)
        held = dict(self._known(operation))
        held["tape.time"] = DURATION if operation.kind == "agent" and self._times == ORDER else self._times
        span.set_attributes(clean(held))
        for moment, event in operation.events:
            refused = isinstance(event, LedgerEvent) and event.what == "refused"
            if refused or not isinstance(event, _UNTOLD):
                span.add_event(
                    f"tape.{_NAMES.get(event.type, event.type)}",
                    clean(_about(event)),
                    timestamp=min(moment, operation.end),
                )
        if error := held.get("error.type"):
            span.set_status(Status(StatusCode.ERROR, redacted(str(held.get("tape.detail") or error))))
        span.end(operation.end)

    def _name(self, operation: Operation) -> tuple[str, Attributes]:
        """A span's name, and the attributes that samplers may decide by."""
        agent = str(self._config.get("agent") or "tape")
        provider, model = model_of(self._config)
        match operation.kind:
            case "agent":
                known = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
                return f"invoke_agent {agent}", {
                    **known,
                    "gen_ai.provider.name": provider,
                    "gen_ai.request.model": model,
                }
            case "plan":
                return f"plan {agent}", {"gen_ai.operation.name": "plan", "gen_ai.agent.name": agent}
            case "model":
                known = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider}
                return f"chat {model}", {**known, "gen_ai.request.model": model}
            case "tool":
                tool = tool_of(action_of(operation))
                return f"execute_tool {tool}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}

    def _known(self, operation: Operation) -> Iterator[tuple[str, Any]]:
        match operation.kind:
            case "agent":
                yield from self._of_agent(operation)
            case "plan":
                yield from _of_plan(operation)
            case "model":
                yield from self._of_model(operation)
            case "tool":
                yield from self._of_tool(operation)

    def _of_agent(self, operation: Operation) -> Iterator[tuple[str, Any]]:
        started, finished = operation.last(StartedEvent), operation.last(FinishedEvent)
        assert isinstance(started, StartedEvent)
        yield from self._more.items()
        yield from amounts("tape.budget", started.budget)
        if self._content and started.task:
            yield "gen_ai.input.messages", _messages([("user", started.task)])
        if not isinstance(finished, FinishedEvent):
            yield from (("error.type", "interrupted"), ("tape.end_state", "interrupted"))
            return
        result = finished.result
        for name in ("end_state", "success", "steps", "replans", "mismatches", "malformed", "detail"):
            if name in result:
                yield f"tape.{name}", result[name]
        yield "gen_ai.usage.input_tokens", sum(result.get("prompt_tokens", {}).values())
        yield "gen_ai.usage.output_tokens", sum(result.get("completion_tokens", {}).values())
        yield from amounts("tape.used", result.get("used", {}))
        yield "tape.budget.overspent", result.get("budget_violations", [])
        yield from ((f"tape.measure.{name}", value) for name, value in result.get("measures", {}).items())
        if self._content and result.get("answer") is not None:
            yield "gen_ai.output.messages", _messages([("assistant", _text(result["answer"]))])
        if result.get("end_state") in FAULTS:
            yield "error.type", result["end_state"]

    def _of_model(self, operation: Operation) -> Iterator[tuple[str, Any]]:
        generated = operation.last(GeneratedEvent)
        assert isinstance(generated, GeneratedEvent)
        yield "tape.role", generated.role
        yield "gen_ai.usage.input_tokens", generated.prompt_tokens
        yield "gen_ai.usage.output_tokens", generated.completion_tokens
        if generated.weights is not None:
            yield "tape.scored_options", len(generated.texts)
        elif len(generated.texts) > 1:
            yield "gen_ai.request.choice.count", len(generated.texts)
        elif not generated.texts:
            yield "error.type", "no_answer"
        if self._content:
            yield "gen_ai.input.messages", _messages([(part.role or "user", part.content) for part in generated.prompt])
            yield "gen_ai.output.messages", _messages([("assistant", text) for text in generated.texts])

    def _of_tool(self, operation: Operation) -> Iterator[tuple[str, Any]]:
        acted, observed = operation.last(ActedEvent), operation.last(ObservedEvent)
        yield "tape.action", action_of(operation)
        reserved = next(event for _, event in operation.events if isinstance(event, LedgerEvent))
        yield from amounts("tape.reserved", reserved.amounts)
        if isinstance(acted, ActedEvent):
            yield "tape.step", acted.step
            yield "tape.planned", acted.planned == acted.action
            yield from amounts("tape.cost", acted.cost)
            if self._content and acted.text:
                yield "tape.thought", acted.text
        if isinstance(observed, ObservedEvent):
            yield from amounts("tape.remaining", observed.remaining)
            if self._content:
                yield "gen_ai.tool.call.result", observed.picture
        if operation.failed:
            yield "error.type", "tool_failed"


def _of_plan(operation: Operation) -> Iterator[tuple[str, Any]]:
    sampled = [event for _, event in operation.events if isinstance(event, PlansSampledEvent)]
    yield "tape.plans.sampled", sum(len(event.plans) for event in sampled)
    yield "tape.plans.valid", sum(sum(event.valid) for event in sampled)
    folded, selected = operation.last(GraphFoldedEvent), operation.last(PathSelectedEvent)
    if isinstance(folded, GraphFoldedEvent):
        nodes, links = folded.graph.get("nodes", []), folded.graph.get("links", [])
        yield "tape.graph.nodes", len(nodes)
        yield "tape.graph.edges", len(links)
        yield "tape.graph.goals", sum(bool(node.get("goal")) for node in nodes)
    if not isinstance(selected, PathSelectedEvent):
        return
    for name in ("selector", "status", "partial", "objective", "bound", "actions"):
        yield f"tape.path.{name}", getattr(selected, name)
    yield from amounts("tape.path.cost", selected.consumption)
    yield from amounts("tape.remaining", selected.problem.get("budget") or {})
    seconds = (event.seconds for _, event in operation.events if isinstance(event, PathSelectedEvent))
    yield "tape.solver.seconds", sum(seconds)


def _about(event: Event) -> Attributes:
    """An event that has no span of its own: its numbers and short texts."""
    if isinstance(event, DescribedEvent):
        return {"tape.text": event.description()}
    if isinstance(event, PlansSampledEvent):
        return {"tape.plans": [" ; ".join(plan) for plan in event.plans], "tape.valid": list(event.valid)}
    if isinstance(event, LedgerEvent):
        return {"tape.purpose": event.purpose, **dict(amounts("tape.requested", event.amounts))}
    held = event.model_dump().items()
    known = {f"tape.{name}": value for name, value in held if isinstance(value, str | int | float | list)}
    return {name: value for name, value in known.items() if not isinstance(value, list) or _texts(value)}


def _texts(value: list[Any]) -> bool:
    return all(isinstance(item, str) for item in value)


def amounts(prefix: str, counts: Mapping[str, int | None]) -> Iterator[tuple[str, float]]:
    """Amounts of resources as attributes, in their units: of ``usd`` dollars; those that are unknown are left out."""
    for kind, count in counts.items():
        if count is not None:
            amount = amount_of(kind, count)
            yield f"{prefix}.{kind}", int(amount) if amount == int(amount) else float(amount)


def action_of(operation: Operation) -> str:
    """The action of a tool call."""
    reserved = next(event for _, event in operation.events if isinstance(event, LedgerEvent))
    return reserved.purpose.removeprefix("step:")


def tool_of(action: str) -> str:
    """The tool's name in an action: what stands before its arguments, ``search.web`` of ``search.web(text="x")``."""
    match = re.match(r"[\w.-]+", action)
    return match[0] if match else "action"


def model_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Provider and model, as the conventions call them, of the configuration in a trace."""
    provider, _, model = str(config.get("model") or "none").partition(":")
    return PROVIDERS.get(provider, provider), model or provider


def clean(attributes: Mapping[str, Any]) -> Attributes:
    """Attributes that the protocol can hold, without the secrets of this process; None is left out.

    Whole numbers of more than 64 bits become floating-point numbers, lone surrogates their codes.
    """
    return {name: _storable(redacted(value)) for name, value in attributes.items() if value is not None}


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return float(value)
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def _messages(parts: list[tuple[str, str]]) -> str:
    """Messages as the conventions write them, in JSON."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in parts])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def provider(run: Mapping[str, str] | None = None) -> TracerProvider:
    """A tracer provider that calls the service ``tape``; ``OTEL_SERVICE_NAME`` renames it.

    Args:
        run: More attributes of the resource.

    Raises:
        MissingExtraError: The extra ``otel`` is not installed.

    Examples:
        >>> from tape.adapters.otel import provider
        >>> tracers = provider({"deployment.environment.name": "test"})
        >>> tracers.resource.attributes["deployment.environment.name"]
        'test'
        >>> tracers.shutdown()
    """
    require_extra("otel", *SDK, what="an export to OpenTelemetry")
    import os

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    name = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "tape"}
    return TracerProvider(resource=Resource.create({**name, "tape.version": __version__, **(run or {})}))
