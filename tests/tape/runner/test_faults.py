"""Runs whose model fails: the fault is reported, not an unsolved level."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.engine.settings import TapeConfig
from tape.runner.runner import errored
from tape.runner.spec import RunSpec
from tape.runner.summary import FAULTS, cells, fault_note, remark, score, summarise
from tape.show.progress import PlainDisplay
from tests.tape.runner.records import record


def ended(*ends: str) -> list[dict[str, Any]]:
    return [
        record(f"k{i}", {"end_state": end, "success": end == "success", "detail": f"why {i}"}, digest=f"d{i}")
        for i, end in enumerate(ends)
    ]


def groups_of(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    config = TapeConfig()
    spec = RunSpec(environment="sokoban", options={}, agent="tape", config=config, model="none", model_identity="none")
    return summarise({"tape": spec}, lines)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ({"success": 1, "failure": 1}, "1/2 solved"),
        ({"success": 1, "model_error": 2}, "1/3 solved, 2 model_error"),
        ({"success": 1, "no_plan": 1}, "1/2 solved"),
        ({"model_error": 2, "env_error": 1}, "no result: 2 model_error, 1 env_error"),
    ],
)
def test_the_score_counts_faults_apart(ends: dict[str, int], text: str) -> None:
    assert score(1, ends) == text


def test_a_run_of_faults_has_no_score_and_no_rate() -> None:
    lines, out = ended("model_error", "model_error"), io.StringIO()
    with PlainDisplay("a label", out) as shown:
        for done, line in enumerate(lines, 1):
            shown.watcher().finished(line, done, 2)
    assert out.getvalue().splitlines()[1].endswith("| no result: 2 model_error")
    groups = groups_of(lines)
    assert errored(groups) == 2
    shown = dict(zip(*cells(groups), strict=True))
    assert (shown["success"], shown["95 % interval"], shown["ended"]) == ("-", "-", "2 model_error")
    assert fault_note(groups, lines).startswith("every episode ended by a fault (2 model_error)")
    assert fault_note(groups, lines).endswith("the first: why 0")


def test_end_states_stand_in_the_table_and_unusual_ones_are_explained() -> None:
    lines = ended("no_plan", "success", "no_plan", "solver_error", "budget:steps")
    groups = groups_of(lines)
    shown = dict(zip(*cells(groups), strict=True))
    assert (shown["ended"], shown["success"]) == ("2 no_plan, 1 budget:steps, 1 solver_error, 1 success", "0.20")
    assert "no_plan: no sampled plan could be read, or none had an action." in remark(groups)
    assert "model_error" not in remark(groups)
    assert fault_note(groups, lines) == (
        "of 5 episodes some ended by a fault (1 solver_error), which says nothing about the agent; the first: why 3"
    )
    assert fault_note(groups_of(ended("success")), []) == ""
    assert "no_plan" not in FAULTS, "a plan that cannot be read is the agent's own failure"


def test_the_command_reports_that_no_model_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    model = "openai:x@http://127.0.0.1:9/v1#retries=0"  # no server listens there
    command = ["run", "sokoban", "--model", model, "--limit", "2", "--out", str(tmp_path / "run")]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "no result: 2 model_error" in printed.out
    assert "0/2 solved" not in printed.out
    assert "tape run: every episode ended by a fault (2 model_error)" in printed.err
    assert "cannot be reached" in printed.err
