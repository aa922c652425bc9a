"""OpenTelemetry: the calls of a gateway as spans ``execute_tool``; see :mod:`tape.adapters.otel`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tape import __version__
from tape.adapters.otel import SDK, amounts, clean, provider
from tape.adapters.otlp import EXPORTER
from tape.budget import Resources
from tape.budget.contract import State
from tape.gateway.watching import WatchedCall
from tape.plugins import missing_extra

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

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
