from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.cost import MONEY
from envs.travelplanner.environment import TripEnvironment, budget_of
from envs.travelplanner.evaluate import evaluate
from envs.travelplanner.menu import STAGES, filtered
from envs.travelplanner.sdp import chain_of
from envs.travelplanner.trip import Trip, TripState
from tape.agents.react import ReactAgent
from tests.envs.travelplanner.trips import actions_of, complete, trip, with_query


def playing(made: Trip) -> TripEnvironment:
    env = TripEnvironment(made.query, made.world, least=cheapest(made))
    env.reset(0)
    return env


@pytest.mark.parametrize("days", [3, 5, 7])
def test_booking_every_slot_and_rendering_is_a_success(days: int) -> None:
    made = trip("play", days)
    env = playing(made)
    for action in actions_of(made):
        assert not env.success()
        assert not env.ended()
        worst = env.domain.cost(env._state, action)
        _, used = env.step(action)
        assert dict(used) == dict(worst)
    assert env.success()
    assert env.ended()
    measured = env.measures()
    assert measured["final_pass"] == measured["commonsense_micro"] == measured["delivered"] == 1
    assert measured["hard_held"] == measured["hard_asked"] == 4
    assert measured["cost_over_least"] >= 1
    caps = budget_of(made.query)
    assert (caps[MONEY], caps["steps"] >= len(made.slots)) == (made.query.budget, True)


def test_the_rendered_line_is_the_public_format() -> None:
    made = trip("line", 5)
    env = playing(made)
    for action in actions_of(made):
        env.step(action)
    line = json.loads(env.line())
    assert [day["days"] for day in line["plan"]] == [1, 2, 3, 4, 5]
    fields = "days current_city transportation breakfast attraction lunch dinner accommodation"
    assert set(line["plan"][0]) == set(fields.split())
    assert line["plan"][0]["current_city"] == f"from {made.query.origin} to {made.query.cities[0]}"
    assert line["plan"][-1]["accommodation"] == "-"
    assert evaluate(line["plan"], made.query, made.world).final_pass


def refused(env: TripEnvironment, action: str) -> str:
    before = env._state
    observation, used = env.step(action)
    assert dict(used) == {"steps": 1}, "a step, and no money"
    assert env._state.booked == before.booked
    assert env._state.note.startswith("refused: ")
    assert env._state.note in observation.text
    return env._state.note


def test_what_is_not_possible_is_refused_with_a_reason() -> None:
    made = trip("refuse", 5, "hard")
    env = playing(made)
    actions = actions_of(made)
    assert "a slot, a colon and an option" in refused(env, "fly me to the moon")
    assert "next slot is outbound" in refused(env, actions[3])
    assert "there is no" in refused(env, "outbound: F0")
    ways = [0, *(i for i, slot in enumerate(made.slots) if slot.kind == "inter_city")]
    for action in actions[: ways[1]]:
        env.step(action)
    other = [o for o in made.options(made.slots[ways[1]]) if o.mode != env._state.mode and not o.broken]
    if other:
        assert "self-driving goes with neither" in refused(env, f"{made.slots[ways[1]].name}: {other[0].name}")
    while made.slots[len(env._state.booked)].name != "day 1 lunch":
        env.step(actions[len(env._state.booked)])
    breakfast = env._state.booked[-1]
    assert "booked already" in refused(env, f"day 1 lunch: {breakfast}")


def test_a_stay_that_breaks_a_wish_is_refused() -> None:
    made = trip("wish", 3, "hard")
    env = playing(made)
    env.step(actions_of(made)[0])
    slot = made.slots[1]
    broken = [option for option in made.options(slot) if option.broken]
    assert broken
    for option in broken:
        assert option.broken is not None
        assert option.broken in refused(env, f"{slot.name}: {option.name}")


def test_what_cannot_be_afforded_is_refused_and_costs_a_step_alone() -> None:
    poor = with_query(trip("poor", 3, "easy"), budget=0)
    env = playing(poor)
    paid = next(option for option in poor.options(poor.slots[0]) if option.cost)
    action = f"outbound: {paid.name}"
    assert env.domain.outcome(env._state, action).state is None
    assert "is left" in refused(env, action)


