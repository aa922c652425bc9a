"""A finished run to an OpenTelemetry collector, over OTLP HTTP."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tape import __version__
from tape.adapters.finished import FinishedEpisode, FinishedRun
from tape.adapters.otel import SDK, Attributes, Spans, provider
from tape.errors import ConfigError, TapeError
from tape.plugins import require_extra
from tape.redaction import redacted

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

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

    Returns:
        How many episodes and spans were sent.

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
