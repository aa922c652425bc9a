"""The experiments on tool environments: the matrix, tiny runs with scripted models, and what their reports say."""

import json
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
from tape.lm.base import Choice, LanguageModel, Request
from tape.lm.scripted import ScriptedLM
from tape.runner.directory import RunDirectory
from tape.runner.work import Work
from tape.runner.workers import InProcess
from tests.envs.tool_scripts import arithmetic_script, look_up_script
from tests.tape.tools.helpers import follow, prompt, script

ROPE = {
    "input": "A rope of 2287720 m is cut in half. How long is a part?",
    "code": "x = 2287720 / 2",
    "target": 1143860,
}
HALVED: list[tuple[str, dict[str, Any]]] = [("divide.exact", {"a": 2287720, "b": 2})]
SHIP = {
    "id": "2hop__1_2",
    "question": "Who founded the builder of Aldera?",
    "answer": "Oris",
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Aldera", "paragraph_text": "Belmar built the ship Aldera.", "is_supporting": True},
        {"idx": 1, "title": "Belmar", "paragraph_text": "Oris founded the firm Belmar.", "is_supporting": True},
    ],
    "question_decomposition": [{"id": 1}, {"id": 2}],
}
LOOKED_UP: list[tuple[str, dict[str, Any]]] = [
    ("search.v5", {"query": "builder of Aldera"}),
    ("search.v5", {"query": "founder of #1"}),
]


def first_name(request: Request) -> str:
    """Reads the first name in the passages, be it the right one or not."""
    assert isinstance(request.constraint, Choice)
    return request.constraint.options[0]


def said(request: Request) -> str:
    """Reads what the passages about the ship say of what was asked for."""
    text, question = prompt(request).rsplit("\n\nQuestion: ", 1)
    answer = "Belmar" if "builder" in question else "Oris"
    return json.dumps({"answer": answer if answer in text else ""})


@dataclass(frozen=True)
class Case:
    """An experiment, and models for one task of its own and one of a file.

    Attributes:
        experiment: The experiment.
        own: The options that choose a task of its own.
        categories: Headings of the report's sections by category, with the column that such a task has.
        row: A task in the public format.
        of_file: The same headings with the column of that task.
        defaults: The options that the script chooses by itself.
        scripts: Models by the name that the command line gives them.
    """

    experiment: Experiment
    own: tuple[str, ...]
    categories: dict[str, str]
    row: dict[str, Any]
    of_file: dict[str, str]
    defaults: dict[str, Any]
    scripts: dict[str, Callable[[], LanguageModel]]

    @property
    def name(self) -> str:
        return self.experiment.name

    def run(self, *args: str) -> int:
        return tightness.run(self.experiment, self.name, self.defaults, args)


PROBLEM, QUESTION = problem_set("dev")[0], load_questions("dev")[0]
CASES = [
    Case(
        gsm_hard.EXPERIMENT,
        ("--problems", "dev"),
        {"By wording": PROBLEM.split, "By number of operations": f"{PROBLEM.operations} operations"},
        ROPE,
        {"By wording": "file", "By number of operations": "1 operation"},
        gsm_hard.OWN,
        {
            "own": lambda: arithmetic_script(PROBLEM, "v2"),
            "chat": lambda: ScriptedLM(script(HALVED, act=follow(HALVED))),
        },
    ),
    Case(
        musique.EXPERIMENT,
        ("--questions", "dev"),
        {"By number of hops": f"{QUESTION.operations} hops"},
        SHIP,
        {"By number of hops": "2 hops"},
        musique.OWN,
        {
            "own": lambda: look_up_script(QUESTION, first_name, "v2"),
            "chat": lambda: ScriptedLM(script(LOOKED_UP, act=follow(LOOKED_UP), project=said)),
        },
    ),
]
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
BOTH = [f"{budget} / scripted:own / {method.label}" for budget in ("tight", "loose") for method in tightness.METHODS]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that know the answers behind ``scripted:ENVIRONMENT-NAME``; the keys of all episodes that are played."""
    known = {f"{case.name}-{name}": made for case in CASES for name, made in case.scripts.items()}
    monkeypatch.setattr("tape.lm.scripted.open_scripted", lambda argument: known[argument]())
    keys: list[str] = []
    play = InProcess.play

    def noted(self: InProcess, work: list[Work], *rest: object) -> object:
        for item, found in play(self, work, *rest):  # type: ignore[arg-type]
            keys.extend(episode.line["key"] for episode in found)
            yield item, found

    monkeypatch.setattr(InProcess, "play", noted)
    return keys


def tiny(case: Case, model: str, out: Path, *more: str) -> list[str]:
    arguments = ["--models", f"scripted:{case.name}-{model}", "--limit", "1", "--seeds", "1", "--quiet"]
    return [*arguments, "--out", str(out), *more]


def section(report: str, heading: str) -> list[str]:
    """The rows of the table below a heading, its head first."""
    [body] = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", report, re.MULTILINE | re.DOTALL)
    return [line for line in body.splitlines() if line.startswith("| ")]


@EACH
def test_a_tiny_run_writes_its_report_and_plays_nothing_once_more(
    case: Case, tmp_path: Path, played: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = tiny(case, "own", tmp_path / "run", *case.own)
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
    expected = [name.replace("own", f"{case.name}-own").split(" / ") for name in BOTH]
    head, *spent = section(report, "Spending")
    assert "used of the caps" in head
    assert [[part.strip(" `") for part in row.split("|")[1:4]] for row in spent] == expected
    assert all(re.search(r" s \(\d+%\); \$\S+ \(\d+%\)", row) for row in spent)
    for heading, category in case.categories.items():
        head, *rows = section(report, heading)
        assert head.split("|")[4].strip() == category
        assert len(rows) == 18
        assert all("; 1)" in row for row in rows)
    assert (tmp_path / "run" / "plots" / f"{case.name}.png").stat().st_size > 1000

    assert case.run(*arguments) == 0
    assert len(played) == 18
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == report


@pytest.mark.slow
@EACH
def test_a_file_reaches_the_tasks_and_a_general_model_plays_them(case: Case, tmp_path: Path, played: list[str]) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps(case.row) + "\n", encoding="utf-8")
    assert case.run(*tiny(case, "chat", tmp_path / "run", "--data", str(file))) == 0
    assert len(played) == 18
    lines = RunDirectory(tmp_path / "run").episodes()
    assert {line["level_set"] for line in lines} == {"mine-tight", "mine-loose"}
    assert f"loose / scripted:{case.name}-chat / TAPE+" in {line["cell"] for line in lines if line["result"]["success"]}
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    for heading, category in case.of_file.items():
        assert section(report, heading)[0].split("|")[4].strip() == category
