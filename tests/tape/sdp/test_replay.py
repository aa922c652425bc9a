"""The replay estimates: worked examples of every definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tape.sdp.replay import (
    action_fidelity,
    cascade_factor,
    certified_prefix_ratio,
    estimates,
    extra_steps,
)
from tape.sdp.trajectory import CertifiedTrajectory
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


def test_action_fidelity() -> None:
    # Certified steps: a2 (after a1), b (after look), d3 (after d1, d2 and a replan): none at once.
    assert action_fidelity(WORKED) == 0
    # Without a1: a2 is correct on first, 1 of 3.
    assert action_fidelity(WORKED.model_copy(update={"moves": WORKED.moves[1:]})) == pytest.approx(1 / 3)
    # Without look too: 2 of 3.
    moves = [WORKED.moves[1], *WORKED.moves[3:]]
    assert action_fidelity(WORKED.model_copy(update={"moves": moves})) == pytest.approx(2 / 3)
    assert action_fidelity(WORKED.model_copy(update={"moves": WORKED.moves[:1]})) == 0


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
    assert found.validate == 0
    assert found.replan == pytest.approx(0.5 * 3 / 5)
    assert found.cascade == pytest.approx(0.5 * 8 / 9)
    found = estimates(_with(measures={}, success=True))
    assert found.replan == pytest.approx(3 / 5)


@given(made=trajectories())
@settings(max_examples=60, deadline=None)
def test_factors_are_shares_and_change_nothing_where_nothing_happened(made: CertifiedTrajectory) -> None:
    for factor in (action_fidelity(made), certified_prefix_ratio(made), cascade_factor(made)):
        assert 0 <= factor <= 1
    if all(move.k == 1 for move in made.moves) and made.moves:
        found = estimates(made)
        assert found.validate == found.replan == found.cascade == made.ending.score
