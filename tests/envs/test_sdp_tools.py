"""SDP on GSM-Hard and MuSiQue, as the command line plays, shows and checks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envs.gsm_hard.generator import problem_set
from envs.musique.corpus import load_questions
from envs.musique.plugin import PLUGIN as MUSIQUE
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.cli import main
from tape.lm.base import LanguageModel
from tape.methods.sdp.agent import require_adapter
from tape.runner.directory import RunDirectory
from tests.envs.tool_scripts import arithmetic_script, look_up_script


def test_questions_are_played_under_the_papers_caps() -> None:
    options = {"data": None, "questions": "dev", "tightness": "tight", "reader": "lm"}
    adapter = require_adapter(MUSIQUE.make(MUSIQUE.tasks(options)[0]))
    assert (adapter.caps.attempts, adapter.caps.replans, adapter.caps.steps) == (3, 2, 25)


def knowing(argument: str) -> LanguageModel:
    """A model that knows the first task of the environment that its name ends with, and reads the same in all texts."""
    if argument == "gsm_hard":
        return arithmetic_script(problem_set("dev")[0])
    return look_up_script(load_questions("dev")[0], lambda _: "Ada Quill")


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "chain"), [("gsm_hard", "walk"), ("musique", "sample")])
def test_a_run_is_played_shown_and_checked(
    environment: str, chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tape.lm.scripted.open_scripted", knowing)
    out = tmp_path / "run"
    played = ["run", environment, "--agent", "sdp", "--chain", chain, "--tightness", "tight", "--limit", "1"]
    assert main([*played, "--model", f"scripted:{environment}", "--out", str(out), "--quiet"]) == 0
    directory = RunDirectory(out)
    records = list(directory.episodes())
    assert len(records) == 1
    for record in records:
        assert not record["result"]["budget_violations"]
        trajectory = CertifiedTrajectory.from_trace(directory.trace_file(record["key"]))
        hows = {item.check.how for item in trajectory.certified if item.target.requires}
        assert hows <= ({"lm"} if environment == "musique" else {"deterministic"})
    capsys.readouterr()
    assert main(["show", str(out)]) == 0
    assert "#1 is the result of " in capsys.readouterr().out
