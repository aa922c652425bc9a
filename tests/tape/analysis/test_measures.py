"""What certified trajectories show, as numbers: a worked example and made-up ones."""

from __future__ import annotations

import pytest

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
    assert {kind: dict(by) for kind, by in endings([WORKED]).items()} == {"goal": {"step_cap": 1}}
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
