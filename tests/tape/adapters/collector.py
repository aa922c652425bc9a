"""A collector for OTLP over HTTP on loopback, for tests: it decodes what arrives and keeps it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.tape.lm.endpoint import Served


class Collector(Served):
    """Listens while it is entered.

    Args:
        status: What every request is answered with.

    Attributes:
        spans: The spans that arrived, decoded, in order.
        resources: The attributes of their resources.
        paths: The paths that were asked for.
        bodies: What arrived, as bytes.
    """

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    @property
    def url(self) -> str:
        return self.root

    def take(self, path: str, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        self.paths.append(path)
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(values(resource.resource.attributes))
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes of the protocol as plain values."""
    return {attribute.key: value(attribute.value) for attribute in attributes}


def value(held: Any) -> Any:
    kind = held.WhichOneof("value")
    if kind == "array_value":
        return [value(item) for item in held.array_value.values]
    return getattr(held, kind)
