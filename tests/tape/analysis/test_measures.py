"""What certified trajectories show, as numbers: measures, estimates and credit of a worked example and of others."""

from typing import Any

import pytest
from hypothesis import given

from tape.analysis.credit import by_action, by_kind, credit
from tape.analysis.estimates import action_fidelity, cascade_factor, certified_prefix_ratio, estimates, extra_steps
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
from tests.profiles import examples
from tests.tape.sdp.synthetic import trajectories, trajectory
from tests.tape.sdp.worked import WORKED


def ended(one: CertifiedTrajectory = WORKED, budget: dict[str, int] | None = None, **changes: Any) -> Any:
    """A trajectory with another end, and perhaps another budget."""
    origin = one.origin if budget is None else one.origin.model_copy(update={"budget": budget})
    return one.model_copy(update={"ending": one.ending.model_copy(update=changes), "origin": origin})


def test_cascades_and_scores_of_the_worked_example() -> None:
    found = cascades([WORKED])
    assert [one.value for one in found.depths] == pytest.approx([2 / 3, 1 / 3, 0])
    assert (found.deep.n, found.deep.value) == (3, pytest.approx(1 / 3))
    assert found.without_completion == found.deep
    scores = score_by_replans([WORKED])
    assert [one.n for one in scores] == [0, 1, 0, 0]
    assert scores[1].value == pytest.approx(0.8)
    many = [trajectory(seed, score=True, skill=0.3) for seed in range(40)]
    assert sum(one.n for one in score_by_replans(many)) == 40


def test_progress_of_failed_runs() -> None:
    assert progress([WORKED]).value == pytest.approx(4 / 5)
    kinds = {kind: (one.n, one.value) for kind, one in progress_by_kind([WORKED]).items()}
    assert kinds == {"goal": (1, 0), "heat": (1, 1), "move": (2, 1), "take": (1, 1)}
    assert certified_by_length([WORKED]) == {5: (1, 4)}
    assert (progress([ended(success=True)]).value, progress_by_kind([ended(success=True)])) == (None, {})


def test_where_attempts_and_runs_fail() -> None:
    assert rejections([WORKED]) == {
        "goal": {"not_certified": 1}, "heat": {"not_certified": 2}, "take": {"not_certified": 1}
    }  # fmt: skip
    assert attempts_by_kind([WORKED]) == {"take": 2, "move": 1, "heat": 3, "goal": 1}
    assert endings([WORKED]) == {"goal": {"step_cap": 1}}
    stuck = WORKED.moves[0].model_copy(update={"after": WORKED.moves[0].before})
    assert rejections([WORKED.model_copy(update={"moves": [stuck]})]) == {"take": {"nothing_changed": 1}}
    mute = stuck.model_copy(update={"action": None})
    assert rejections([WORKED.model_copy(update={"moves": [mute]})]) == {"take": {"no_action": 1}}


@pytest.mark.parametrize(
    ("why", "goal", "end"),
    [
        ("no_chain", False, "replan_empty"), ("replan_cap", False, "replan_cap"), ("goal", True, "wrong_goal"),
        ("limit", True, "wrong_goal"), ("limit", False, "limit"),
    ],
)  # fmt: skip
def test_what_a_failed_run_ends_by(why: str, goal: bool, end: str) -> None:
    made = ended(why=why, goal_certified=goal)
    assert end_of(made) == end
    alone = made.model_copy(update={"plans": WORKED.plans[:1]})
    assert end_of(alone) == ("no_chain" if end == "replan_empty" else end)


def test_verdicts_beside_the_truth() -> None:
    found = agreement([WORKED])
    assert {how: (one.precision.n, one.precision.value, one.recall.n) for how, one in found.items()} == {
        "lm": (1, 0, 0), "deterministic": (3, 1, 3)
    }  # fmt: skip
    assert (found["deterministic"].recall.value, found["lm"].unknown) == (1, 0)


def test_goals_beside_success_with_forced_answers_apart() -> None:
    right, wrong = ended(goal_certified=True, success=True), ended(goal_certified=True, success=False)
    forced = ended(goal_certified=False, success=True, forced=True)
    found = goals([right, right, wrong, WORKED, forced])
    assert (found.agree.n, found.agree.value) == (4, 3 / 4)
    assert (found.certified.n, found.certified.value) == (3, pytest.approx(2 / 3))
    assert (found.forced.n, found.forced.value) == (1, 1)


def test_shares_have_wilsons_interval_where_nothing_is_repeated() -> None:
    found = share((value, number) for number, value in enumerate([True, True, False, True]))
    assert (found.n, found.value, (found.low, found.high)) == (4, 0.75, wilson(3, 4))
    assert mean((value, number) for number, value in enumerate([1.0, 1.0, 0.0, 1.0])) == found
    assert mean([(0.5, "a"), (0.5, "b")]).low == pytest.approx(wilson(1, 2)[0])
    assert share([]).shown == mean([]).shown == "-"


# --- estimates ----------------------------------------------------------------------------------


