"""The path on the plan graph: canonical sequences, pruning that loses nothing, the budget kept to the cent."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envs.travelplanner import menu as menus
from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.cost import MONEY
from envs.travelplanner.domain import TripDomain, first_complete
from envs.travelplanner.environment import TripEnvironment
from envs.travelplanner.menu import Objective, menu, skyband
from envs.travelplanner.offers import Restaurant
from envs.travelplanner.query import Level
from envs.travelplanner.slots import Slot
from envs.travelplanner.trip import Trip, TripOption, TripState
from tape.agents.tape import TapeAgent
from tests.envs.travelplanner.trips import FIXED, rng_of, trip, with_query
from tests.profiles import examples


def small(seed: int, restaurants: int = 11, cuisines: int = 2) -> Trip:
    """A trip of three days with few offers, so that all itineraries can be listed."""
    made = trip(f"small {seed}", 3, "medium")
    rng = rng_of("small", seed)
    city = made.query.cities[0]
    places = [
        replace(place, price=rng.randint(5, 30) * 100, rating=rng.randint(2, 5))
        for place in list(made.world.restaurants_in(city).values())[:restaurants]
    ]
    wanted = sorted({kind for place in places for kind in place.cuisines})[:cuisines]
    world = replace(made.world, restaurants=tuple(places), attractions=made.world.attractions[:40])
    return with_query(Trip(made.query, world), cuisines=tuple(wanted))


def sets_of_meals(made: Trip) -> list[tuple[Restaurant, ...]]:
    """All sets of nine restaurants that cover the cuisines."""
    places = [option.offer for option in made.options(made.slots[made.meal_slots[0]])]
    all_flights = []
    for chosen in itertools.combinations(places, len(made.meal_slots)):
        served = {kind for place in chosen for kind in place.cuisines}
        if set(made.query.constraints.cuisines) <= served:
            all_flights.append(chosen)
    return all_flights


def paths(domain: TripDomain, state: TripState, depth: int) -> list[tuple[str, ...]]:
    """All sequences of actions of a length in the plan graph."""
    if not depth:
        return [()]
    all_texts = []
    for action in domain.open_actions(state):
        after = domain.outcome(state, action).state
        assert isinstance(after, TripState)
        all_texts += [(action, *rest) for rest in paths(domain, after, depth - 1)]
    return all_texts


def before_the_meals(made: Trip) -> TripState:
    """An observed state in which the first meal comes next."""
    state = TripState(spent=0)
    for action in first_complete(TripDomain(made, "cheapest"), TripState())[: made.meal_slots[0]]:
        state = made.booked(state, action)
    return state


def at_the_meals(made: Trip, booked: int, rng: random.Random) -> TripState:
    """An observed state in which some meals have been booked in any order."""
    state = before_the_meals(made)
    for option in rng.sample(made.options(made.slots[made.meal_slots[0]]), booked):
        state = made.after(state, made.slots[len(state.booked)], option, option.name)
    return state


def unpruned(made: Trip) -> tuple[TripDomain, Slot]:
    """The domain of a trip with every restaurant on its menus, and the first slot of a meal."""
    domain, slot = TripDomain(made, "cheapest"), made.slots[made.meal_slots[0]]
    domain._menus[slot.group] = made.options(slot)
    return domain, slot


@given(seed=st.integers(0, 30), booked=st.integers(1, 8), order=st.integers(0, 10**6))
@example(seed=0, booked=0, order=0)
@example(seed=1, booked=0, order=0)
@examples(40)
def test_whatever_has_been_booked_every_set_that_is_left_is_one_path(seed: int, booked: int, order: int) -> None:
    made = small(seed)
    domain, slot = unpruned(made)
    here = at_the_meals(made, booked, rng_of("order", order))
    taken = frozenset(made.in_group(here, slot))
    all_texts = [frozenset(a.partition(": ")[2] for a in path) for path in paths(domain, here, 9 - booked)]
    expected = {frozenset(place.name for place in chosen) - taken for chosen in sets_of_meals(made)}
    assert len(all_texts) == len(set(all_texts)), "one path for each set"
    assert set(all_texts) == {rest for rest in expected if len(rest) == 9 - booked}


@given(seed=st.integers(0, 5), booked=st.integers(2, 8), orders=st.lists(st.integers(0, 10**6), min_size=8, max_size=8))
@examples(40)
def test_predicted_states_of_one_node_go_on_alike(seed: int, booked: int, orders: list[int]) -> None:
    made = small(seed)
    domain, _ = unpruned(made)
    nodes: dict[str, set[tuple[str, ...]]] = {}
    for order in orders:
        state = replace(at_the_meals(made, booked, rng_of("order", order)), spent=None)
        all_texts = set(paths(domain, state, 9 - booked))
        assert nodes.setdefault(domain.key(state), all_texts) == all_texts


def test_a_dear_first_choice_is_no_dead_end() -> None:
    made = trip("dear", 3, "easy", "loose")
    domain = TripDomain(made, "cheapest")
    state = before_the_meals(made)
    slot = made.slots[len(state.booked)]
    dearest = [option for option in made.options(slot) if not option.broken][-2]
    state = made.booked(state, f"{slot.name}: {dearest.name}")
    for start in (state, replace(state, spent=None)):
        plan, here = first_complete(domain, start), start
        assert plan, "the cheap ones are still to be had"
        for action in plan:
            assert made.refusal(here, action) is None
            here = made.booked(here, action)
        assert here.cuisines == made.wanted


def test_going_on_from_anywhere_makes_the_graph_no_larger() -> None:
    made = trip("size", 7, "easy", "loose")
    domain = TripDomain(made, "cheapest")
    sizes = []
    for which in (0, -2):  # the cheapest meal first, and a dear one
        state = before_the_meals(made)
        slot = made.slots[len(state.booked)]
        state = made.booked(state, f"{slot.name}: {made.options(slot)[which].name}")
        layer, size = {domain.key(state): state}, 0
        for _ in range(slot.left):
            reached = [made.booked(here, action) for here in layer.values() for action in domain.open_actions(here)]
            layer = {domain.key(after): replace(after, spent=None) for after in reached}
            size += len(layer)
        sizes.append(size)
    assert sizes[1] <= sizes[0] + slot.left


def best_value(made: Trip, objective: Objective, budget: int) -> float | None:
    """The best sum over all sets of meals within a budget for meals, by listing them."""
    people, values = made.query.people, []
    for chosen in sets_of_meals(made):
        if sum(place.price for place in chosen) * people <= budget:
            values.append(sum(-place.price if objective == "cheapest" else place.rating for place in chosen))
    return max(values, default=None)


@given(seed=st.integers(0, 200), share=st.floats(1.0, 1.6), objective=st.sampled_from(["cheapest", "best"]))
@examples(40)
def test_the_skyband_loses_no_best_set(seed: int, share: float, objective: Objective) -> None:
    made = small(seed, restaurants=12)
    all_sets = sets_of_meals(made)
    if not all_sets:
        return
    least = min(sum(place.price for place in chosen) for chosen in all_sets) * made.query.people
    budget = int(least * share)
    slot = made.slots[made.meal_slots[0]]
    kept = skyband(made.options(slot), len(made.meal_slots), objective)
    names = {option.name for option in kept}
    places = tuple(place for place in made.world.restaurants if place.name in names)
    pruned = Trip(made.query, replace(made.world, restaurants=places))
    assert best_value(pruned, objective, budget) == best_value(made, objective, budget)


def play(made: Trip, objective: Objective = "cheapest") -> TripEnvironment:
    env = TripEnvironment(made.query, made.world, objective, least=cheapest(made))
    result = TapeAgent("declared:first", **FIXED).run(env)
    assert result.budget_violations == []
    assert result.used.get(MONEY, 0) == made.total(env._state) <= made.query.budget or result.end_state != "success"
    env.ending = result.end_state
    return env


@pytest.mark.parametrize(
    ("days", "level"), [(3, "easy"), (3, "hard"), (5, "medium"), pytest.param(7, "hard", marks=pytest.mark.soak)]
)
def test_the_solvers_cheapest_path_is_the_cheapest_itinerary(days: int, level: Level) -> None:
    made = trip("least 0", days, level, "tight")
    env = play(made)
    assert env.success()
    assert made.total(env._state) == cheapest(made)


def test_a_budget_a_cent_too_small_is_found_infeasible_before_anything_is_booked() -> None:
    made = trip("cent", 3, "medium")
    least = cheapest(made)
    assert least is not None
    for budget, ending in ((least, "success"), (least - 1, "infeasible")):
        env = play(Trip(replace(made.query, budget=budget), made.world))
        assert env.ending == ending
        assert bool(env._state.booked) is (ending == "success")
        assert env.answered_value() == (env.plan() if ending == "success" else None)


def test_the_reported_least_budget_is_that_of_the_cheapest_itinerary() -> None:
    made = trip("cent", 3, "medium", "infeasible")
    result = TapeAgent("declared:first", **FIXED).run(TripEnvironment(made.query, made.world))
    [option] = result.explanation["options"]
    [cap] = option["caps"]
    least = cheapest(made)
    assert least is not None
    assert (cap["resource"], cap["cap"], option["proven"]) == (MONEY, least / 100, True)
    assert f"needs a cap of ${least // 100:,} of the trip" in result.detail


def test_the_best_rated_itinerary_is_no_worse_than_the_cheapest() -> None:
    made = trip("rated", 3, "medium", "medium")
    rated = {objective: play(made, objective).measures() for objective in ("cheapest", "best")}
    assert rated["best"]["rating"] > rated["cheapest"]["rating"]
    assert rated["best"]["cost_usd"] >= rated["cheapest"]["cost_usd"]
    assert rated["best"]["final_pass"] == 1


def test_a_node_carries_only_what_constrains_the_future() -> None:
    made = small(1)
    domain = TripDomain(made, "cheapest")
    base = TripState(booked=("x",) * made.meal_slots[0], mode="public")
    first, second, third, *_ = made.options(made.slots[made.meal_slots[0]])

    def through(*options: TripOption) -> TripState:
        state = base
        for option in options:
            state = made.after(state, made.slots[len(state.booked)], option, option.name)
        return state

    trip_state, other = through(first, third), through(second, third)
    assert (domain.key(trip_state) == domain.key(other)) is (trip_state.cuisines == other.cuisines)
    assert domain.key(replace(trip_state, mode="car")) == domain.key(trip_state), (
        "after the last way the mode constrains nothing"
    )
    unordered = through(third, first)
    assert domain.key(unordered) != domain.key(through(second, first))
    assert third.name in domain.key(unordered)
    # From there the path goes on with what is still free, and never with what is used.
    offered = {action.partition(": ")[2] for action in domain.open_actions(unordered)}
    assert not offered & {first.name, third.name}


def test_long_lists_are_cut_without_losing_the_cheapest_or_a_cuisine(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trip("cut", 7, "hard")
    monkeypatch.setattr(menus, "MOST_EDGES", 500)
    for number in made.meal_slots[::6]:
        slot = made.slots[number]
        r = sum(other.group == slot.group for other in made.slots)
        options = [option for option in made.options(slot) if not option.broken]
        for objective in ("cheapest", "best"):
            kept = menu(made, slot, objective)
            assert [option.index for option in kept] == sorted(option.index for option in kept)
            full = skyband(options, r, objective)
            assert kept[:r] == tuple(full[:r])
            assert {option.cuisines for option in full} - {0} <= {option.cuisines for option in kept}


def test_there_is_no_plan_where_nothing_can_be_completed() -> None:
    made = trip("none", 3, "easy")
    bare = Trip(made.query, replace(made.world, flights=(), grounds=()))
    assert first_complete(TripDomain(bare, "cheapest"), TripState()) == []
    assert cheapest(bare) is None
    env = play(bare)
    assert env.ending in ("infeasible", "no_plan", "replan_limit")
    assert not env._state.booked
