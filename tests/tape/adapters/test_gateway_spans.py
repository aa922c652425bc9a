"""Calls of a gateway as spans: they arrive where OpenTelemetry's variables say, without arguments and results."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from tape.cli import gateway as command
from tests.tape.adapters.collector import Collector, values
from tests.tape.gateway.helpers import write_config
from tests.tape.gateway.over_http import serving_here
from tests.tape.gateway.test_calls import CONFIG
from tests.tape.gateway.test_processes import called

ENDPOINT = command.SPANS_TO[0]


def play(file: Path, *calls: tuple[str, dict[str, Any]], **env: str) -> list[bool]:
    """Whether each call of a client is an error."""

    with serving_here(file, **env) as address:
        return called(file, address, *calls)


def test_every_call_is_a_span_by_the_conventions(tmp_path: Path) -> None:
    file = write_config(tmp_path, f"[gateway]\ncall_seconds = 0.3\n{CONFIG}")
    private = "a private text"
    with Collector() as collector:
        calls = [("dear", {"text": private}), ("usage", {"usd": 0.01}), ("wait", {"text": private})]
        more = [("dear", {"text": private}), ("no such tool", {}), ("budget", {})]
        assert play(file, *calls, *more, **{ENDPOINT: collector.url}) == [False, False, True, True, True, False]
    assert collector.paths == ["/v1/traces"] * len(collector.paths)
    assert private.encode() not in b"".join(collector.bodies)
    assert collector.resources[0]["service.name"] == "tape"
    spans = {(span.name, span.status.code): values(span.attributes) for span in collector.spans}
    assert len(spans) == len(collector.spans) == 5
    paid = spans["execute_tool dear", 0]
    hold = paid.pop("gen_ai.tool.call.id")
    assert hold in file.with_suffix(".journal.jsonl").read_text()
    assert paid == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "dear", "tape.client": "local",
        "tape.session": "gateway/local/1", "tape.reserved.usd": 0.04, "tape.reserved.steps": 1,
        "tape.cost.usd": 0.04, "tape.cost.steps": 1, "tape.state": "settled",
    }  # fmt: skip
    assert spans["execute_tool usage", 0]["tape.cost.usd"] == 0.01
    assert (spans["execute_tool wait", 2]["error.type"], spans["execute_tool wait", 2]["tape.state"]) == (
        "unanswered",
        "booked",
    )
    refused = spans["execute_tool dear", 2]
    assert refused["error.type"] == "budget_exceeded"
    assert (refused["tape.refused.scope"], refused["tape.refused.cap_needed"]) == ("session", 0.13)
    assert "gen_ai.tool.call.id" not in refused
    assert spans["execute_tool 'no such tool'", 2]["error.type"] == "unknown_tool"
    [waited] = [span for span in collector.spans if span.name == "execute_tool wait"]
    assert waited.start_time_unix_nano < waited.end_time_unix_nano
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)


def test_without_the_variable_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in command.SPANS_TO:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tape.adapters.otlp.exported", lambda: pytest.fail("asked for"))
    assert play(write_config(tmp_path, CONFIG), ("dear", {"text": "x"})) == [False]


def test_a_collector_that_is_not_there_delays_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        env = {ENDPOINT: url, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        assert play(write_config(tmp_path, CONFIG), ("dear", {"text": "x"}), **env) == [False]


def test_without_the_extra_it_is_said_and_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape.adapters.otlp.missing_extra", lambda *_, what: f"{what} needs the extra otel")
    file = write_config(tmp_path, CONFIG)
    assert play(file, ("dear", {"text": "x"}), **{ENDPOINT: "http://127.0.0.1:1"}) == [False]
    assert re.search("no spans are sent: an export to OpenTelemetry needs", file.with_suffix(".log").read_text())
