"""Every constraint is broken alone in a valid plan, and that one alone is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.travelplanner.evaluate import COMMONSENSE, broken_so_far, evaluate
from envs.travelplanner.offers import Flight, OfferWorld, Stay
from envs.travelplanner.official import DayPlan
from envs.travelplanner.query import TripQuery
from envs.travelplanner.trip import Trip
from tests.envs.travelplanner.trips import plan_of, trip, with_query
from tests.profiles import examples

Broken = tuple[list[DayPlan], TripQuery, OfferWorld]
Break = Callable[[Trip, list[DayPlan], int], Broken]
MEALS = ("breakfast", "lunch", "dinner")


def asking(made: Trip, **changes: Any) -> TripQuery:
    """The query with fields of it or of its constraints changed."""
    return with_query(made, **changes).query


def middle(made: Trip) -> int:
    """Index of a day without travel."""
    return next(day for day in range(1, made.query.days + 1) if made.query.leg_on(day) is None) - 1


def within_sandbox(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    plan[pick % len(plan)]["lunch"] = f"No Such Place, {made.query.city_of(pick % len(plan) + 1)}"
    return plan, made.query, made.world


def complete_information(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    # The attraction, the accommodation (but on the last day) or a meal of a day without travelling.
    fields = ("attraction", "accommodation", *MEALS)
    day = middle(made)
    field = fields[pick % len(fields)]
    plan[day][field] = "-"
    world = made.world
    if field == "accommodation":  # a night less may also be too few for the stay's own minimum
        world = replace(world, stays=tuple(replace(stay, minimum_nights=1) for stay in world.stays))
    # Nor may a meal have been the only one to serve a cuisine.
    return plan, asking(made, cuisines=()) if field in MEALS else made.query, world


def within_current_city(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    # A restaurant at home on a day that is not spent travelling from or to there.
    day, home = middle(made), made.query.origin
    places = sorted(made.world.restaurants_in(home))
    plan[day][MEALS[pick % 3]] = f"{places[pick % len(places)]}, {home}"
    return plan, asking(made, cuisines=()), made.world


def reasonable_city_route(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    # The same plan for a query with another destination.
    return plan, asking(made, destination="Elsewhere"), made.world


def diverse_restaurants(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    day, meal = middle(made), MEALS[pick % 3]
    other = MEALS[(pick + 1) % 3]
    plan[day][meal] = plan[day][other]
    return plan, asking(made, cuisines=()), made.world


def diverse_attractions(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    plan[0]["attraction"] = plan[1]["attraction"]
    return plan, made.query, made.world


def non_conflicting_transport(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    # The first and the last way by different modes, on a world that has both.
    first, last = made.query.legs()[0], made.query.legs()[-1]
    plan[0]["transportation"] = f"Self-driving, from {first[0]} to {first[1]}, cost: 1"
    plan[-1]["transportation"] = f"Taxi, from {last[0]} to {last[1]}, cost: 1"
    for day in plan[1:-1]:
        leg = made.query.leg_on(day["days"])
        if leg is not None:
            day["transportation"] = f"Taxi, from {leg[0]} to {leg[1]}, cost: 1"
    grounds = [
        replace(ride, name=name, origin=a, destination=b, price=0)
        for a, b, _ in made.query.legs()
        for name in ("taxi", "self-driving")
        for ride in made.world.grounds[:1]
    ]
    return plan, asking(made, transportation=None), replace(made.world, grounds=tuple(grounds))


def minimum_nights(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    return plan, made.query, with_stays(made, plan, minimum_nights=made.query.nights + 1)


def with_stays(made: Trip, plan: list[DayPlan], **changes: object) -> OfferWorld:
    """The world with the booked stays changed."""
    booked = {entry["accommodation"] for entry in plan}
    stays = tuple(
        replace(stay, **changes) if f"{stay.name}, {stay.city}" in booked else stay for stay in made.world.stays
    )
    return replace(made.world, stays=stays)


def budget(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    total = evaluate(plan, made.query, made.world).cost
    assert total is not None
    return plan, asking(made, budget=total - 1 - pick % total), made.world


def room_rule(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    return plan, asking(made, house_rule="pets"), with_stays(made, plan, house_rules="No smoking & No pets")


def room_type(made: Trip, plan: list[DayPlan], pick: int) -> Broken:
    wanted, other = (
        ("not shared room", "Shared room"),
        ("shared room", "Private room"),
        ("private room", "Entire home/apt"),
        ("entire room", "Private room"),
    )[pick % 4]
    return plan, asking(made, room_type=wanted), with_stays(made, plan, room_type=other)


def cuisine(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    return plan, asking(made, cuisines=("Martian",)), made.world


def transportation(made: Trip, plan: list[DayPlan], _: int) -> Broken:
    banned, world = "no self-driving", made.world
    if not any("Self-driving" in entry["transportation"] for entry in plan):
        banned = "no flight"
        origin, city, day = made.query.legs()[0]
        flight = Flight("F0000001", origin, city, made.query.date_of(day), 0)
        world = replace(world, flights=(*world.flights, flight))
        plan[0]["transportation"] = f"Flight Number: {flight.name}, from {origin} to {city}"
    return plan, asking(made, transportation=banned), world


BREAKS: list[Break] = [
    globals()[name] for name in (*COMMONSENSE, "budget", "room_rule", "room_type", "cuisine", "transportation")
]


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_valid_plan_passes_everything(days: int) -> None:
    for level in ("easy", "medium", "hard"):
        made = trip("valid", days, level)
        evaluation = evaluate(plan_of(made), made.query, made.world)
        assert evaluation.final_pass
        assert evaluation.broken() == []
        assert len(evaluation.hard) == 1 + {"easy": 0, "medium": 1, "hard": 3}[level]


@pytest.mark.parametrize("break_", BREAKS, ids=lambda item: item.__name__)
@given(seed=st.integers(0, 1), days=st.sampled_from([3, 5, 7]), pick=st.integers(0, 10**6))
@examples(25)
def test_what_is_broken_alone_is_reported_alone(break_: Break, seed: int, days: int, pick: int) -> None:
    made = trip(f"mutation {seed}", days)
    evaluation = evaluate(*break_(made, plan_of(made), pick))
    # Without a complete plan in the sandbox no hard constraint is judged.
    unjudged = evaluation.hard if break_ in (within_sandbox, complete_information) else ()
    assert set(evaluation.broken()) == {break_.__name__, *unjudged}
    assert not evaluation.final_pass


def test_what_is_not_delivered_breaks_everything() -> None:
    made = trip()
    for nothing in (None, []):
        evaluation = evaluate(nothing, made.query, made.world)
        assert not evaluation.delivered
        assert not evaluation.final_pass
        assert evaluation.cost is None
        assert set(evaluation.broken()) == {*COMMONSENSE, *evaluation.hard}


def test_a_flight_of_another_day_is_not_within_the_sandbox() -> None:
    made = trip("flights", 3, "easy")
    plan = plan_of(made)
    origin, city, day = made.query.legs()[0]
    plan[0]["transportation"] = f"Flight Number: F0000001, from {origin} to {city}"
    for on, expected in ((day, True), (day + 1, False)):
        flight = Flight("F0000001", origin, city, made.query.date_of(on), 0)
        world = replace(made.world, flights=(*made.world.flights, flight))
        assert evaluate(plan, made.query, world).commonsense["within_sandbox"] is expected


def test_states_in_brackets_are_read_over() -> None:
    made = trip("brackets", 5)
    plan = plan_of(made)
    city = made.query.cities[0]
    for day in plan:
        day["current_city"] = day["current_city"].replace(city, f"{city}(Somewhere)")
    assert evaluate(plan, made.query, made.world).final_pass


def test_open_slots_break_nothing_so_far() -> None:
    made = trip("open")
    plan = plan_of(made)
    for day in plan[1:]:
        for field in (*MEALS, "attraction"):
            day[field] = "-"
    assert broken_so_far(plan, made.query, made.world) == []
    day = plan[0]
    day["lunch"] = day["breakfast"]
    assert broken_so_far(plan, made.query, made.world) == ["diverse_restaurants"]


def test_a_stay_for_fewer_people_takes_more_rooms() -> None:
    made = trip("rooms", 3, "easy")
    plan = plan_of(made)
    stay: Stay = made.world.stays_in(made.query.cities[0])[plan[0]["accommodation"].rpartition(", ")[0]]
    people = (stay.occupancy, stay.occupancy + 1)
    cost, more = (evaluate(plan, asking(made, people=n, budget=10**9), made.world).cost or 0 for n in people)
    meals = [entry[meal].rpartition(", ") for entry in plan for meal in MEALS]
    per_head = sum(made.world.restaurants_in(city)[name].price for name, _, city in meals)
    assert more - cost >= 2 * stay.price + per_head
