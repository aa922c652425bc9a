"""Trips for tests."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

from envs.travelplanner.domain import TripDomain, first_complete
from envs.travelplanner.generator import generate
from envs.travelplanner.official import DayPlan, itinerary
from envs.travelplanner.query import Level
from envs.travelplanner.trip import Trip, TripState

FIXED: dict[str, Any] = {"num_plans": 1, "execution": "forced", "on_infeasible": "stop"}


@cache
def trip(seed: str = "t", days: int = 3, level: Level = "hard", tightness: str = "loose") -> Trip:
    """A generated trip."""
    query, world = generate(seed, days, level, tightness)
    return Trip(query, world)


@cache
def complete(made: Trip) -> TripState:
    """An itinerary with every slot filled that breaks nothing."""
    actions = first_complete(TripDomain(made, "cheapest"), TripState())
    state = TripState(spent=0)
    for action in actions:
        assert made.refusal(state, action) is None, action
        state = made.booked(state, action)
    return state


def plan_of(made: Trip) -> list[DayPlan]:
    """That itinerary in the public format."""
    return itinerary(made, complete(made))


def rng_of(*names: object) -> random.Random:
    """A named source of randomness."""
    return random.Random(" ".join(map(str, names)))


def actions_of(made: Trip) -> list[str]:
    """The actions of that itinerary."""
    return [f"{slot.name}: {name}" for slot, name in zip(made.slots, complete(made).booked, strict=True)]


def with_query(made: Trip, **changes: Any) -> Trip:
    """The same trip with fields of its query, or of the query's constraints, changed."""
    own = {name: changes.pop(name) for name in list(changes) if hasattr(made.query.constraints, name)}
    return Trip(replace(made.query, constraints=replace(made.query.constraints, **own), **changes), made.world)
