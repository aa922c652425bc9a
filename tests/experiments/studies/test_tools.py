"""The experiments on tool environments: the matrix, tiny runs with scripted models, and their reports."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envs.gsm_hard.generator import problem_set
from envs.musique.corpus import load_questions
from experiments.harness import tightness
from experiments.harness.experiment import Experiment
from experiments.studies.tools import gsm_hard, musique
from tape.budget import Ledger
from tape.lm.base import Choice, LanguageModel, Request
from tape.runner.directory import RunDirectory
from tape.runner.work import Keep, Played, Watcher, Work
from tape.runner.workers import InProcess
from tests.envs.tool_scripts import arithmetic_script, look_up_script

PROBLEM, QUESTION = problem_set("dev")[0], load_questions("dev")[0]


def first_name(request: Request) -> str:
    """Reads the first name in the passages, be it the right one or not."""
    assert isinstance(request.constraint, Choice)
    return request.constraint.options[0]


@dataclass(frozen=True)
class Case:
    """An experiment with its own options, its report's sections by category, and a model for one of its tasks."""

    experiment: Experiment
    own: tuple[str, ...]
    categories: dict[str, str]
    defaults: dict[str, Any]
    script: Callable[[], LanguageModel]

    def run(self, *args: str) -> int:
        return tightness.run(self.experiment, self.experiment.name, self.defaults, args)


CASES = [
    Case(
        gsm_hard.EXPERIMENT, ("--problems", "dev"),
        {"By wording": PROBLEM.split, "By number of operations": f"{PROBLEM.operations} operations"}, gsm_hard.OWN,
        lambda: arithmetic_script(PROBLEM, "v2"),
    ),
    Case(
        musique.EXPERIMENT, ("--questions", "dev"), {"By number of hops": f"{QUESTION.operations} hops"}, musique.OWN,
        lambda: look_up_script(QUESTION, first_name, "v2"),
    ),
]  # fmt: skip
BOTH = [f"{budget} / scripted:own / {method.label}" for budget in ("tight", "loose") for method in tightness.METHODS]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that know the answers behind ``scripted:ENVIRONMENT-own``; the keys of all episodes that are played."""
    known = {f"{case.experiment.name}-own": case.script for case in CASES}
    monkeypatch.setattr("tape.lm.scripted.open_scripted", lambda argument: known[argument]())
    keys: list[str] = []
    play = InProcess.play

    def noted(self: InProcess, work: list[Work], watcher: Watcher, keep: Keep, run: Ledger | None = None) -> None:
        def note(item: Work, episode: Played) -> None:
            keys.append(episode.line["key"])
            keep(item, episode)

        play(self, work, watcher, note, run)

    monkeypatch.setattr(InProcess, "play", noted)
    return keys


def section(report: str, heading: str) -> list[str]:
    """The rows of the table below a heading, its head first."""
    [body] = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", report, re.MULTILINE | re.DOTALL)
    return [line for line in body.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.experiment.name)
def test_a_tiny_run_writes_its_report_and_plays_nothing_once_more(
    case: Case, tmp_path: Path, played: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = case.experiment.name
    arguments = ["--models", f"scripted:{name}-own", "--limit", "1", "--seeds", "1", "--quiet", *case.own]
    arguments += ["--out", str(tmp_path / "run")]
    assert case.run(*arguments) == 0
    assert "report: " in capsys.readouterr().out
    records = RunDirectory(tmp_path / "run").episodes()
    assert sorted(record["key"] for record in records) == sorted(played)
    assert len(records) == 18
    for record in records:
        result = record["result"]
        assert not result["end_state"].endswith("_error"), record["cell"]
        assert result["budget_violations"] == []
        assert {"seconds", "usd", "steps"} <= result["budget"].keys()

    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    expected = [row.replace("own", f"{name}-own").split(" / ") for row in BOTH]
    head, *spent = section(report, "Spending")
    assert "used of the caps" in head
    assert [[part.strip(" `") for part in row.split("|")[1:4]] for row in spent] == expected
    assert all(re.search(r" s \(\d+%\); \$\S+ \(\d+%\)", row) for row in spent)
    for heading, category in case.categories.items():
        head, *rows = section(report, heading)
        assert head.split("|")[4].strip() == category
        assert len(rows) == 18
        assert all("; 1)" in row for row in rows)
    assert (tmp_path / "run" / "plots" / f"{name}.png").stat().st_size > 1000
    assert case.run(*arguments) == 0
    assert len(played) == 18
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == report
