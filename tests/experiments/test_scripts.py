"""The demo and the scripts around the README run as documented."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from experiments import demo
from experiments.harness import cli
from experiments.harness.methods import PAPER, REACT, TAPE
from experiments.studies.tape.catalogue import find
from experiments.studies.tape.levels import EASY, grid
from tape.lm.bundled import card, experiments_folder, sizes, weights_folder


@pytest.mark.parametrize("name", sorted(sizes()))
def test_a_model_card_has_the_size_of_every_model_that_ships(name: str) -> None:
    family = card(name).get("prompt_format", "compact")
    file = "MODEL_CARD.md" if family == "compact" else f"MODEL_CARD_{family.upper()}.md"
    [path] = [folder / file for folder in (weights_folder(), experiments_folder()) if (folder / file).is_file()]
    assert f"{card(name)['parameters'] / 1e6:.2f} M" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_demo_runs_draws_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--models", "bundled:nano", "--levels", "easy", "--repeats", "1", "--quiet", "--out", str(tmp_path / "d")]
    played: list[Path] = []
    monkeypatch.setattr(demo, "support", lambda out, _: played.append(out) or out)  # test_support plays it
    assert demo.main(args) == 0
    assert played
    text = capsys.readouterr().out
    assert "TAPE beside" in text
    assert "open_loop" in text
    pictures = [line.strip() for line in text.splitlines() if line.strip().endswith((".svg", ".png"))]
    assert pictures
    assert all(Path(p).stat().st_size > 1000 for p in pictures)
    assert demo.main(args) == 0
    assert "[1/10]" not in capsys.readouterr().out, "a finished demo has nothing to run"
    assert demo.main(["--models", "nonsense", "--out", str(tmp_path / "e")]) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_an_experiment_stops_at_its_budget_and_goes_on_with_a_larger_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = partial(grid, (REACT, PAPER, TAPE), (EASY,))
    experiment = replace(find("sokoban"), configurations=made)
    arguments = ["--limit", "1", "--seeds", "1", "--models", "bundled:nano", "--out", str(tmp_path / "run"), "--quiet"]
    assert cli.main(experiment, [*arguments, "--run-budget", "calls=30"]) == 3
    assert "larger --run-budget" in capsys.readouterr().err
    assert cli.main(experiment, [*arguments, "--run-budget", "calls=100000"]) == 0