def test_a_check_without_a_required_cuisine_is_refused() -> None:
    made = trip("cuisine", 3, "easy")
    env = playing(with_query(made, cuisines=("Martian",)))
    for action in actions_of(made)[:-2]:
        env.step(action)
    assert "no restaurant serves Martian" in refused(env, "budget: check")
    assert not env.success()
    assert env.plan() is not None
    assert (env.measures()["delivered"], env.measures()["final_pass"]) == (1, 0)


@pytest.mark.parametrize("days", [3, 5, 7])
def test_truth_is_what_the_evaluator_finds_so_far(days: int) -> None:
    made = trip("truth", days)
    env = playing(made)
    names = [slot.name for slot in made.slots]
    for action in actions_of(made):
        env.step(action)
        for target in chain_of(made):
            slots = names[-1:] if target.goal else target.field("slots").split("; ")
            assert env.truth(target) is (max(map(names.index, slots)) < len(env._state.booked)), (action, target.text)


def test_truth_sees_what_was_smuggled_in() -> None:
    made = trip("smuggled", 3, "hard")
    env = playing(made)
    booked = list(complete(made).booked[:-2])
    booked[5] = booked[4]  # one restaurant twice
    env._state = TripState(tuple(booked), spent=0)
    [target] = [item for item in chain_of(made) if item.kind == "meals" and "day 1" in item.text]
    assert env.truth(target) is False


def test_five_filters_in_order_and_which_emptied_the_set() -> None:
    made = trip("filters", 3, "hard")
    state = complete(made)
    slot = made.slots[made.meal_slots[-1]]
    before = replace(state, booked=state.booked[: made.meal_slots[-1]])
    result = filtered(made, before, slot, 10**9)
    assert len(result.counts) == len(STAGES)
    assert list(result.counts) == sorted(result.counts, reverse=True)
    assert [option.cost for option in result.options] == sorted(option.cost for option in result.options)
    assert not {option.name for option in result.options} & set(made.in_group(before, slot))
    assert len(result.options) <= 30
    assert result.diagnosis(slot) == ""
    broke = filtered(made, before, slot, 0)
    assert broke.emptied_by == "affordability"
    assert "'affordability'" in broke.diagnosis(slot)


@pytest.mark.parametrize(
    ("stage", "number"), [("sandbox", 1), ("local constraints", 1), ("transport mode", 0), ("uniqueness", 4)]
)
def test_every_stage_can_empty_the_list(stage: str, number: int) -> None:
    made = trip("stages", 3, "easy")
    slot, state, world = made.slots[number], TripState(spent=0), made.world
    if stage == "sandbox":
        world = replace(world, stays=())
    elif stage == "local constraints":
        world = replace(world, stays=tuple(replace(stay, minimum_nights=9) for stay in world.stays))
    elif stage == "transport mode":
        state, world = TripState(mode="car", spent=0), replace(world, grounds=())
    else:
        [place, *_] = world.restaurants_in(slot.city).values()
        world = replace(world, restaurants=(place,))
        state = TripState((*complete(made).booked[: made.meal_slots[0]], place.name), spent=0)
    few = Trip(made.query, world)
    result = filtered(few, state, slot)
    assert result.emptied_by == stage


def test_where_the_whole_is_judged_nothing_is_refused_and_no_money_is_capped() -> None:
    made = trip("judged", 5)
    env = TripEnvironment(made.query, made.world, judged=True)
    greedy = ReactAgent("declared:first").run(env)
    assert MONEY not in env.budget
    assert (greedy.end_state, greedy.measures["delivered"]) == ("failure", 1)
    chosen = env.trip.chosen(env._state)
    assert {option.index for slot, option in chosen if slot.kind != "meals"} == {0}
    meals = {slot.group: {option.name for own, option in chosen if own.group == slot.group} for slot, _ in chosen}
    assert all(len(names) == 1 for names in meals.values()), "the cheapest one again and again"
    assert "diverse_restaurants" in env.evaluation().broken()
    env.reset(0)
    for action in actions_of(made):  # an itinerary that keeps everything passes here, too
        env.step(action)
    assert env.success()
