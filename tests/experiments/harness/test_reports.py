"""Reports from made-up episodes: their numbers follow from the episodes, without any model."""

import re
from pathlib import Path

import pytest

from experiments import report
from experiments.harness import excerpts, register
from experiments.harness.cli import publish
from experiments.harness.document import markdown
from experiments.harness.measured import Measured
from experiments.harness.methods import BASELINES, PAPER, TAPE, TAPE_PLUS
from experiments.harness.standard import in_words, sections_of, verdict
from experiments.studies.tape.catalogue import NAMES, find
from experiments.studies.tape.levels import EASY, HARD
from tape.statistics import Paired
from tests.experiments.synthetic import make_run, measured


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was opened")

    monkeypatch.setattr("tape.lm.registry.open_model", refuse)


def best(method: str, level: int, repeat: int) -> bool:
    """TAPE solves everything, the others the first level only."""
    return method.startswith("TAPE") or level == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_report_with_its_numbers(name: str, tmp_path: Path) -> None:
    path = make_run(find(name), tmp_path / name, best)
    assert report.main([str(path)]) == 0
    text = (path / "report.md").read_text(encoding="utf-8")
    assert f"# {find(name).title}" in text
    assert "| 6 (3) |" in text, "n and levels"
    assert "1.00 (0.44 to 1.00)" in text, "Wilson's with 3 levels where all are solved"
    for figure in re.findall(r"\(plots/([^)]*)\.png\)", text):
        for suffix in (".png", ".svg"):
            assert (path / "plots" / (figure + suffix)).stat().st_size > 1000
    if find(name).paper:
        assert "Beside the paper" in text
    for reason in find(name).differs:
        assert f"- {reason}" in text


@pytest.mark.usefixtures("undrawn")
def test_what_is_published_does_not_depend_on_commits_or_times(tmp_path: Path) -> None:
    for shuffle in (0, 1):
        run = make_run(find("sokoban"), tmp_path / f"run-{shuffle}", best, shuffle=shuffle)
        report.write(run)
        publish(find("sokoban"), Measured.read(run), tmp_path / f"published-{shuffle}")
    a, b = (tmp_path / f"published-{shuffle}" / "sokoban" for shuffle in (0, 1))
    files = sorted(path.relative_to(a) for path in a.rglob("*") if path.is_file())
    assert {path.suffix for path in files} == {".md", ".parquet", ".png"}
    for file in files:
        assert (a / file).read_bytes() == (b / file).read_bytes(), file
    assert "solver ms" not in (a / "report.md").read_text()
    assert "solver ms" in (tmp_path / "run-0" / "report.md").read_text()


def test_an_incomplete_run_is_marked(tmp_path: Path) -> None:
    path = make_run(find("sokoban"), tmp_path / "run", best)
    episodes = path / "episodes.jsonl"
    episodes.write_text("\n".join(episodes.read_text().split("\n")[:-4]) + "\n")
    report.write(path)
    assert "**Incomplete: at least 3 episodes" in (path / "report.md").read_text()


@pytest.mark.parametrize(
    ("low", "high", "wins", "losses", "p", "words"),
    [
        (0.01, 0.3, 9, 1, 0.02, "above"), (0.01, 0.3, 5, 1, 0.22, "no significant difference"),
        (-0.3, -0.01, 1, 9, 0.02, "below"), (-0.1, 0.2, 3, 2, 1.0, "no significant difference"),
        (0.0, 0.2, 3, 0, 0.25, "no significant difference"), (-0.2, 0.2, 0, 0, 1.0, "equal in every episode"),
    ],
)  # fmt: skip
def test_verdicts_on_differences(low: float, high: float, wins: int, losses: int, p: float, words: str) -> None:
    assert verdict(Paired(10, 5, (low + high) / 2, low, high, wins, losses, p)) == words


def test_where_tape_loses_the_summary_reports_it(tmp_path: Path) -> None:
    def worst(method: str, level: int, repeat: int) -> bool:
        return not method.startswith("TAPE") and (method != "ReAct" or level == 0)

    result = measured("sokoban", tmp_path / "run", worst, levels=8)
    sentence = in_words(result, find("sokoban").pairs(result))[0]
    assert sentence.startswith(f"{EASY}, `nano-750`: {TAPE.label} is ")
    assert "**below** open-loop plan -1.00 (-1.00 to -0.68)" in sentence
    assert "Best-of-4 ReAct -1.00 (-1.00 to -0.68)" in sentence
    assert "not significantly different from ReAct -0.12" in sentence
    assert "above" not in sentence
    assert sentence in markdown("x", sections_of(find("sokoban"), result))


def test_every_run_on_a_test_set_stays_listed(tmp_path: Path) -> None:
    file, result = tmp_path / "list.json", measured("headline", tmp_path / "run", best)
    first = register.entry(result)
    assert (first["study"], first["sets"], first["complete"]) == ("headline", [HARD], True)
    assert (first["engine"], first["source"]) == (register.ENGINE, result.directory.versions()["sources"])
    assert first["solved"][f"{HARD} / nano-750 / {TAPE.label}"] == [6, 6]
    register.add(file, first)
    register.add(file, first)
    assert len(register.read(file)) == 1, "the same run again takes its own place"
    register.add(file, {**first, "engine": "x"})
    register.add(file, {**first, "source": "another"})
    register.add(file, {**first, "study": "another"})
    assert [held["engine"] for held in register.read(file)] == ["3", "x", "3", "3"]
    other = {**first, "solved": {name: [0, 6] for name in first["solved"]}}
    register.add(file, other)
    assert register.read(file)[-1] == other, "other results of the same run do not hide the first ones"
    assert len(register.table(register.read(file)).rows) == 5
    register.add(file, {**first, "engine": "y", "complete": False})
    register.add(file, {**first, "engine": "y"})
    assert [held["complete"] for held in register.read(file)] == [True] * 6, "an incomplete run is completed"


@pytest.mark.usefixtures("undrawn")
def test_the_headline_table_comes_from_the_published_headline(tmp_path: Path) -> None:
    publish(find("headline"), measured("headline", tmp_path / "run", best), tmp_path)
    text = excerpts.text("headline", tmp_path)
    assert "|  | `nano-750` |" in text
    for method in (PAPER, TAPE):
        assert f"| {method.label} | 1.00 (0.44 to 1.00) |" in text
        assert f"| {method.label} minus Best-of-4 plans | +0.67 (" in text
        assert f"| {method.label} | 250 |" in excerpts.text("headline-tokens", tmp_path)
    assert f"| {TAPE.label} minus {PAPER.label} | +0.00 (" in text
    for method in BASELINES:
        assert f"| {method.label} | 0.33 (" in text
    assert TAPE_PLUS in text
