"""The comparison of SDP, TAPE and AEC: its settings, what cannot be played here, a tiny run."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness.matrix import Options, unopened
from experiments.harness.measured import Measured
from experiments.studies.sdp import sdp
from experiments.studies.sdp.tables import by_group, table

TRIPS = next(setting for setting in sdp.EVERYTHING if setting.environment == "travelplanner")


def options(limit: int = 1) -> Options:
    return Options(seeds=1, models=sdp.EXPERIMENT.models, limit=limit, identify=unopened)


def test_all_methods_of_a_setting_meet_the_same_tasks_and_seeds() -> None:
    configurations = sdp.configurations([TRIPS], None, options(3))
    assert len({tuple(task.digest for task in configuration.tasks) for configuration in configurations}) == 1
    assert (
        len(
            {
                (configuration.spec.seed, configuration.spec.repeats, configuration.spec.model)
                for configuration in configurations
            }
        )
        == 1
    )


@pytest.mark.slow
def test_a_tiny_run_writes_its_report_and_resumes(tmp_path: Path) -> None:
    command = ["--part", "own", "--settings", TRIPS.name, "--limit", "2", "--quiet", "--out", str(tmp_path / "run")]
    assert sdp.run(command) == 0
    assert sdp.run(command) == 0
    report = (tmp_path / "run" / "report.md").read_text()
    assert "python -m experiments.studies.sdp.sdp --part own" in report
    measured = Measured.read(tmp_path / "run")
    rows = {row[2]: row for row in table(measured).rows}
    assert rows["SDP x TAPE+"][4].startswith("1.00")
    assert by_group(measured, "cost", lambda _: None) is None
    assert rows["TAPE+"][6] == "-"
