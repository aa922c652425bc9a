"""SDP on trips: the chain, the greedy choice with its caps, the path as a chain, a validator that is never wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.cost import MONEY
from envs.travelplanner.environment import TripEnvironment
from envs.travelplanner.offers import Flight, Ground
from envs.travelplanner.sdp import CAPS, TripValidate, chain_of
from envs.travelplanner.slots import KINDS
from envs.travelplanner.trip import Trip, TripState
from tape.lm.base import OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.events import ValidatedEvent
from tape.methods.sdp.operators import Outcome
from tape.protocols import Observation
from tape.protocols.result import EpisodeResult
from tape.trace import TraceWriter
from tests.envs.travelplanner.trips import FIXED, complete, trip, with_query
from tests.profiles import examples


def played(
    made: Trip, chain: str = "adapter", model: object = "declared:first", trace: TraceWriter | None = None
) -> tuple[TripEnvironment, EpisodeResult]:
    env = TripEnvironment(made.query, made.world, least=cheapest(made))
    agent = SdpAgent(model, sdp={"chain": chain}, **FIXED)
    return env, agent.run(env, trace=trace)


@pytest.mark.parametrize(("days", "cities", "count"), [(3, 1, 11), (5, 2, 17), (7, 3, 23)])
def test_a_chain_has_as_many_predicates_as_in_the_paper(days: int, cities: int, count: int) -> None:
    made = trip("chain", days)
    chain = chain_of(made)
    assert len(chain) == count == 1 + cities + (cities - 1) + 2 * days + 3
    kinds = {kind: sum(target.kind == kind for target in chain) for kind in KINDS}
    assert list(kinds.values()) == [1, cities, cities - 1, 1, days, days, 1, 1]
    assert [target.goal for target in chain] == [False] * (count - 1) + [True]
    assert len({target.text for target in chain}) == count
    assert (CAPS.attempts, CAPS.replans, CAPS.steps) == (3, 5, 60)


@pytest.mark.parametrize("days", [3, 5])
def test_the_greedy_choice_certifies_one_predicate_at_a_time(days: int) -> None:
    # A trip on which the cheapest way out has a way on: where there is none, see the dead end below.
    made = next(made for seed in range(20) if played(made := trip(f"greedy {seed}", days, "easy"))[0].success())
    trace = TraceWriter("greedy")
    env, result = played(made, trace=trace)
    assert result.end_state == "success"
    assert env.success()
    assert result.method["certified"] == result.method["chain_length"] == len(chain_of(made))
    assert result.method["rejections"] == 0
    events = [event for event in trace.events if isinstance(event, ValidatedEvent)]
    prepared = [event for event in events if event.k == 0]
    assert len(prepared) == 2 * days
    assert not any(event.counts for event in prepared)
    assert all(event.k == 1 for event in events if event.k) or events[-1].completed
    for event in events:
        assert all(check.truth in (None, check.holds) for check in event.checks), event


def dead_end() -> Trip:
    """A trip on which the cheapest way out leaves no way back in its mode."""
    made = trip("dead", 3, "easy", "loose")
    origin, city = made.query.origin, made.query.cities[0]
    back = tuple(ride for ride in made.world.grounds if (ride.origin, ride.destination) != (city, origin))
    cheap = tuple(replace(ride, price=100) if ride.name == "self-driving" else ride for ride in back)
    out = Ground("self-driving", origin, city, 100, "1 hour", "20 km")
    there = Flight("F1000001", origin, city, made.query.date_of(1), 9_000)
    home = Flight("F1000002", city, origin, made.query.date_of(3), 9_000)
    world = replace(made.world, grounds=(out, *cheap), flights=(*made.world.flights, there, home))
    return Trip(replace(made.query, budget=10**7), world)


def test_the_greedy_choice_runs_into_a_dead_end_and_names_the_filter() -> None:
    trace = TraceWriter("dead")
    env, result = played(dead_end(), trace=trace)
    assert (result.end_state, result.replans) == ("replan_limit", CAPS.replans)
    assert "way back" in result.detail
    [*_, last] = [event for event in trace.events if isinstance(event, ValidatedEvent)]
    assert last.action is None
    assert "'transport mode'" in last.reason
    assert result.used[MONEY] == env.trip.total(env._state) > 0
    env, result = played(dead_end(), "walk")  # the solver's path avoids it
    assert (result.end_state, result.replans, env._state.booked[0][0]) == ("success", 0, "F")


def test_a_chain_along_the_path_books_the_same_as_tape() -> None:
    made = trip("same", 3, "hard", "tight")
    trace = TraceWriter("path")
    env, result = played(made, "walk", trace=trace)
    assert result.end_state == "success"
    assert made.total(env._state) == cheapest(made)
    assert result.method["certified"] == result.method["chain_length"] == len(made.slots)
    assert sum(event.k for event in trace.events if isinstance(event, ValidatedEvent)) == len(made.slots)


def test_a_check_that_fails_is_retried_to_the_cap_and_nothing_else_is_undone() -> None:
    made = trip("retry", 3, "easy", "loose")
    env, result = played(with_query(made, cuisines=("Martian",)))
    assert result.end_state == "replan_limit"
    assert result.method["rejections"] == CAPS.attempts * (CAPS.replans + 1)
    assert result.method["certified"] == len(chain_of(made)) - 2
    assert env.measures()["delivered"] == 1


def test_a_language_model_chooses_among_the_filtered_options() -> None:
    made = trip("lm", 3, "easy", "loose")

    def script(request: Request, sample: int) -> str:
        del sample
        assert isinstance(request.constraint, OneOf)
        assert len(request.constraint.options) <= 30
        assert all(option in request.prompt[0].content for option in request.constraint.options)
        return request.constraint.options[-1 if "lunch" in request.prompt[0].content else 0]

    lm = ScriptedLM(script, obey=True)
    _, result = played(Trip(replace(made.query, budget=10**8), made.world), model=lm)
    assert result.end_state in ("success", "replan_limit")
    assert len(lm.requests) == result.steps - 2 * (result.end_state == "success")


def test_what_is_none_of_the_options_is_a_failed_attempt() -> None:
    made = trip("bad", 3, "easy", "loose")
    _, result = played(made, model=ScriptedLM(["a palace"]))
    assert result.steps == 0
    assert result.end_state == "replan_limit"
    assert result.method["rejections"] == CAPS.attempts * (CAPS.replans + 1)


@given(st.data())
@examples(30)
def test_k_never_skips_a_false_predicate(data: st.DataObject) -> None:
    made = trip("skip", 5, "hard", "loose")
    good = complete(made).booked
    booked = list(good[: data.draw(st.integers(1, len(good)))])
    for number in data.draw(st.lists(st.integers(0, len(booked) - 1), max_size=2)):
        slot = made.slots[number]
        names = [option.name for option in made.options(slot)] or ["check"]
        booked[number] = data.draw(st.sampled_from([*names, "nothing of the kind"]))
    chain = chain_of(made)
    after = TripState(tuple(booked), spent=0)
    outcome = Outcome(TripState(spent=0), "x", Observation("all of it is booked"), after)
    validate = TripValidate(made)
    verdict = asyncio.run(validate.validate(chain, outcome))
    assert all(validate.check(target, after).holds for target in chain[: verdict.k])
    if verdict.k < len(chain):
        assert not validate.check(chain[verdict.k], after).holds
