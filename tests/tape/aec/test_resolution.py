from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.aec.resolution import Unknown, Way, resolve, ways
from tape.errors import ConfigError
from tests.profiles import examples

UNKNOWNS = st.builds(
    Unknown,
    mu=st.sampled_from([0.0, 0.1, 0.5, 0.75, 1.0]),
    expected=st.booleans(),
    query=st.none() | st.integers(0, 6),
    establishing=st.none() | st.integers(0, 6),
)


def test_looking_first_pays_exactly_where_a_query_is_cheaper_than_the_bridge_it_may_save() -> None:
    def taken(mu: float, query: int) -> Way | None:
        found = resolve(Unknown(mu, True, query, 4))
        return found and found.way

    assert taken(0.9, 1) == Way.QUERY_THEN_ESTABLISH
    assert taken(0.2, 1) == Way.ESTABLISH
    assert taken(0.5, 3) == Way.ESTABLISH
    assert taken(0.25, 1) == Way.ESTABLISH  # a tie: fewer steps at worst


@examples(40)
@given(UNKNOWNS)
def test_expected_steps_and_chances_agree_with_simulation(unknown: Unknown) -> None:
    rng = random.Random("bridging")
    for way in ways(unknown):
        steps, held, n = 0, 0, 2000
        for _ in range(n):
            holds = (rng.random() < unknown.mu) == unknown.expected
            if way.way is not Way.ESTABLISH:
                steps += unknown.query or 0
            if way.way is Way.ESTABLISH or (way.way is Way.QUERY_THEN_ESTABLISH and not holds):
                steps += unknown.establishing or 0
                holds = True
            held += holds
        assert steps / n == pytest.approx(way.steps, abs=0.4)
        assert held / n == pytest.approx(way.chance, abs=0.06)


@examples(40)
@given(UNKNOWNS, st.none() | st.integers(0, 12))
def test_the_choice_is_the_cheapest_that_is_sure_and_fits(unknown: Unknown, left: int | None) -> None:
    found = resolve(unknown, left)
    able = [way for way in ways(unknown) if (left is None or way.worst <= left) and way.chance > 0]
    assert (found is None) == (not able)
    if found is not None:
        assert found in able
        rivals = [way for way in able if way.chance == 1.0 and way.way is not Way.QUERY] or able
        assert all((found.steps, -found.chance) <= (way.steps, -way.chance) for way in rivals)


def test_without_a_bridge_the_value_is_asked_and_a_hopeless_one_is_not() -> None:
    found = resolve(Unknown(0.3, False, 2))
    assert found is not None
    assert (found.way, found.steps, found.chance) == (Way.QUERY, 2.0, 0.7)
    assert resolve(Unknown(0.0, True, 2)) is None
    assert resolve(Unknown(0.5)) is None
    assert resolve(Unknown(0.5, True, 2, 5), left=4) == resolve(Unknown(0.5, True, 2))


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="mu"):
        Unknown(1.2)
    with pytest.raises(ConfigError, match="establishing: expected a number of steps"):
        Unknown(0.2, establishing=-1)
