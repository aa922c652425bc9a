"""Diagnostics of certified trajectories: a worked example, made-up runs, and runs without any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tape.analysis.diagnostics import main
from tape.analysis.measures import (
    agreement,
    attempts_by_kind,
    cascades,
    certified_by_length,
    end_of,
    endings,
    goals,
    mean,
    progress,
    progress_by_kind,
    rejections,
    score_by_replans,
    share,
)
from tape.sdp.trajectory import CertifiedTrajectory
from tape.statistics import wilson
from tests.experiments.sdp_runs import make_sdp_run
from tests.tape.sdp.synthetic import trajectory
from tests.tape.sdp.worked import WORKED


def test_cascades_of_the_worked_example() -> None:
    found = cascades([WORKED])
    assert [one.value for one in found.depths] == pytest.approx([2 / 3, 1 / 3, 0])
    assert found.deep.n == 3
    assert found.deep.value == pytest.approx(1 / 3)
    assert found.without_completion == found.deep


def test_scores_are_grouped_by_replans() -> None:
    found = score_by_replans([WORKED])
    assert [one.n for one in found] == [0, 1, 0, 0]
    assert found[1].value == pytest.approx(0.8)
    many = [trajectory(seed, score=True, skill=0.3) for seed in range(40)]
    assert sum(one.n for one in score_by_replans(many)) == 40


def test_progress_of_failed_runs() -> None:
    assert progress([WORKED]).value == pytest.approx(4 / 5)
    kinds = {kind: (one.n, one.value) for kind, one in progress_by_kind([WORKED]).items()}
    assert kinds == {"goal": (1, 0), "heat": (1, 1), "move": (2, 1), "take": (1, 1)}
    assert certified_by_length([WORKED]) == {5: (1, 4)}
    won = WORKED.model_copy(update={"ending": WORKED.ending.model_copy(update={"success": True})})
    assert progress([won]).value is None
    assert progress_by_kind([won]) == {}


def test_where_attempts_and_runs_fail() -> None:
    assert {kind: dict(by) for kind, by in rejections([WORKED]).items()} == {
        "goal": {"not_certified": 1},
        "heat": {"not_certified": 2},
        "take": {"not_certified": 1},
    }
    assert attempts_by_kind([WORKED]) == {"take": 2, "move": 1, "heat": 3, "goal": 1}
    assert {kind: dict(by) for kind, by in endings([WORKED]).items()} == {"goal": {"sdp": {"step_cap": 1}}}
    stuck = WORKED.moves[0].model_copy(update={"after": WORKED.moves[0].before})
    assert rejections([WORKED.model_copy(update={"moves": [stuck]})]) == {"take": {"nothing_changed": 1}}
    mute = stuck.model_copy(update={"action": None})
    assert rejections([WORKED.model_copy(update={"moves": [mute]})]) == {"take": {"no_action": 1}}


@pytest.mark.parametrize(
    ("why", "goal", "end"),
    [
        ("no_chain", False, "replan_empty"),
        ("replan_cap", False, "replan_cap"),
        ("goal", True, "wrong_goal"),
        ("limit", True, "wrong_goal"),
        ("limit", False, "limit"),
    ],
)
def test_what_a_failed_run_ends_by(why: str, goal: bool, end: str) -> None:
    ending = WORKED.ending.model_copy(update={"why": why, "goal_certified": goal})
    assert end_of(WORKED.model_copy(update={"ending": ending})) == end
    alone = WORKED.model_copy(update={"ending": ending, "plans": WORKED.plans[:1]})
    assert end_of(alone) == ("no_chain" if end == "replan_empty" else end)


def test_verdicts_beside_the_truth() -> None:
    found = agreement([WORKED])
    assert (found["lm"].precision.n, found["lm"].precision.value, found["lm"].recall.n) == (1, 0, 0)
    assert (found["deterministic"].precision.n, found["deterministic"].precision.value) == (3, 1)
    assert (found["deterministic"].recall.n, found["deterministic"].recall.value) == (3, 1)
    assert found["lm"].unknown == 0


def _ended(one: CertifiedTrajectory, **changes: object) -> CertifiedTrajectory:
    return one.model_copy(update={"ending": one.ending.model_copy(update=changes)})


def test_goals_beside_success_with_forced_answers_apart() -> None:
    right = _ended(WORKED, goal_certified=True, success=True)
    wrong = _ended(WORKED, goal_certified=True, success=False)
    forced = _ended(WORKED, goal_certified=False, success=True, forced=True)
    found = goals([right, right, wrong, WORKED, forced])
    assert (found.agree.n, found.agree.value) == (4, 3 / 4)
    assert found.certified.n == 3
    assert found.certified.value == pytest.approx(2 / 3)
    assert (found.forced.n, found.forced.value) == (1, 1)


def test_shares_have_wilsons_interval_where_nothing_is_repeated() -> None:
    found = share((value, number) for number, value in enumerate([True, True, False, True]))
    assert (found.n, found.value, (found.low, found.high)) == (4, 0.75, wilson(3, 4))
    again = mean((value, number) for number, value in enumerate([1.0, 1.0, 0.0, 1.0]))
    assert again == found
    assert mean([(0.5, "a"), (0.5, "b")]).low == pytest.approx(wilson(1, 2)[0])
    assert share([]).shown == mean([]).shown == "-"


@pytest.mark.slow
def test_the_report_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_sdp_run(tmp_path / "run")
    assert main([str(run)]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert all(file.stat().st_size > 0 for file in files)
    out = run / "sdp-diagnostics"
    assert {file.name for file in files} >= {"report.md", "report.html", "diagnostics.json", "sdp_diagnostics.png"}
    data = json.loads((out / "diagnostics.json").read_text())["cells"]
    assert [*data] == ["easy / nano-750 / SDP", "easy / nano-750 / SDP, other"]
    for cell in data.values():
        assert cell["episodes"] == 16
        assert cell["tasks"] == 8
        assert cell["findings"] == 0
        assert cell["cascades"]["deep"]["n"] > 0
        assert cell["failed"] == cell["episodes"] - cell["successes"]
    assert set(data["easy / nano-750 / SDP"]["certificates"]) >= {"recomputed", "completion", "lm"}
    first = {file: file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}
    assert main([str(run), "--out", str(tmp_path / "again")]) == 0
    for file, content in first.items():
        assert (tmp_path / "again" / file.relative_to(out)).read_bytes() == content


def test_cells_are_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_sdp_run(tmp_path / "run", limit=2)
    assert main([str(run), "--cells", "easy / nano-750 / SDP"]) == 0
    assert [*json.loads((run / "sdp-diagnostics" / "diagnostics.json").read_text())["cells"]] == [
        "easy / nano-750 / SDP"
    ]
    assert main([str(run), "--cells", "SDP"]) == 2
    assert "no cell 'SDP'" in capsys.readouterr().err


def test_runs_without_an_sdp_episode_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_sdp_run(tmp_path / "run", {"ReAct": {}}, limit=1)
    assert main([str(run)]) == 2
    assert "holds no SDP episode" in capsys.readouterr().err
    assert not (run / "sdp-diagnostics").exists()
    assert main([str(tmp_path / "none")]) == 2
    assert "no readable run" in capsys.readouterr().err


def test_episodes_without_a_chain_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_sdp_run(tmp_path / "run", {"SDP": {"skill": 0.9}, "ReAct": {}}, limit=1)
    assert main([str(run)]) == 0
    capsys.readouterr()
    assert "ReAct" not in (run / "sdp-diagnostics" / "report.md").read_text()
