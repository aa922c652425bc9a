"""Adversarial cases for the validator of trips: right words in the wrong place.

What really holds is known from how a case was made, with the benchmark's evaluator, never from the validator.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from envs.travelplanner.domain import TripDomain
from envs.travelplanner.evaluate import evaluate
from envs.travelplanner.generator import generate
from envs.travelplanner.official import itinerary
from envs.travelplanner.proposal import first_complete
from envs.travelplanner.sdp import TripValidate, chain_of, target_of
from envs.travelplanner.slots import WAYS, Slot
from envs.travelplanner.state import TripState
from envs.travelplanner.trip import Option, Trip
from experiments.studies.sdp.cases.case import Case, Chosen
from tape.protocols import Observation
from tape.sdp.operators import Outcome, Validate

FAMILIES = (
    "plain",
    "prepared",
    "refused",
    "wrong_slot",
    "wrong_city",
    "over_budget",
    "repeated",
    "mode_conflict",
    "local_constraint",
    "missing_cuisine",
)
PATIENCE = 40
"""Draws after which the next trip is tried."""


def cases(seed: int, n: int) -> list[Case]:
    """``n`` cases, the families in turn, about the trip of a seed.

    Not every family can be made of every trip: after so many draws in vain another one takes its place.
    """
    found: list[Case] = []
    draws = missed = 0
    while len(found) < n:
        name = f"{seed} {missed // PATIENCE}"
        rng = random.Random(f"sdp-cases:travelplanner:{seed} {draws}")
        made = _make(FAMILIES[len(found) % len(FAMILIES)], _trip(name), rng)
        draws, missed = draws + 1, 0 if made is not None else missed + 1
        if made is not None:
            tail = tuple(replace(target, fields=(*target.fields, ("trip", name))) for target in made.tail)
            found.append(replace(made, tail=tail))
    return found


def validators() -> dict[str, Validate]:
    """The one that the environment has."""
    return {"constraint checks (deterministic)": Chosen(lambda tail, _: TripValidate(_trip(tail[0].field("trip"))))}


@lru_cache(maxsize=64)
def _trip(name: str) -> Trip:
    """A trip of five days with three local constraints, cuisines among them, a loose budget, and ways of both modes."""
    for attempt in range(200):
        query, world = generate(f"case {name} {attempt}", 5, "hard", "loose")
        trip = Trip(query, world)
        ways = [slot for slot in trip.slots if slot.kind in WAYS]
        modes = [{option.mode for option in trip.options(slot) if not option.broken} for slot in ways]
        beds = [slot for slot in trip.slots if slot.kind == "accommodation"]
        strict = all(any(option.broken for option in trip.options(slot)) for slot in beds)
        both = any(len(mode) == 2 for mode in modes[1:]) and all("public" in mode for mode in modes)
        if both and strict and query.constraints.cuisines:
            return trip
    raise AssertionError(f"no trip named {name!r} has both ways of travelling")


def _allowed(trip: Trip, slot: Slot, used: Sequence[str]) -> list[Option]:
    return [o for o in trip.options(slot) if o.mode != "car" and not o.broken and o.name not in used]


@lru_cache(maxsize=64)
def _first(trip: Trip) -> tuple[str, ...]:
    """The options of a complete itinerary."""
    actions = first_complete(TripDomain(trip, "cheapest"), TripState())
    return tuple(action.partition(": ")[2] for action in actions[:-2])


def _path(trip: Trip, rng: random.Random) -> list[str]:
    """An itinerary that breaks nothing: by the evaluator, which does not share code with the validator."""
    booked = list(_first(trip))
    free = [number for number, slot in enumerate(trip.slots[:-2]) if slot.kind not in WAYS]
    for number in rng.sample(free, 6):
        slot = trip.slots[number]
        option = rng.choice([option for option in trip.options(slot) if not option.broken][:15])
        changed = [*booked[:number], option.name, *booked[number + 1 :]]
        if evaluate(itinerary(trip, TripState(tuple(changed))), trip.query, trip.world).final_pass:
            booked = changed
    assert evaluate(itinerary(trip, TripState(tuple(booked))), trip.query, trip.world).final_pass
    return booked


def _case(family: str, trip: Trip, before: Sequence[str], after: Sequence[str], action: str, k: int) -> Case:
    """A case whose tail begins at the predicate that the next slot belongs to."""
    start = len(before)
    while start and trip.slots[start - 1].kind == "meals" and trip.slots[start - 1].day == trip.slots[len(before)].day:
        start -= 1
    shown = Observation("\n".join(after[-3:]), None)
    outcome = Outcome(TripState(tuple(before), spent=0), action, shown, TripState(tuple(after), spent=0))
    return Case(family, chain_of(trip, start), outcome, k)


def _make(family: str, trip: Trip, rng: random.Random) -> Case | None:
    path = _path(trip, rng)
    number = rng.randrange(len(path))
    slot = trip.slots[number]
    before, name = path[:number], path[number]
    action = f"{slot.name}: {name}"
    last_meal = slot.kind != "meals" or slot.name.endswith("dinner")

    def wrong(other: str) -> Case:
        return _case(family, trip, before, [*before, other], f"{slot.name}: {other}", 0)

    match family:
        case "plain":
            return _case(family, trip, before, [*before, name], action, 1) if last_meal else None
        case "prepared":
            return None if last_meal else _case(family, trip, before, [*before, name], action, 0)
        case "refused":
            return _case(family, trip, before, before, action, 0)
        case "wrong_slot":
            names = {option.name for option in trip.options(slot)}
            others = [o.name for own in trip.slots if own.kind != slot.kind for o in trip.options(own)]
            others = [other for other in others if other not in names]
            return wrong(rng.choice(others))
        case "wrong_city":
            here = {option.name for option in trip.options(slot)}
            same = [s for s in trip.slots if s.kind == slot.kind and s.city != slot.city and slot.kind not in WAYS]
            others = sorted({option.name for other in same for option in trip.options(other)} - here)
            return wrong(rng.choice(others)) if others else None
        case "over_budget":
            return _over_budget(trip, rng)
        case "repeated":
            taken = trip.in_group(TripState(tuple(before)), slot)
            return wrong(rng.choice(taken)) if taken and last_meal else None
        case "mode_conflict":
            mine = trip.option(trip.slots[0], path[0])
            assert mine is not None
            other = [o.name for o in trip.options(slot) if o.mode and o.mode != mine.mode and not o.broken]
            return wrong(rng.choice(other)) if other and slot.name != "outbound" else None
        case "local_constraint":
            broken = [option.name for option in trip.options(slot) if option.broken]
            return wrong(rng.choice(broken)) if broken else None
        case _:
            return _missing_cuisine(trip, rng)


def _over_budget(trip: Trip, rng: random.Random) -> Case | None:
    """Dear options until one goes beyond the budget; by the evaluator's own sum."""
    booked: list[str] = []
    for slot in trip.slots[:-2]:
        options = _allowed(trip, slot, trip.in_group(TripState(tuple(booked)), slot))
        dear = options[-rng.randint(1, 3) :][0]
        after = [*booked, dear.name]
        spent = evaluate(itinerary(trip, TripState(tuple(after))), trip.query, trip.world).cost
        assert spent is not None
        if spent > trip.query.budget:
            return _case("over_budget", trip, booked, after, f"{slot.name}: {dear.name}", 0)
        booked = after
    return None


def _missing_cuisine(trip: Trip, rng: random.Random) -> Case | None:
    """A check of a whole trip in which no restaurant serves one of the required cuisines."""
    wanted = trip.query.constraints.cuisines
    booked: list[str] = []
    for slot in trip.slots[:-2]:
        options = _allowed(trip, slot, trip.in_group(TripState(tuple(booked)), slot))
        options = [o for o in options if wanted[0] not in getattr(o.offer, "cuisines", ())]
        if not options:
            return None
        booked.append(rng.choice(options[:8]).name)
    outcome = Outcome(
        TripState(tuple(booked), spent=0), "budget: check", Observation(""), TripState((*booked, "check"), spent=0)
    )
    return Case("missing_cuisine", (target_of([trip.slots[-2]]), target_of([trip.slots[-1]])), outcome, 0)
