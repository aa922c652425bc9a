"""Credit of actions and predicates: a worked example, and that nothing is lost or counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given

from tape.analysis.credit import by_action, by_kind, credit
from tape.sdp.trajectory import CertifiedTrajectory
from tests.profiles import examples
from tests.tape.sdp.synthetic import trajectories
from tests.tape.sdp.worked import WORKED


def test_the_worked_example() -> None:
    rows = [(c.text, c.kind, c.action, c.k, c.attempts, c.prepared, c.replans) for c in credit(WORKED)]
    assert rows == [
        ("A", "take", "a2", 1, 2, 0, 0),
        ("B", "move", "b", 2, 1, 1, 0),
        ("C", "move", "b", 2, 0, 0, 0),
        ("D2", "heat", "d3", 1, 3, 0, 1),
        ("goal", "goal", None, 0, 1, 0, 0),
    ]
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
    assert sum(one.certified for one in credits) == made.ending.certified
    assert sum(one.progress for one in credits) == pytest.approx(made.progress)
    spent = sum(move.counts or move.k > 0 for move in made.moves)
    assert sum(one.attempts for one in credits) == spent
    assert sum(one.attempts for one in by_kind([made])) == spent
    for found in (by_action([made]), by_kind([made])):
        assert sum(one.certified for one in found) == made.ending.certified
        assert sum(one.progress for one in found) == pytest.approx(made.progress)
