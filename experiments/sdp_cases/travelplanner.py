"""Adversarial cases for the validator of trips: right words in the wrong place.

All cases of a seed are about one generated trip; what really holds is known from how a case was made, never from the
validator or from what it uses.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from envs.travelplanner.domain import TripDomain
from envs.travelplanner.evaluate import evaluate
from envs.travelplanner.generator import generate
from envs.travelplanner.official import itinerary
from envs.travelplanner.proposal import first_complete
from envs.travelplanner.sdp import TripValidate, chain_of, target_of
from envs.travelplanner.slots import WAYS, Slot
from envs.travelplanner.state import TripState
from envs.travelplanner.trip import Option, Trip
from experiments.sdp_cases.case import Case
from tape.protocols import Observation
from tape.sdp.operators import Outcome, Validate, Verdict
from tape.sdp.target import Chain

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


@lru_cache(maxsize=8)
def trip_of(seed: int) -> Trip:
    """The trip of a seed: five days, three local constraints, a loose budget, ways of both modes."""
    for attempt in range(100):
        query, world = generate(f"case {seed} {attempt}", 5, "hard", "loose")
        trip = Trip(query, world)
        ways = [slot for slot in trip.slots if slot.kind in WAYS]
        modes = [{option.mode for option in trip.options(slot) if not option.broken} for slot in ways]
        beds = [slot for slot in trip.slots if slot.kind == "accommodation"]
        strict = all(any(option.broken for option in trip.options(slot)) for slot in beds)
        both = any(len(mode) == 2 for mode in modes[1:]) and all("public" in mode for mode in modes)
        if both and strict and query.constraints.cuisines:
            return trip
    raise AssertionError(f"no trip of seed {seed} has both ways of travelling")


def cases(seed: int, n: int) -> list[Case]:
    """Cases of all families in turn."""
    trip = trip_of(seed)
    found: list[Case] = []
    attempt = 0
    while len(found) < n:
        rng = random.Random(f"case {seed} {attempt}")
        made = _make(FAMILIES[len(found) % len(FAMILIES)], trip, rng)
        attempt += 1
        found += [_of(seed, made)] if made is not None else []
    return found


def _of(seed: int, case: Case) -> Case:
    """A case that says which trip it is about."""
    return replace(case, tail=(*case.tail[:-1], replace(case.tail[-1], fields=(("trip", str(seed)),))))


def validators() -> dict[str, Validate]:
    """The one that the environment has."""
    return {"constraint checks (deterministic)": _ByTrip()}


class _ByTrip:
    """The environment's validator, of the trip that the goal predicate names."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """As in an episode of that trip."""
        return await _validator(int(tail[-1].field("trip"))).validate(tail, outcome)


@cache
def _validator(seed: int) -> TripValidate:
    return TripValidate(trip_of(seed))


def _allowed(trip: Trip, slot: Slot, used: Sequence[str]) -> list[Option]:
    return [o for o in trip.options(slot) if o.mode != "car" and not o.broken and o.name not in used]


def _walk(trip: Trip, rng: random.Random) -> list[str]:
    """An itinerary that breaks nothing: by the evaluator, which does not share code with the validator."""
    domain = TripDomain(trip, "cheapest", {})
    booked = [action.partition(": ")[2] for action in first_complete(domain, TripState())][:-2]
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
    walk = _walk(trip, rng)
    number = rng.randrange(len(walk))
    slot = trip.slots[number]
    before, name = walk[:number], walk[number]
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
            mine = trip.option(trip.slots[0], walk[0])
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
    """A check of a whole trip in which nobody serves one of the required cuisines."""
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


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """Verdicts on predicates against the truth.

    Attributes:
        right: Certified, and true.
        wrong: Certified, and false.
        missed: Not certified, and true.
        rejected: Not certified, and false.
    """

    right: int = 0
    wrong: int = 0
    missed: int = 0
    rejected: int = 0

    @property
    def precision(self) -> float:
        """Of the certified predicates those that are true; 1 where none is certified."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Of the true predicates those that are certified; 1 where none is true."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def measure(seeds: Sequence[int], n: int) -> dict[str, Counts]:
    """By family: the validator's verdicts on n cases of every seed."""
    found = {family: Counts() for family in FAMILIES}
    for seed in seeds:
        validate = TripValidate(trip_of(seed))
        for case in cases(seed, n):
            k = asyncio.run(validate.validate(case.tail, case.outcome)).k
            old = found[case.family]
            found[case.family] = replace(
                old,
                right=old.right + min(k, case.k),
                wrong=old.wrong + max(0, k - case.k),
                missed=old.missed + max(0, case.k - k),
                rejected=old.rejected + (k == case.k),
            )
    return found
