"""The replay estimates: worked examples of every definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tape.analysis.estimates import action_fidelity, cascade_factor, certified_prefix_ratio, estimates, extra_steps
from tape.sdp.trajectory import CertifiedTrajectory
from tests.profiles import examples
from tests.tape.sdp.synthetic import trajectories
from tests.tape.sdp.worked import WORKED


def _with(**changes: Any) -> CertifiedTrajectory:
    ending = {name: value for name, value in changes.items() if name != "budget"}
    origin = {"budget": changes["budget"]} if "budget" in changes else {}
    return WORKED.model_copy(
        update={
            "ending": WORKED.ending.model_copy(update=ending),
            "origin": WORKED.origin.model_copy(update=origin),
        }
    )


def _without(*actions: str) -> CertifiedTrajectory:
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
    assert action_fidelity(_without("look")) == pytest.approx(1 / 3)
    assert action_fidelity(_without("a1")) == pytest.approx(2 / 3)
    assert action_fidelity(_without("a2", "look", "b", "d1", "d2", "d3", "g1")) == 0
    # A failed attempt is not forgotten over an action that prepares the next one.
    a1, a2, look, *rest = WORKED.moves
    assert action_fidelity(WORKED.model_copy(update={"moves": [a1, look, a2, *rest]})) == pytest.approx(1 / 3)


def test_a_step_after_a_replan_is_not_correct_on_first() -> None:
    # There was nothing to try for D: no failed attempt, but a replan.
    made = _without("a1", "d1")
    moves = [
        move.model_copy(update={"action": None, "counts": False, "judged": []}) if move.action == "d2" else move
        for move in made.moves
    ]
    assert action_fidelity(made.model_copy(update={"moves": moves})) == pytest.approx(2 / 3)
    # Only a replan of its own target counts against a step: without the chain's change d3 is correct on first.
    assert action_fidelity(made.model_copy(update={"moves": moves, "plans": made.plans[:1]})) == 1


def test_certified_prefix_ratio() -> None:
    # The budget of D is used up with A, B and C certified, of the five that were planned then.
    assert certified_prefix_ratio(WORKED) == pytest.approx(3 / 5)
    assert certified_prefix_ratio(WORKED.model_copy(update={"plans": WORKED.plans[:1]})) == 1


def test_cascade_factor() -> None:
    # Only b has k = 2: one step more, nine in all, under a cap of eight.
    assert extra_steps(WORKED) == 1
    assert cascade_factor(WORKED) == pytest.approx(8 / 9)
    assert cascade_factor(_with(caps={"steps": 9}, budget={})) == 1
    assert cascade_factor(_with(caps={"steps": 9}, budget={"steps": 6})) == pytest.approx(6 / 9)
    assert cascade_factor(_with(caps={}, budget={})) == 1


def test_estimates_rescale_the_score() -> None:
    found = estimates(_with(measures={"score": 0.5}))
    assert found.validate == pytest.approx(0.5 / 3)
    assert found.replan == pytest.approx(0.5 * 3 / 5)
    assert found.cascade == pytest.approx(0.5 * 8 / 9)
    found = estimates(_with(measures={}, success=True))
    assert found.replan == pytest.approx(3 / 5)


@given(made=trajectories())
@examples(60)
def test_factors_are_shares_and_change_nothing_where_nothing_happened(made: CertifiedTrajectory) -> None:
    for factor in (action_fidelity(made), certified_prefix_ratio(made), cascade_factor(made)):
        assert 0 <= factor <= 1
    if all(move.k == 1 for move in made.moves) and made.moves:
        found = estimates(made)
        assert found.validate == found.replan == found.cascade == made.ending.score
