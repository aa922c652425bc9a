"""The experiments on active epistemic control: parts on tiny fakes, and each script once where the engine is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import load_games
from envs.alfworld.game.textworld_game import installed
from envs.alfworld.noisy_environment import NoisyDomain, NoisyEnvironment
from experiments.studies.aec import aec
from experiments.studies.aec.methods import METHODS, NAMES, REMOVED, named
from tape.lm.bundled import sizes
from tape.runner.directory import RunDirectory
from tests.tape.methods.aec.toy import BoxDomain

needs_model = pytest.mark.skipif(
    not installed() or "household" not in sizes("household"), reason="needs the extra alfworld and its bundled model"
)


def test_a_noisy_environment_has_the_optional_parts_of_its_domain_and_no_others() -> None:
    env: Any = AlfworldEnvironment(load_games("packaged")[0])
    noisy = NoisyEnvironment(env, 0.5, 1).domain
    bare = NoisyDomain(BoxDomain(2), 0.5, 1)
    assert (noisy.goal_test is None, bare.goal_test is None) == (False, True)
    assert (noisy.hooks.unseen, bare.hooks.unseen) == (True, False)


def test_what_was_removed_is_explained_where_it_has_rows() -> None:
    played = [method.label for method in METHODS]
    assert named(played) == NAMES
    removed, other, *_ = REMOVED
    assert not {removed, other} & {*played}
    shown = named([*played, removed]).removeprefix(NAMES)
    assert removed in shown
    assert other not in shown


@pytest.mark.slow
@needs_model
@pytest.mark.usefixtures("undrawn")
def test_the_comparison_runs_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aec, "METHODS", played := (METHODS[1], METHODS[-1]))  # ReAct and AEC
    arguments = ["--limit", "1", "--quiet", "--out", str(tmp_path / "run")]
    assert aec.run(arguments) == 0
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert NAMES in report
    assert len(RunDirectory(tmp_path / "run").episodes()) == len(played)
    assert aec.run(arguments) == 0
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == report
