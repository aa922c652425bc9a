"""Methods under tight and loose budgets: a tiny run with a scripted model, and its report."""

import re
from functools import partial
from pathlib import Path

import pytest

from envs.gsm_hard.generator import problem_set
from experiments.harness import tightness
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from tape.budget import Ledger
from tape.protocols import Task
from tape.runner.directory import RunDirectory
from tape.runner.work import Keep, Played, Watcher, Work
from tape.runner.workers import InProcess
from tape.show.document import Section
from tests.envs.tool_scripts import arithmetic_script

PROBLEM = problem_set("dev")[0]
OWN = {"data": None, "problems": "dev", "profile": "priced"}


def _operations(task: Task) -> str:
    return f"{task.facts['problem'].operations} operations"


def sections(measured: Measured) -> list[Section]:
    return [
        tightness.bars(measured, "gsm_hard"),
        tightness.spending(measured),
        tightness.by_category(measured, "By number of operations", _operations),
    ]


EXPERIMENT = Experiment(
    name="priced",
    module=__name__,
    title="Arithmetic tools under two budgets",
    source="none",
    about="A problem whose program a script knows.",
    models=("scripted:own",),
    configurations=partial(tightness.configurations, "gsm_hard", OWN),
    sections=sections,
    pairs=against(tightness.TAPE.label),
)
BOTH = [f"{budget} / scripted:own / {method.label}" for budget in ("tight", "loose") for method in tightness.METHODS]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model that knows the answer behind ``scripted:own``; the keys of all episodes that are played."""
    monkeypatch.setattr("tape.lm.scripted.open_scripted", lambda _: arithmetic_script(PROBLEM, "standard"))
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


def run(*arguments: str) -> int:
    return tightness.run(EXPERIMENT, "gsm_hard", OWN, arguments)


def test_a_tiny_run_writes_its_report_and_plays_nothing_once_more(
    tmp_path: Path, played: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--limit", "1", "--seeds", "1", "--quiet", "--out", str(tmp_path / "run")]
    assert run(*arguments) == 0
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
    expected = [row.split(" / ") for row in BOTH]
    head, *spent = section(report, "Spending")
    assert "used of the caps" in head
    assert [[part.strip(" `") for part in row.split("|")[1:4]] for row in spent] == expected
    assert all(re.search(r" s \(\d+%\); \$\S+ \(\d+%\)", row) for row in spent)
    head, *rows = section(report, "By number of operations")
    assert head.split("|")[4].strip() == f"{PROBLEM.operations} operations"
    assert len(rows) == 18
    assert all("; 1)" in row for row in rows)
    assert (tmp_path / "run" / "plots" / "gsm_hard.png").stat().st_size > 1000
    assert run(*arguments) == 0
    assert len(played) == 18
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == report
