"""Small cases with known answers for every role that a general model plays on trips: generated ones of three days."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from envs.travelplanner.domain import TripDomain, first_complete
from envs.travelplanner.generator import generate
from envs.travelplanner.prompts import prompt_format
from envs.travelplanner.prompts.chat import field_name
from envs.travelplanner.query import Level
from envs.travelplanner.trip import Trip, TripState
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import (
    RoleCase,
    judged_act,
    judged_plan,
)

_LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    make = {"plan": _plan, "act": _act}[role]
    cases = []
    for number in range(count):
        name = f"role cases {role} {seed} {number}"
        rng = random.Random(name)
        trip, actions = _trip(name, number)
        domain = TripDomain(trip, "cheapest")
        cases.append(make(f"{number}", rng, domain, prompt_format(domain, prompts), actions))
    return cases


def _trip(name: str, number: int) -> tuple[Trip, list[str]]:
    """A trip with a loose budget, and bookings that make a good itinerary of it."""
    for attempt in range(20):
        query, world = generate(f"{name} {attempt}", 3, _LEVELS[number % len(_LEVELS)], "loose")
        trip = Trip(query, world)
        actions = first_complete(TripDomain(trip, "cheapest"), TripState(spent=0))
        if actions and _fault(trip, TripState(spent=0), actions) is None:
            return trip, actions
    raise AssertionError(f"no trip of {name!r} can be made")


def _fault(trip: Trip, state: TripState, actions: Sequence[str]) -> str | None:
    """What is wrong with bookings up to the rendered itinerary; None where nothing is."""
    for action in actions:
        refused = trip.refusal(state, action)
        if refused is not None:
            return refused
        state = trip.booked(state, action)
    return None if trip.slot(state) is None else "the itinerary is not rendered"


def _after(trip: Trip, actions: Sequence[str]) -> TripState:
    state = TripState(spent=0)
    for action in actions:
        state = trip.booked(state, action)
    return state


def _plan(id: str, rng: random.Random, domain: TripDomain, written: PromptFormat, actions: list[str]) -> RoleCase:
    del rng
    state = TripState(spent=0)
    named = {field_name(slot): action.partition(": ")[2] for slot, action in zip(domain.trip.slots, actions[:-2])}  # noqa: B905 - the checks at the end are not asked for
    judge = judged_plan(written, state, lambda plan: _fault(domain.trip, state, plan.actions) or True)
    return RoleCase("plan", id, written.plan_request(state, {}), judge, json.dumps({"thought": "", **named}))


def _act(id: str, rng: random.Random, domain: TripDomain, written: PromptFormat, actions: list[str]) -> RoleCase:
    trip, done = domain.trip, rng.randrange(len(actions) - 2)
    state = _after(trip, actions[:done])

    def right(action: str) -> bool | str:
        refused = trip.refusal(state, action)
        if refused is not None:
            return refused
        after = trip.booked(state, action)
        rest = first_complete(domain, after)
        return True if rest and _fault(trip, after, rest) is None else "no way on, or no money for it"

    ideal = json.dumps({"thought": "", "action": actions[done]})
    request = written.act_request(state, {}, None, ())
    return RoleCase("act", id, request, judged_act(written, state, right), ideal)
