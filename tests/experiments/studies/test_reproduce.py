"""A tiny real run of every script, with the weakest model."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import report
from experiments.harness import cli, register
from experiments.harness.matrix import identified, most_calls
from experiments.harness.methods import PAPER, TAPE_PLUS
from experiments.studies.tape import headline, reproduce
from experiments.studies.tape.catalogue import find
from experiments.studies.tape.levels import ADDITIONS, BATCH
from experiments.studies.toy import __main__ as toy
from tape.budget import Ledger
from tape.runner.configurations import checked
from tape.runner.directory import RunDirectory
from tape.runner.work import Keep, Played, Watcher, Work
from tape.runner.workers import InProcess
from tests.experiments.synthetic import options

MODEL = "bundled:nano-750"
TINY = ["--models", MODEL, "--limit", "1", "--seeds", "1", "--quiet"]


@pytest.fixture(scope="module")
def patched(undrawn: None, stand_ins: None) -> Iterator[list[str]]:
    """A short toy analysis, and the keys of all episodes that are really played."""
    played: list[str] = []
    play, main = InProcess.play, toy.main

    def noted(self: InProcess, work: list[Work], watcher: Watcher, keep: Keep, run: Ledger | None = None) -> None:
        def note(item: Work, episode: Played) -> None:
            played.append(episode.line["key"])
            keep(item, episode)

        play(self, work, watcher, note, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "play", noted)
        patch.setattr(toy, "main", lambda args: main([*args, "--limit", "1", "--worlds", "narrow"]))
        yield played


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, patched: list[str]) -> Path:
    out = tmp_path_factory.mktemp("reproduce")
    assert reproduce.main([*TINY, "--workers", "1", "--out", str(out), "--publish", str(out / "published")]) == 0
    return out


def lines(folder: Path, name: str) -> list[dict[str, object]]:
    return RunDirectory(folder / name).episodes()


@pytest.mark.slow
def test_every_experiment_is_played_and_shared_episodes_only_once(folder: Path, patched: list[str]) -> None:
    wanted: set[str] = set()
    for name in reproduce.PLAYED:
        configurations = checked(
            find(name).configurations(options(models=(MODEL,), limit=1, seeds=1, batch=BATCH, identify=identified))
        )
        keys = {(configuration.name, job.key) for configuration in configurations for job in configuration.jobs()}
        assert {(line["cell"], line["key"]) for line in lines(folder, name)} == keys
        wanted |= {key for _, key in keys}
    assert sorted(patched) == sorted(wanted)


@pytest.mark.slow
def test_real_episodes_stay_below_the_bounds_on_lm_calls_and_their_budgets(folder: Path) -> None:
    for name in reproduce.PLAYED:
        made = find(name).configurations(options(models=(MODEL,), limit=1, seeds=1, batch=BATCH))
        configurations = {configuration.name: configuration for configuration in made}
        for line in RunDirectory(folder / name).episodes():
            configuration = configurations[line["cell"]]
            most = most_calls(configuration, configuration.tasks[0])
            assert most is not None
            assert sum(line["result"]["lm_calls"].values()) <= most, line["cell"]
            assert line["result"]["budget_violations"] == []
            assert line["result"]["end_state"] not in ("model_error", "env_error", "solver_error")


@pytest.mark.slow
def test_once_more_plays_nothing_and_rebuilding_opens_no_model(
    folder: Path, patched: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [folder / "report.md", folder / "published" / "report.md"]
    before = len(patched), [file.read_bytes() for file in files]
    assert reproduce.main([*TINY, "--workers", "1", "--out", str(folder), "--publish", str(folder / "published")]) == 0
    assert (len(patched), [file.read_bytes() for file in files]) == before
    for opener in ("tape.lm.registry.open_model", "tape.lm.bundled.load_folder"):
        monkeypatch.setattr(opener, lambda name: pytest.fail(f"{name} was opened"))
    for file in (folder / "report.html", folder / "report.md", folder / "errors" / "report.md"):
        file.unlink()
    assert report.main([str(folder)]) == 0
    assert files[0].read_bytes() == before[1][0]
    assert "planning error, viable states" in (folder / "errors" / "report.md").read_text(encoding="utf-8")
    assert "written: " not in capsys.readouterr().out, "the toy analysis is there already"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "stand_ins")
def test_an_interrupted_run_is_listed_as_incomplete_and_resumed_by_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = InProcess.play

    def cut(self: InProcess, work: list[Work], watcher: Watcher, keep: Keep, run: Ledger | None = None) -> None:
        kept = []

        def until(item: Work, episode: Played) -> None:
            if len(kept) == 2:
                raise KeyboardInterrupt
            kept.append(item)
            keep(item, episode)

        play(self, work, watcher, until, run)

    args = [*TINY, "--out", str(tmp_path / "run"), "--register", str(tmp_path / "list.json")]
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "play", cut)
        assert cli.main(find("best_of_n"), args) == 130
    printed = capsys.readouterr().err
    assert f"python -m experiments.studies.tape.best_of_n {' '.join(args)}" in printed
    assert len(lines(tmp_path, "run")) == 2
    [entry] = register.read(tmp_path / "list.json")
    assert not entry["complete"]
    assert cli.main(find("best_of_n"), args) == 0
    assert len(lines(tmp_path, "run")) == len(find("best_of_n").configurations(options(models=(MODEL,))))
    [entry] = register.read(tmp_path / "list.json")
    assert entry["complete"]
    assert "Took" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "stand_ins")
def test_the_headline_judges_lists_publishes_and_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = [*TINY[2:], "--models", "bundled:nano-1500", "--out", str(tmp_path / "run")]
    args += ["--register", str(tmp_path / "list.json")]
    assert cli.main(find("headline"), [*args, "--publish", str(tmp_path / "out")]) == 0
    [entry] = register.read(tmp_path / "list.json")
    assert (entry["study"], entry["sets"], entry["levels"]) == ("headline", ["hard-fresh"], 1)
    assert (entry["engine"], entry["complete"]) == (register.ENGINE, True)
    text = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    for part in ("### What each addition is worth", "### Runs on the test sets", "| headline |", TAPE_PLUS):
        assert part in text
    assert re.search(r"Took \d+ s on \d+ cores \(1 worker\)", (tmp_path / "out/headline/report.md").read_text())
    played = RunDirectory(tmp_path / "run").episodes()
    assert len(played) == len(headline.METHODS) + 2 * len(ADDITIONS)
    assert PAPER.label in (tmp_path / "out" / "headline" / "report.md").read_text(encoding="utf-8")

    other = ["--share", str(tmp_path / "run"), "--out", str(tmp_path / "models"), *args[-2:], *TINY[2:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "play", lambda *_: (one for one in ()))
        assert cli.main(find("models"), [*other, "--models", "bundled:nano-1500"]) == 0
    assert {line["key"] for line in lines(tmp_path, "models")} < {line["key"] for line in played}
    assert [entry["study"] for entry in register.read(tmp_path / "list.json")] == ["headline", "models"]
