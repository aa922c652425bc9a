"""OpenTelemetry over OTLP HTTP: a finished run to a collector, and the calls of a gateway as spans ``execute_tool``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tape import __version__
from tape.adapters.operations import FinishedEpisode, FinishedRun
from tape.adapters.otel import SDK, Attributes, Spans, amounts, clean, provider
from tape.budget import Resources
from tape.budget.contract import State
from tape.errors import ConfigError, TapeError
from tape.gateway.watching import WatchedCall
from tape.plugins import missing_extra, require_extra
from tape.redaction import redacted

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, Tracer


DEFAULT_ENDPOINT = "http://localhost:4318/v1/traces"
"""Where collectors listen by default; the SDK's own variables (``OTEL_EXPORTER_OTLP_ENDPOINT``) come before it."""
EXPORTER = tuple(f"opentelemetry.exporter{part}" for part in ("", ".otlp", ".otlp.proto", ".otlp.proto.http"))
_MANY = 512
"""Spans in one request."""


class ExportError(TapeError):
    """What was to be exported did not reach the other side."""


def endpoint_of(url: str) -> str:
    """The address that spans are sent to; of a collector without a path the usual one.

    Raises:
        ConfigError: It is no HTTP address, or holds a password, which would reach logs.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"--endpoint: not the address of an OTLP collector over HTTP; write {DEFAULT_ENDPOINT}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "--endpoint: an address with a name, a password or a query would stand in logs; put the key into the "
            "variable OTEL_EXPORTER_OTLP_HEADERS, and give the bare address"
        )
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1/traces"


def export(run: FinishedRun, endpoint: str | None = None, *, content: bool = False) -> tuple[int, int]:
    """Send a finished run to a collector over OTLP HTTP: one trace an episode.

    The identifiers of traces and spans are made from the episodes' keys, so the same run has the same ones again.

    Args:
        run: The run.
        endpoint: The collector; None takes that of the SDK's variables, else this machine's port 4318.
        content: Prompts, completions, thoughts and observations too.

    Raises:
        MissingExtraError: OpenTelemetry or its exporter is not installed.
        ConfigError: ``endpoint`` is none.
        ExportError: The collector was not reached, or refused the spans.
    """
    require_extra("otel", *SDK, *EXPORTER, what="an export to OpenTelemetry")
    where = endpoint_of(endpoint) if endpoint is not None else None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, sender = InMemorySpanExporter(), OTLPSpanExporter(endpoint=where)
    made = provider({"tape.run": redacted(run.source.name)})
    made.id_generator = ids = _ids()
    made.add_span_processor(SimpleSpanProcessor(memory))
    spans = Spans(made.get_tracer("tape", __version__), content=content)
    episodes = sent = 0

    def send(batch: list[ReadableSpan]) -> int:
        if batch and sender.export(batch) is not SpanExportResult.SUCCESS:
            address = where or "the address in OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318"
            raise ExportError(
                f"{address}: {len(batch)} spans of {run.source.name} were not taken ({sent} were, before); is a "
                "collector for OTLP over HTTP listening there? The lines above hold what it answered"
            )
        return len(batch)

    waiting: list[ReadableSpan] = []
    for episode in run.episodes():
        ids.begin(episode.line.get("trace_hash") or episode.key)
        spans.replay(episode, _of_record(episode))
        waiting += memory.get_finished_spans()
        memory.clear()
        episodes += 1
        while len(waiting) >= _MANY:
            sent += send(waiting[:_MANY])
            del waiting[:_MANY]
    sent += send(waiting)
    sender.shutdown()
    return episodes, sent


def _of_record(episode: FinishedEpisode) -> Attributes:
    names = ("environment", "level_set", "repeat")
    held = {f"tape.{name}": episode.line[name] for name in names if name in episode.line}
    if "cell" in episode.line:
        held["tape.configuration"] = episode.line["cell"]
    return {**held, "tape.task": episode.task, "tape.episode": episode.key}


def _ids() -> Any:
    """A generator of identifiers that are made from a name and a number."""
    from opentelemetry.sdk.trace.id_generator import IdGenerator

    class Ids(IdGenerator):  # type: ignore[misc]  # no types where the package is missing
        name, number = "", 0

        def begin(self, name: str) -> None:
            self.name, self.number = name, 0

        def _hashed(self, size: int, what: str) -> int:
            digest = hashlib.sha256(f"{self.name}:{what}".encode()).digest()[:size]
            return int.from_bytes(digest, "big") or 1

        def generate_trace_id(self) -> int:
            return self._hashed(16, "trace")

        def generate_span_id(self) -> int:
            self.number += 1
            return self._hashed(8, str(self.number))

    return Ids()


_ERRORS = {"booked": "unanswered", "voided": "server"}
"""What the caller is told of a call that has ended so."""


@contextmanager
def exported() -> Iterator[list[CallSpans]]:
    """What makes spans and sends them where the SDK's variables say.

    Nothing where OpenTelemetry is not installed, which is printed: the variables may be there for other programs.
    """
    if reason := missing_extra("otel", *SDK, *EXPORTER, what="an export to OpenTelemetry"):
        print(f"tape gateway: no spans are sent: {reason}", file=sys.stderr, flush=True)
        yield []
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    tracers = provider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))  # in a thread of its own
    try:
        yield [CallSpans(tracers.get_tracer("tape", __version__))]
    finally:
        tracers.shutdown()


class CallSpans:
    """A watcher that makes a span of each call, without arguments and results."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: dict[str, Span] = {}

    def begun(self, call: WatchedCall) -> None:
        """See :class:`Watcher`."""
        self._open[call.id] = self._span(call)

    def ended(self, call: WatchedCall, state: State, spent: Resources) -> None:
        """See :class:`Watcher`."""
        span = self._open.pop(call.id)
        span.set_attributes(clean({"tape.state": state, **dict(amounts("tape.cost", spent))}))
        _end(span, _ERRORS.get(state))

    def refused(self, call: WatchedCall, fields: Mapping[str, Any]) -> None:
        """See :class:`Watcher`."""
        if not call.id:  # else its span has ended
            span = self._span(call)
            names = ("resource", "scope", "left", "cap_needed")
            span.set_attributes(clean({f"tape.refused.{name}": fields.get(name) for name in names}))
            _end(span, fields["error"])

    def _span(self, call: WatchedCall) -> Span:
        known = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": call.id or None,
            "tape.client": call.client,
            "tape.session": call.scope,
            **dict(amounts("tape.reserved", call.worst)),
        }
        start = None if call.id else int(call.at.timestamp() * 1e9)
        return self._tracer.start_span(f"execute_tool {call.tool}", attributes=clean(known), start_time=start)


def _end(span: Span, error: str | None) -> None:
    from opentelemetry.trace import Status, StatusCode

    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end()
