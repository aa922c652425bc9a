"""The study of uncertain costs: its published tables follow from its published runs and states."""

from __future__ import annotations

from typing import Any

import pytest

from envs.gsm_hard.arithmetic import is_right
from experiments.studies.tools import early
from tape.lm.registry import open_model
from tape.reading import read_json
from tape.trace import ForecastEvent


@pytest.fixture(scope="module")
def published() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = read_json(early.OUT, dict[str, Any])
    return found


def test_the_tables_follow_from_the_runs(published: dict[str, list[dict[str, Any]]]) -> None:
    found = {name: published[name] for name in ("runs", "states", "rests")}
    assert early.summary(found) == {name: published[name] for name in ("stops", "coverage", "probability")}


SHORTENED = {"fresh-101-36", "fresh-101-44"}
"""Runs that go on after a proof and give an answer by a plan that was sampled later, and leaves out an operation."""


def test_a_run_that_was_stopped_by_a_proof_finishes_only_by_a_plan_that_was_sampled_later(
    published: dict[str, list[dict[str, Any]]],
) -> None:
    ends = {(row["cell"], row["task"], row["arm"]): row for row in published["runs"]}
    found = {
        task
        for (cell, task, arm), row in ends.items()
        if arm == early.PROVEN and row["end"] == "infeasible" and ends[cell, task, early.NEVER]["finished"]
    }
    assert found == SHORTENED
    assert {row["task"] for row in published["states"] if row["finished"] and row["verdict"] == "nothing_fits"} == found


@pytest.mark.slow
def test_the_answers_that_a_proof_would_have_stopped_are_wrong(published: dict[str, list[dict[str, Any]]]) -> None:
    model = open_model("bundled:tools")
    for problem in early.problems(60):
        if problem.id in SHORTENED:
            [cap] = {row["cap"] for row in published["runs"] if row["task"] == problem.id and row["cell"] == "0.5 to 1"}
            result = early.play(model, problem, 0.5, cap, early.NEVER)
            assert result.success
            assert len(result.actions) - 1 < problem.operations
            assert not is_right(float(result.answer), problem.target)


@pytest.mark.slow
def test_a_run_is_played_as_it_was_published(published: dict[str, list[dict[str, Any]]]) -> None:
    model = open_model("bundled:tools")
    [problem] = early.problems(1)
    for cell, (least, _) in early.CELLS.items():
        for arm in early.ARMS:
            [row] = [
                row for row in published["runs"] if (row["cell"], row["task"], row["arm"]) == (cell, problem.id, arm)
            ]
            result = early.play(model, problem, least, row["cap"], arm)
            assert early.run_row(cell, arm, problem, result).items() <= row.items()
            told = [event for event in result.events or () if isinstance(event, ForecastEvent)]
            assert bool(told) == (early.ARMS[arm]["costs"] == "expected")
