"""What is published of a certified trajectory suffices for the table of certificates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from experiments.harness import episodes
from experiments.harness.document import markdown
from experiments.harness.measured import Measured
from experiments.studies.sdp import certificates
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tests.experiments.sdp_runs import make_sdp_run

GIVEN = {"SDP": {"skill": 0.45}, "SDP, other": {"skill": 0.8, "score": True}, "ReAct": {}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = RunDirectory(make_sdp_run(tmp_path_factory.mktemp("certificates") / "run", GIVEN))
    write_derived(directory)
    return directory


def test_the_chapter_is_the_same_from_published_episodes(run: RunDirectory, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    measured = Measured.read(run.path)
    text = markdown("x", certificates.sections(measured))
    episodes.write(tmp_path / episodes.FILE, measured, {})
    again = certificates.sections(episodes.read(tmp_path / episodes.FILE)[0])
    assert markdown("x", again) == text


def test_false_certificates_are_counted_where_they_are(run: RunDirectory) -> None:
    def true_checks(made: dict[str, Any]) -> list[dict[str, Any]]:
        checks = [move["judged"][0]["check"] for move in made["moves"] if move["k"]]
        return [check for check in checks if check["truth"] and check["how"] == "deterministic"]

    every = certificates.collect(Measured.read(run.path))[0]["easy / nano-750 / SDP"]
    first = next(trajectory for trajectory in every if true_checks(trajectory.model_dump(mode="json")))
    rest = [trajectory for trajectory in every if trajectory is not first]
    made = first.model_dump(mode="json")
    true_checks(made)[0].update(how="completion", truth=False)
    spoilt = {"a": [CertifiedTrajectory.model_validate(made)], "b": rest}
    findings = {"a": Counter(findings=2), "b": Counter()}
    before, table = (
        certificates.certificates(trajectories, findings) for trajectories in ({"a": [first], "b": rest}, spoilt)
    )
    column = table.head.index("others") + 1
    assert int(table.rows[0][column]) == int(before.rows[0][column]) + 1
    assert table.rows[0][-1] == "2"
    ours, others, both = (int(row[column]) for row in table.rows)
    assert ours + others == both
