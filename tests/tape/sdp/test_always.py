"""The ablation without VALIDATE: every action counts, and none is left out."""

from __future__ import annotations

import asyncio

import pytest

from tape.protocols import Observation
from tape.sdp.always import AlwaysPass
from tape.sdp.operators import Outcome
from tape.sdp.target import Target

A, B = Target("a", "x", by="go"), Target("b", "x", by="go on")
REACHED, BEYOND = Target("done", "goal", goal=True, by="finish"), Target("done", "goal", goal=True)


@pytest.mark.parametrize(
    ("tail", "k"), [((A, B, REACHED), 1), ((A, REACHED), 1), ((REACHED,), 1), ((A, B, BEYOND), 1), ((B, BEYOND), 2)]
)
def test_a_goal_with_an_action_of_its_own_waits_for_it(tail: tuple[Target, ...], k: int) -> None:
    verdict = asyncio.run(AlwaysPass().validate(tail, Outcome(None, "go", Observation(""), None)))
    assert verdict.k == k
    assert {check.how for check in verdict.checks} == {"always"}
