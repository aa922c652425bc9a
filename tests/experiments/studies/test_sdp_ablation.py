"""The ablation of SDP: its matrix, the comparison of estimate and play, and the script once with a bundled model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from envs.alfworld.game.games import held_out
from experiments.harness import episodes, register
from experiments.harness.matrix import Options, own_options, tasks_of, unopened
from experiments.harness.measured import Measured
from experiments.harness.published import check, publish
from experiments.studies.sdp import ablation as sdp_ablation
from experiments.studies.sdp.ablation_report import FULL, LABELS, rows, score_of, summary
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tests.experiments.sdp_runs import make_sdp_run

MADE = {
    FULL: {"skill": 0.6},
    LABELS["validate"]: {"skill": 0.2},
    LABELS["replan"]: {"skill": 0.5, "replans": 0},
    LABELS["cascade"]: {"skill": 0.6, "cascade": False},
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    run = make_sdp_run(tmp_path_factory.mktemp("ablation") / "run", MADE)
    write_derived(RunDirectory(run))
    return Measured.read(run)


def test_every_row_pairs_the_same_episodes(measured: Measured) -> None:
    found = rows(measured)
    assert [row.without for row in found] == [*LABELS]
    full = {(line["digest"], line["repeat"]): score_of(line) for line in measured.records[f"easy / nano-750 / {FULL}"]}
    for row in found:
        own = measured.records[f"easy / nano-750 / {LABELS[row.without]}"]
        assert row.n == row.full.n == row.estimate.n == row.played.n == 16
        differences = [score_of(line) - full[line["digest"], line["repeat"]] for line in own]
        assert row.cost.difference == pytest.approx(sum(differences) / 16)
        assert row.error.difference == pytest.approx((row.estimate.value or 0) - (row.played.value or 0))


def test_what_is_published_is_the_same_every_time(measured: Measured, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    first = [path.read_bytes() for path in publish(sdp_ablation.EXPERIMENT, measured, tmp_path / "a")]
    assert [path.read_bytes() for path in publish(sdp_ablation.EXPERIMENT, measured, tmp_path / "b")] == first
    again, _ = episodes.read(tmp_path / "a" / "sdp_ablation" / episodes.FILE)
    assert [row.without for row in rows(again)] == [*LABELS]
    assert all(row.cost.n == 16 for row in rows(again))
    assert summary(again) == summary(measured)
    assert summary(measured).rows[0][2] == "no VALIDATE"
    assert b"n counts episodes" in first[0]
    assert check(tmp_path / "a") == []


def run(args: Sequence[str]) -> int:
    return sdp_ablation.run([*args, "--quiet"])


@pytest.mark.slow
def test_the_script_plays_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--models", "bundled:nano-3000", "--limit", "2", "--chains", "sample"]
    out = tmp_path / "out"
    assert run([*common, "--out", str(out), "--publish", str(tmp_path / "published")]) == 0
    kept, _ = episodes.read(tmp_path / "published" / "sdp_ablation" / episodes.FILE)
    assert [(row.without, row.n) for row in rows(kept)] == [(part, 2) for part in LABELS]
    assert (out / "plots" / "sdp_ablation.png").stat().st_size > 0
    assert run([*common, "--dry-run"]) == 0
    assert "8 episodes" in capsys.readouterr().out


def test_cascades_are_measured_on_fresh_tasks_alone() -> None:
    models = ("bundled:household", "simulated:scienceworld")
    options = Options(1, models, identify=unopened)
    found = sdp_ablation.configurations_with_cascades(options)
    assert [len(one.tasks) for one in found] == [sdp_ablation.PAIRS] * 4 + [30] * 4
    pairs, science = found[0].tasks, found[4].tasks
    assert {task.facts["task"] for task in pairs} == {"pick_two_obj_and_place"}
    assert not {task.facts["game"].house.digest() for task in pairs} & held_out()
    first = tasks_of("scienceworld", own_options("scienceworld", ("--split", "test")))
    assert not {task.digest for task in science} & {task.digest for task in first}
    assert {register.test_set(one.spec) for one in found[4:]} == {"scienceworld-test"}
