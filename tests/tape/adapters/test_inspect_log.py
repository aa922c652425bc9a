"""Logs of Inspect AI: it reads them back with the run's scores, and its viewer shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tape.cli import main
from tape.redaction import hide
from tape.runner.directory import RunDirectory
from tape.runner.summary import summarise
from tape.trace import ActedEvent, Event, FinishedEvent, GeneratedEvent, read_trace
from tests.tape.show.view_runs import REFUSED, asked, episode, refused_episode, write_run, write_trace

pytest.importorskip("inspect_ai")

SECRET = "Hq4xP9nTz2Wb7Kd5Vy1m"


def written(run: Path, *more: str) -> Any:
    """The log of a run, read back."""
    from inspect_ai.log import read_eval_log

    out = run.parent / "log.eval"
    assert main(["export", str(run), "--to", "inspect", "--out", str(out), *more]) == 0
    return read_eval_log(out, resolve_attachments=True)


def ended(events: Sequence[Event], **result: Any) -> list[Event]:
    """The same episode with another result."""
    last = events[-1]
    assert isinstance(last, FinishedEvent)
    return [*events[:-1], FinishedEvent(result=last.result | result)]


def test_it_reads_back_with_the_scores_of_the_run(tmp_path: Path) -> None:
    measured = [ended(episode(success=success), measures={"f1": f1}) for success, f1 in ((True, 0.5), (False, 0.25))]
    run = write_run(tmp_path / "run", [*measured, episode()])
    log, directory = written(run), RunDirectory(run)
    [group] = summarise(directory.configurations(), directory.episodes())
    assert (log.status, log.eval.task, log.eval.model, log.eval.solver) == ("success", "travelplanner", "none", "tape")
    [success, f1] = log.results.scores
    assert success.name == "success"
    assert success.metrics["accuracy"].value == group["success_rate"] == pytest.approx(2 / 3)
    assert [success.metrics["ci95_low"].value, success.metrics["ci95_high"].value] == group["ci95"]
    assert (f1.name, f1.metrics["mean"].value) == ("f1", 0.375)
    assert [sample.scores["success"].value for sample in log.samples] == ["C", "I", "C"]
    assert [sample.scores["success"].answer for sample in log.samples] == ["Kaloris"] * 3
    assert log.samples[0].scores["f1"].value == 0.5
    lines = {line["task"]: line["result"] for line in directory.episodes()}
    for sample in log.samples:
        assert sample.metadata["tape.end_state"] == lines[sample.id]["end_state"]
        usage = sample.model_usage["none"]
        assert usage.input_tokens == sum(lines[sample.id]["prompt_tokens"].values())
        assert usage.output_tokens == sum(lines[sample.id]["completion_tokens"].values())


def test_messages_and_events_are_those_of_the_trace(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [episode()])
    [sample] = written(run).samples
    assert [message.role for message in sample.messages] == [
        "user", "assistant", "assistant", "tool", "assistant", "assistant", "tool",
    ]  # fmt: skip
    assert sample.messages[0].text == "Find out who rules Olemund.\n\nat start"
    assert sample.messages[1].text == "Plan (OPTIMAL, at most 2 steps, $0.005):\nsearch cheap\nask a person"
    [call] = sample.messages[2].tool_calls
    assert (call.function, call.arguments) == ("search", {"action": "search cheap"})
    assert (sample.messages[3].text, sample.messages[3].tool_call_id) == ("at hint", call.id)
    events = list(read_trace(RunDirectory(run).trace_file("tape0000")))
    kinds = Counter(event.event for event in sample.events)
    assert kinds["model"] == sum(isinstance(event, GeneratedEvent) for event in events)
    assert kinds["tool"] == sum(isinstance(event, ActedEvent) for event in events)
    assert kinds["score"] == 1
    spans = [(event.type, event.name) for event in sample.events if event.event == "span_begin"]
    assert spans == [("solver", "tape"), ("plan", "plan"), ("plan", "plan")]
    open_spans: list[str] = []
    for event in sample.events:
        if event.event == "span_begin":
            assert event.parent_id == (open_spans[-1] if open_spans else None)
            open_spans.append(event.id)
        elif event.event == "span_end":
            assert open_spans.pop() == event.id
        elif open_spans and event.event != "score":
            assert event.span_id == open_spans[-1]
    assert open_spans == []
    [first, _] = [event.data for event in sample.events if event.event == "info" and event.source == "tape.plan"]
    assert first["path"] == ["search cheap", "ask a person"]
    assert first["plans"] == ["search cheap ; ask a person", "search dear"]
    assert (first["graph"], first["cost"]) == ({"nodes": 6, "edges": 5}, {"steps": "2 steps", "usd": "$0.005"})
    assert {"tape.mismatch", "tape.replanned", "tape.malformed"} <= {
        event.source for event in sample.events if event.event == "info"
    }
    assert [(event.decision, event.call.function) for event in sample.events if event.event == "approval"] == [
        ("approve", "ask")
    ]


@pytest.mark.parametrize(("decision", "shown"), [("refused", "reject"), ("stopped", "terminate")])
def test_a_refused_approval_is_one(tmp_path: Path, decision: Any, shown: str) -> None:
    [sample] = written(write_trace(tmp_path / "one.jsonl", refused_episode(decision))).samples
    [asked] = [event for event in sample.events if event.event == "approval"]
    assert (asked.decision, asked.call.arguments) == (shown, {"action": REFUSED})
    assert asked.explanation == f"{decision}: {REFUSED} (asked because: destructive)"


def test_calls_have_their_arguments(tmp_path: Path) -> None:
    from tests.tape.show.view_runs import acted

    call = 'look.fast(table="t", rows=[1, 2], of=#1)'
    events = episode()
    events[9:13] = acted(1, call, 1_000, "hint", {})
    [sample] = written(write_trace(tmp_path / "one.jsonl", events)).samples
    made = next(event for event in sample.events if event.event == "tool")
    assert (made.function, made.arguments) == ("look.fast", {"table": "t", "rows": [1, 2], "of": "#1"})


def test_limits_and_faults(tmp_path: Path) -> None:
    spent = ended(episode(success=False), end_state="budget:usd", detail="usd: it would be too much")
    fault = ended(episode(success=False), end_state="model_error", detail="nobody answered")
    run = write_run(tmp_path / "run", [spent, fault, episode()[:-3] + ended(episode())[-1:]])
    by_task = {sample.id: sample for sample in written(run).samples}
    limit = by_task["task 0"].limit
    assert (limit.type, limit.limit, limit.reason) == ("cost", 0.008, "usd: it would be too much")
    assert by_task["task 0"].error is None
    assert by_task["task 1"].error.message == "nobody answered"
    assert by_task["task 1"].limit is None
    assert by_task["task 2"].error is None


def test_repeats_are_epochs_and_a_trace_that_was_cut_off_is_cancelled(tmp_path: Path) -> None:
    log = written(write_run(tmp_path / "run", [episode(), episode()], repeats=2))
    assert log.eval.config.epochs == 2
    assert [(sample.id, sample.epoch) for sample in log.samples] == [("task 0", 1), ("task 0", 2)]
    log = written(write_trace(tmp_path / "one.jsonl", episode()[:9]))
    assert (log.status, log.results.scores) == ("cancelled", [])
    [sample] = log.samples
    assert (sample.id, sample.scores) == ("one", {})
    assert "interrupted" in sample.error.message


def test_no_secret_is_written_and_any_text_can_be(tmp_path: Path) -> None:
    events = episode(task=f"Use {SECRET} well.")
    events[3:3] = [asked("plan", f"key {SECRET}", f"said {SECRET}", "half \ud800 a pair \x00 \u202e")]
    trace = write_trace(tmp_path / "one.jsonl", ended(events, answer=SECRET, detail=f"not {SECRET}"))
    assert hide(SECRET)
    log = written(trace)
    dumped = log.model_dump_json()
    assert SECRET not in dumped
    assert "[key]" in dumped
    assert "half \\\\ud800 a pair" in dumped
    # The viewer shows what models wrote as text.
    assert log.eval.viewer.trust_content is False


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("log.json", "ends in .eval; name it"),
        ("no-folder/log.eval", "does not exist; make it first"),
        ("folder.eval", "is a folder; name a file"),
    ],
)
def test_a_place_that_can_hold_no_log(
    out: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.eval").mkdir()
    trace = write_trace(tmp_path / "one.jsonl", episode())
    assert main(["export", str(trace), "--to", "inspect", "--out", str(tmp_path / out)]) == 2
    assert message in capsys.readouterr().err


def test_of_several_configurations_one_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", [episode()])
    config = json.loads((run / "config.json").read_text())
    config["cells"]["two"] = config["cells"]["tape"]
    (run / "config.json").write_text(json.dumps(config))
    directory = RunDirectory(run)
    [line] = directory.episodes()
    other = write_trace(tmp_path / "two.jsonl", ended(episode(success=False)))
    again = {"cell": "two", "key": "two0", "result": line["result"] | {"success": False}}
    directory.append([line | again], {"two0": other})
    assert main(["export", str(run), "--to", "inspect"]) == 2
    assert "has 2 configurations (tape, two)" in capsys.readouterr().err
    assert [sample.scores["success"].value for sample in written(run, "--configuration", "two").samples] == ["I"]
    assert main(["export", str(run), "--to", "inspect", "--configuration", "tape"]) == 0
    assert (run / "inspect-tape.eval").is_file()
