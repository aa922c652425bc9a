from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.travelplanner.cost import cents, cost
from envs.travelplanner.errors import TravelError
from envs.travelplanner.evaluate import evaluate
from envs.travelplanner.offers import Attraction, Flight, Ground, Restaurant, Stay
from envs.travelplanner.official import itinerary
from tests.envs.travelplanner.trips import complete, trip

QUERY = trip().query


def test_prices_are_paid_by_heads_cars_and_rooms() -> None:
    six = replace(QUERY, people=6)
    assert cost(Flight("F1", "A", "B", "2031-05-04", 10_000), six) == 60_000
    assert cost(Ground("self-driving", "A", "B", 2_000), six) == 4_000  # two cars of five
    assert cost(Ground("taxi", "A", "B", 30_000), six) == 60_000  # two of four
    assert cost(Ground("taxi", "A", "B", 30_000), replace(QUERY, people=9)) == 90_000
    assert cost(Restaurant("R", "B", 1_250, frozenset(), 4.0), six) == 7_500
    assert cost(Stay("S", "B", 10_001, "Private room", "", 1, 4, 3), six) == 2 * 2 * 10_001
    assert cost(Attraction("M", "B"), six) == 0


@given(st.integers(1, 40), st.integers(1, 8))
def test_a_stay_has_room_for_everybody_and_not_a_room_too_many(people: int, occupancy: int) -> None:
    rooms = cost(Stay("S", "B", 1, "Private room", "", 1, occupancy, 3), replace(QUERY, people=people)) // QUERY.nights
    assert (rooms - 1) * occupancy < people <= rooms * occupancy


@pytest.mark.parametrize("days", [3, 5, 7])
def test_the_ledgers_sum_is_the_evaluators(days: int) -> None:
    for seed in range(4):
        made = trip(f"sum {seed}", days)
        state = complete(made)
        evaluation = evaluate(itinerary(made, state), made.query, made.world)
        assert evaluation.cost == made.total(state) == state.spent


def test_dollars_become_cents_exactly() -> None:
    assert [cents(amount) for amount in ("12", 12.5, "0", 3)] == [1200, 1250, 0, 300]


@pytest.mark.parametrize("wrong", ["-1", "x", "nan", "inf", "1.001", "1e999990", "1e99999999999", "9" * 5000])
def test_what_is_no_amount_is_refused(wrong: str) -> None:
    with pytest.raises(TravelError, match=r"cents|dollars"):
        cents(wrong)
