from __future__ import annotations

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


@examples(80)
@given(UNKNOWNS)
def test_expected_steps_and_chances_are_those_of_both_values(unknown: Unknown) -> None:
    for way in ways(unknown):
        steps = held = 0.0
        for value, p in ((True, unknown.mu), (False, 1.0 - unknown.mu)):
            holds = value == unknown.expected
            steps += p * (unknown.query or 0) * (way.way is not Way.ESTABLISH)
            if way.way is Way.ESTABLISH or (way.way is Way.QUERY_THEN_ESTABLISH and not holds):
                steps += p * (unknown.establishing or 0)
                holds = True
            held += p * holds
        assert (way.steps, way.chance) == pytest.approx((steps, held if way.way is Way.QUERY else 1.0))


@examples(80)
@given(UNKNOWNS, st.none() | st.integers(0, 12))
def test_the_choice_is_the_cheapest_that_is_sure_and_fits(unknown: Unknown, left: int | None) -> None:
    found = resolve(unknown, left)
    able = [way for way in ways(unknown) if (left is None or way.worst <= left) and way.chance > 0]
    assert (found is None) == (not able)
    if found is not None:
        assert found in able
        rivals = [way for way in able if way.chance == 1.0 and way.way is not Way.QUERY] or able
        assert all((found.steps, -found.chance, found.worst) <= (way.steps, -way.chance, way.worst) for way in rivals)


@pytest.mark.parametrize(("wrong", "message"), [({"mu": 1.2}, "mu"), ({"mu": 0.2, "establishing": -1}, "establishing")])
def test_bad_numbers_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=f"{message}: expected a"):
        Unknown(**wrong)  # type: ignore[arg-type]
