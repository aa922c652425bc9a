"""OpenTelemetry: well-formed spans reach a collector, of finished runs and live."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tape import Budget, TapeAgent
from tape.adapters.otel import Spans, clean, model_of, provider, tool_of
from tape.cli import main
from tape.redaction import hide
from tape.trace import ActedEvent, Event, FinishedEvent, GeneratedEvent, PathSelectedEvent, read_trace
from tests.places import ROOT
from tests.tape.adapters.collector import Collector, values
from tests.tape.agents.cleaning import CAPS, Cleaning, obedient
from tests.tape.show.view_runs import asked, episode, write_run, write_trace

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

SECRET = "Zq8vK2mXw4Rt7Lp1Bn5c"


def sent(run: Path, *more: str) -> Collector:
    """What arrives of an export."""
    with Collector() as collector:
        assert main(["export", str(run), "--to", "otel", "--endpoint", collector.url, *more]) == 0
    return collector


def lies_well(spans: Sequence[Any]) -> None:
    """One outermost span a trace; all others lie in one of their own trace, and within its time."""
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    for span in spans:
        assert len(span.span_id) == 8
        assert len(span.trace_id) == 16
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert all(
            span.start_time_unix_nano <= event.time_unix_nano <= span.end_time_unix_nano for event in span.events
        )
        if span.parent_span_id:
            parent = known[span.parent_span_id]
            assert parent.trace_id == span.trace_id
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    roots = [span for span in spans if not span.parent_span_id]
    assert len({span.trace_id for span in roots}) == len(roots) == len({span.trace_id for span in spans})
    assert all(span.name.startswith("invoke_agent ") for span in roots)


def counted(events: Sequence[Event]) -> dict[str, int]:
    """How many spans of each kind events make."""
    return {
        "invoke_agent": sum(isinstance(event, FinishedEvent) for event in events),
        "chat": sum(isinstance(event, GeneratedEvent) for event in events),
        "execute_tool": sum(isinstance(event, ActedEvent) for event in events),
    }


def kinds(spans: Sequence[Any]) -> Counter[str]:
    return Counter(values(span.attributes)["gen_ai.operation.name"] for span in spans)


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "invoke_agent tape": {
        "gen_ai.agent.name": "tape", "tape.environment": "travelplanner", "tape.task": "task 0",
        "tape.time": "duration",
        "tape.end_state": "success", "tape.success": True, "tape.budget.usd": 0.008, "tape.used.usd": 0.005,
        "tape.used.steps": 2, "gen_ai.usage.input_tokens": 36, "gen_ai.usage.output_tokens": 15,
    },
    "plan tape": {
        "tape.path.actions": ["search cheap", "ask a person"], "tape.path.cost.usd": 0.005, "tape.remaining.usd": 0.008,
        "tape.graph.nodes": 6, "tape.graph.edges": 5, "tape.graph.goals": 3, "tape.solver.seconds": 0.001,
        "tape.path.status": "OPTIMAL", "tape.path.selector": "labelling", "tape.time": "order",
    },
    "execute_tool search": {
        "tape.action": "search cheap", "tape.cost.usd": 0.001, "tape.remaining.usd": 0.007, "tape.planned": True,
    },
    "chat none": {"tape.role": "plan", "gen_ai.request.choice.count": 2},
}  # fmt: skip


def test_a_finished_run_is_one_trace_an_episode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", [episode(), episode(success=False)])
    collector = sent(run)
    assert "sent: 2 episodes as 16 spans" in capsys.readouterr().out
    spans = collector.spans
    lies_well(spans)
    assert collector.paths == ["/v1/traces"]
    assert all(resource["service.name"] == "tape" for resource in collector.resources)
    assert kinds(spans) == {"invoke_agent": 2, "plan": 4, "chat": 6, "execute_tool": 4}
    by_name = {span.name: span for span in reversed(spans)}
    assert set(by_name) == {
        "invoke_agent tape", "plan tape", "chat none", "execute_tool search", "execute_tool ask",
    }  # fmt: skip
    for name, expected in ATTRIBUTES.items():
        mapping = values(by_name[name].attributes)
        assert {key: mapping.get(key) for key in expected} == expected
    names = {event.name for span in spans for event in span.events}
    assert {"tape.mismatch", "tape.replanned", "tape.malformed", "tape.approval", "tape.path_selected"} <= names


def test_content_goes_out_only_where_it_is_asked_for(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [episode()])
    prompt, picture = b"Plan from the start.", b"at hint"
    assert not any(text in b"".join(sent(run).bodies) for text in (prompt, picture, b"rules Olemund"))
    collector = sent(run, "--content")
    assert all(text in b"".join(collector.bodies) for text in (prompt, picture, b"rules Olemund"))
    chat = next(values(span.attributes) for span in collector.spans if span.name == "chat none")
    assert json.loads(chat["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "You plan."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Plan from the start."}]},
    ]
    assert [item["parts"][0]["content"] for item in json.loads(chat["gen_ai.output.messages"])] == [
        "search cheap, ask a person", "search dear",
    ]  # fmt: skip


def test_the_same_run_has_the_same_identifiers_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [episode()])
    first, second = (sent(run).spans for _ in range(2))
    assert [(item.trace_id, item.span_id) for item in first] == [(item.trace_id, item.span_id) for item in second]


def test_a_single_trace_and_one_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = write_trace(tmp_path / "one.jsonl", episode())
    assert values(sent(trace).spans[-1].attributes)["tape.task"] == "one"
    run = write_run(tmp_path / "run", [episode()])
    assert len(sent(run, "--configuration", "tape").spans) == 8
    assert main(["export", str(run), "--to", "otel", "--configuration", "react"]) == 2
    assert "there is no configuration 'react'; there is: tape" in capsys.readouterr().err


def test_a_large_run_is_sent_in_several_requests(tmp_path: Path) -> None:
    events = episode()
    events[3:3] = [asked("plan", f"Plan {number}.", "go") for number in range(600)]
    collector = sent(write_trace(tmp_path / "one.jsonl", events))
    assert len(collector.bodies) == 2
    assert len(collector.spans) == 608
    lies_well(collector.spans)


@pytest.mark.parametrize(
    ("caps", "end"), [(CAPS, "success"), (Budget.of(usd="0.004", steps=9), "infeasible")], ids=["enough", "too little"]
)
def test_a_live_episode(tmp_path: Path, caps: Budget, end: str) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    trace = tmp_path / "trace.jsonl"
    with Collector() as collector:
        made = provider()
        made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        with Spans(made.get_tracer("a program")) as spans:
            agent = TapeAgent(obedient(), horizon=9)
            result = agent.run(Cleaning().environment(), budget=caps, trace=trace, listener=spans)
        made.shutdown()
    assert result.end_state == end
    lies_well(collector.spans)
    events = list(read_trace(trace))
    counts = kinds(collector.spans)
    assert {kind: counts[kind] for kind in counted(events)} == counted(events)
    assert counts["plan"] >= 1
    root = next(span for span in collector.spans if not span.parent_span_id)
    known = values(root.attributes)
    assert (known["tape.end_state"], known["tape.time"]) == (end, "measured")
    # A budget that was kept is no error.
    assert not root.status.code
    paths = [event.actions for event in events if isinstance(event, PathSelectedEvent)]
    plans = [values(span.attributes) for span in collector.spans if span.name.startswith("plan ")]
    assert [plan["tape.path.actions"] for plan in plans if "tape.path.actions" in plan] == paths


@pytest.fixture
def memory() -> tuple[Any, Callable[[], Sequence[Any]]]:
    """A tracer provider that keeps what is made, and what asks for it."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    made, kept = provider(), InMemorySpanExporter()
    made.add_span_processor(SimpleSpanProcessor(kept))
    return made, kept.get_finished_spans