def without(*actions: str) -> CertifiedTrajectory:
    """The worked example without some of its moves; chains stay where they were."""
    kept = [move for move in WORKED.moves if move.action not in actions]
    plans = [
        plan.model_copy(update={"after": sum(move.action not in actions for move in WORKED.moves[: plan.after])})
        for plan in WORKED.plans
    ]
    return WORKED.model_copy(update={"moves": kept, "plans": plans})


def test_action_fidelity() -> None:
    # Certified steps: a2 (after a1), b (at once: look only prepares it), d3 (after d1, d2 and a replan).
    assert action_fidelity(WORKED) == pytest.approx(1 / 3)
    assert action_fidelity(without("look")) == pytest.approx(1 / 3)
    assert action_fidelity(without("a1")) == pytest.approx(2 / 3)
    assert action_fidelity(without("a2", "look", "b", "d1", "d2", "d3", "g1")) == 0
    # A failed attempt is not forgotten over an action that prepares the next one.
    a1, a2, look, *rest = WORKED.moves
    assert action_fidelity(WORKED.model_copy(update={"moves": [a1, look, a2, *rest]})) == pytest.approx(1 / 3)
    # There was nothing to try for D: no failed attempt, but a replan, which counts against its own target alone.
    made, mute = without("a1", "d1"), {"action": None, "counts": False, "judged": []}
    moves = [move.model_copy(update=mute) if move.action == "d2" else move for move in made.moves]
    assert action_fidelity(made.model_copy(update={"moves": moves})) == pytest.approx(2 / 3)
    assert action_fidelity(made.model_copy(update={"moves": moves, "plans": made.plans[:1]})) == 1


def test_estimates_rescale_the_score_by_factors() -> None:
    # The budget of D is used up with A, B and C certified, of the five that were planned then.
    assert certified_prefix_ratio(WORKED) == pytest.approx(3 / 5)
    assert certified_prefix_ratio(WORKED.model_copy(update={"plans": WORKED.plans[:1]})) == 1
    # Only b has k = 2: one step more, nine in all, under a cap of eight.
    assert (extra_steps(WORKED), cascade_factor(WORKED)) == (1, pytest.approx(8 / 9))
    assert cascade_factor(ended(caps={"steps": 9}, budget={})) == 1
    assert cascade_factor(ended(caps={"steps": 9}, budget={"steps": 6})) == pytest.approx(6 / 9)
    assert cascade_factor(ended(caps={}, budget={})) == 1
    found = estimates(ended(measures={"score": 0.5}))
    assert [found.validate, found.replan, found.cascade] == pytest.approx([0.5 / 3, 0.5 * 3 / 5, 0.5 * 8 / 9])
    assert estimates(ended(measures={}, success=True)).replan == pytest.approx(3 / 5)


@given(made=trajectories())
@examples(60)
def test_factors_are_shares_and_change_nothing_where_nothing_happened(made: CertifiedTrajectory) -> None:
    for factor in (action_fidelity(made), certified_prefix_ratio(made), cascade_factor(made)):
        assert 0 <= factor <= 1
    if all(move.k == 1 for move in made.moves) and made.moves:
        found = estimates(made)
        assert found.validate == found.replan == found.cascade == made.ending.score


# --- credit -------------------------------------------------------------------------------------


def test_credit_of_the_worked_example() -> None:
    rows = [(c.text, c.kind, c.action, c.k, c.attempts, c.prepared, c.replans) for c in credit(WORKED)]
    assert rows == [
        ("A", "take", "a2", 1, 2, 0, 0), ("B", "move", "b", 2, 1, 1, 0), ("C", "move", "b", 2, 0, 0, 0),
        ("D2", "heat", "d3", 1, 3, 0, 1), ("goal", "goal", None, 0, 1, 0, 0),
    ]  # fmt: skip
    assert sum(one.progress for one in credit(WORKED)) == pytest.approx(4 / 5) == WORKED.progress
    earned = {one.name: (one.n, one.certified, one.attempts) for one in by_action([WORKED])}
    assert earned == {"b": (1, 2, 1), "a2": (1, 1, 1), "d3": (1, 1, 1), "a1": (1, 0, 1), "look": (1, 0, 1),
                      "d1": (1, 0, 1), "d2": (1, 0, 1), "g1": (1, 0, 1)}  # fmt: skip
    kinds = {one.name: (one.certified, one.attempts) for one in by_kind([WORKED])}
    assert kinds == {"take": (1, 2), "move": (2, 1), "heat": (1, 3), "goal": (0, 1)}


@given(made=trajectories())
@examples(80)
def test_credit_adds_up(made: CertifiedTrajectory) -> None:
    credits = credit(made)
    spent = sum(move.counts or move.k > 0 for move in made.moves)
    assert sum(one.attempts for one in credits) == sum(one.attempts for one in by_kind([made])) == spent
    for found in (credits, by_action([made]), by_kind([made])):
        assert sum(one.certified for one in found) == made.ending.certified
        assert sum(one.progress for one in found) == pytest.approx(made.progress)
