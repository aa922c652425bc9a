"""The experiment on trips: a tiny run in the common runner, resumed, and its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.studies.travelplanner import travelplanner
from tape.runner.directory import RunDirectory


@pytest.mark.slow
def test_a_tiny_run_is_reported_published_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, results = tmp_path / "run", tmp_path / "results"
    given = ["--count", "2", "--limit", "1", "--quiet", "--out", str(out), "--publish", str(results)]
    assert travelplanner.run(given) == 0
    episodes = RunDirectory(out).episodes()
    assert len(episodes) == len(travelplanner.SETTINGS) * len(travelplanner.PLAYED)
    assert all(line["result"]["budget_violations"] == [] for line in episodes)
    paths = [line for line in episodes if line["cell"].endswith(f" / {travelplanner.TAPE.label}")]
    won = [line["result"]["measures"]["final_pass"] for line in paths if not line["cell"].startswith("infeasible")]
    assert won == [1] * 6
    report = (results / "travelplanner" / "report.md").read_text(encoding="utf-8")
    assert "simulated LM" in report
    assert "solver ms" not in report
    assert (results / "travelplanner" / "plots" / "travelplanner.png").is_file()
    first = (out / "report.md").read_text(encoding="utf-8")
    assert "solver ms" in first
    assert travelplanner.run(given) == 0
    assert RunDirectory(out).episodes() == episodes, "nothing is played twice"
    capsys.readouterr()