def test_an_episode_is_the_child_of_the_span_that_is_open_and_ends_as_an_error_where_it_is_cut_off(memory: Any) -> None:
    made, spans = memory
    with made.get_tracer("a program").start_as_current_span("request"), Spans(made.get_tracer("tape")) as listener:
        for event in episode()[:11]:
            listener(event)
    outer = next(span for span in spans() if span.name == "request")
    root = next(span for span in spans() if span.name.startswith("invoke_agent"))
    assert root.parent.span_id == outer.context.span_id
    assert root.attributes["error.type"] == "interrupted"
    assert not root.status.is_ok
    assert all(span.end_time is not None for span in spans())


def test_no_secret_leaves_live_or_later(memory: Any, tmp_path: Path) -> None:
    made, spans = memory
    events = episode(task=f"Use {SECRET} well.")
    events[-1] = FinishedEvent(
        result={"end_state": "model_error", "success": False, "detail": f"refused: {SECRET}", "answer": SECRET}
    )
    events[3:3] = [asked("plan", f"key {SECRET}", f"said {SECRET}")]
    trace = write_trace(tmp_path / "one.jsonl", events)  # before it is declared to be one
    assert SECRET in trace.read_text()
    assert hide(SECRET)
    with Spans(made.get_tracer("tape"), content=True) as listener:
        for event in events:
            listener(event)
    assert SECRET not in "".join(span.to_json() for span in spans())
    assert any("[key]" in span.to_json() for span in spans())
    collector = sent(trace, "--content")
    assert SECRET.encode() not in b"".join(collector.bodies)
    assert b"[key]" in b"".join(collector.bodies)


def test_values_that_the_protocol_cannot_hold_are_converted() -> None:
    held = clean({"a": 1 << 70, "b": "\ud800x", "c": None, "d": ["\udfff"], "e": [1 << 63, 1.5]})
    assert held == {"a": float(1 << 70), "b": "\\ud800x", "d": ["\\udfff"], "e": [float(1 << 63), 1.5]}


def test_names_of_models_and_tools() -> None:
    assert model_of({"model": "bundled:mini"}) == ("bundled", "mini")
    assert model_of({"model": "gemini:gemini-3"}) == ("gcp.gemini", "gemini-3")
    assert model_of({"model": "scripted"}) == ("scripted", "scripted")
    assert model_of({}) == ("none", "none")
    assert [tool_of(action) for action in ('web.search(text="x")', "go to fridge 1", "R", "(1,2)")] == [
        "web.search", "go", "R", "action",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            (["--to", "otel", "--endpoint", address], "not the address of an OTLP collector")
            for address in ("localhost:4318", "ftp://localhost", "http://", "http://h:99999")
        ),
        *(
            (["--to", "otel", "--endpoint", address], "OTEL_EXPORTER_OTLP_HEADERS")
            for address in (f"http://me:{SECRET}@localhost", f"http://localhost/?key={SECRET}")
        ),
        (["--to", "otel", "--out", "x.eval"], "--out means nothing to --to otel"),
        (["--to", "inspect", "--content"], "--content means nothing to --to inspect"),
        (["--to", "inspect", "--endpoint", "http://localhost"], "--endpoint means nothing to --to inspect"),
    ],
)
def test_malformed_options_are_refused_before_anything_is_read(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(tmp_path / "nothing"), *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert SECRET not in err


def test_a_collector_that_refuses_or_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", [episode()])
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    with Collector(status=400) as collector:
        assert main(["export", str(run), "--to", "otel", "--endpoint", collector.url]) == 2
        assert f"{collector.url}/v1/traces: 8 spans of run were not taken" in capsys.readouterr().err
    # Nobody listens there any more.
    assert main(["export", str(run), "--to", "otel", "--endpoint", collector.url]) == 2
    assert "is a collector for OTLP over HTTP listening there?" in capsys.readouterr().err


@pytest.mark.slow
def test_the_example_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    [code] = re.findall(r"```python\n(# live\.py\n.*?)```", (ROOT / "docs/reference/export.md").read_text(), re.DOTALL)
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        exec(compile(code, "export.md", "exec"), {})
    lies_well(collector.spans)
    assert kinds(collector.spans)["plan"] >= 1
