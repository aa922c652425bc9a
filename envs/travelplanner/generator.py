"""Seeded trips of our own: cities, offers and queries, offline.

Every query comes with a small world of its own. Its budget is drawn as a multiple (``ratio``) of what the cheapest
itinerary costs, which :func:`envs.travelplanner.cheapest.cheapest` works out exactly:

=============  ================
tightness      ratio
=============  ================
tight          1.00 to 1.05
medium         1.10 to 1.40
loose          1.50 to 2.50
infeasible     0.70 to 0.97
=============  ================

A budget is a whole number of dollars, so the ratio that counts is the one recorded. As in the public benchmark, easy
queries are of one traveller with nothing but a budget, medium ones have one local constraint, hard ones three. Roads
and flights are missing here and there, so the cheapest way out may leave no way on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import permutations
from typing import Literal

from envs.data_files import Folder, read_toml
from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.offers import SELF_DRIVING, TAXI, Attraction, Flight, Ground, OfferWorld, Restaurant, Stay
from envs.travelplanner.query import (
    CUISINES,
    HOUSE_RULES,
    ROOM_TYPES,
    SHAPES,
    TRANSPORTATION,
    Constraints,
    Level,
    TripQuery,
)
from envs.travelplanner.rules import FORBIDS
from envs.travelplanner.trip import Trip

Tightness = Literal["tight", "medium", "loose", "infeasible"]
RATIOS: dict[Tightness, tuple[float, float]] = {
    "tight": (1.0, 1.05),
    "medium": (1.1, 1.4),
    "loose": (1.5, 2.5),
    "infeasible": (0.7, 0.97),
}
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")
_KINDS = ("transportation", "room type", "house rule", "cuisine")
_OTHER_CUISINES = ("Bakery", "Cafe", "Seafood", "Barbecue", "Tea")
_TRIES = 50


def problem_set(name: str, count: int, tightness: Tightness) -> tuple[tuple[TripQuery, OfferWorld], ...]:
    """The queries of a named set: levels and lengths in turn.

    Args:
        name: Of the set, for instance ``dev``; part of the seed.
        count: How many.
        tightness: How large the budgets are.
    """
    return tuple(_member(name, i, tightness) for i in range(count))


@lru_cache(maxsize=512)
def _member(name: str, i: int, tightness: Tightness) -> tuple[TripQuery, OfferWorld]:
    days = tuple(SHAPES)[i % len(SHAPES)]
    level = LEVELS[i // len(SHAPES) % len(LEVELS)]
    return generate(f"{name} {i}", days, level, tightness)


def generate(seed: str, days: int, level: Level, tightness: Tightness) -> tuple[TripQuery, OfferWorld]:
    """A query and its world.

    Args:
        seed: Names it. The same trip under another tightness has another budget and nothing else.
        days: 3, 5 or 7.
        level: How many local constraints.
        tightness: How large the budget is.
    """
    for attempt in range(_TRIES):
        rng = random.Random(f"trip {seed} {days} {level} {attempt}")
        state, *other = rng.sample(states(), 2)
        origin, *visited = drawn_names(rng, "cities", SHAPES[days] + 1)
        world = _world(rng, origin, visited, state, other[0], days)
        query = TripQuery(
            id=f"{seed}-{tightness}".replace(" ", "-"),
            origin=origin,
            destination=visited[0] if days == 3 else state,
            cities=tuple(visited),
            start=_START,
            days=days,
            people=1 if level == "easy" else rng.randint(2, 8),
            budget=0,
            constraints=_constraints(rng, level),
            level=level,
        )
        least = cheapest(Trip(query, world))
        if least is not None:
            break
    else:
        raise AssertionError(f"no trip can be made in {_TRIES} worlds of seed {seed!r}")
    ratio = random.Random(f"budget {seed} {tightness}").uniform(*RATIOS[tightness])
    whole = int(least * ratio) // 100 * 100
    budget = whole + (100 if tightness == "tight" and whole < least else 0)
    query = replace(query, budget=budget, ratio=budget / least, feasible=budget >= least)
    return replace(query, text=_text(query)), world


_START = "2031-05-04"


def _constraints(rng: random.Random, level: Level) -> Constraints:
    count = {"easy": 0, "medium": 1, "hard": 3}[level]
    kinds = rng.sample(_KINDS[1:] if level == "medium" else _KINDS, count)
    return Constraints(
        transportation=rng.choice(TRANSPORTATION) if "transportation" in kinds else None,
        room_type=rng.choice(ROOM_TYPES) if "room type" in kinds else None,
        house_rule=rng.choice(HOUSE_RULES) if "house rule" in kinds else None,
        cuisines=tuple(rng.sample(CUISINES, rng.randint(2, 4))) if "cuisine" in kinds else (),
    )


def _world(rng: random.Random, origin: str, visited: Sequence[str], state: str, home: str, days: int) -> OfferWorld:
    cities = [origin, *visited]
    travel_days = sorted({1 + i * (days - 1) // len(visited) for i in range(len(visited))} | {days})
    dates = [f"{_START[:-2]}{3 + day:02}" for day in travel_days]
    flights, grounds = [], []
    for a, b in permutations(cities, 2):
        kilometres = rng.randint(90, 900) if origin not in (a, b) else rng.randint(300, 2200)
        if rng.random() < 0.85:
            hours, minutes = divmod(int(kilometres / 1.4), 60)
            rest = {"duration": f"{hours} hours {minutes} mins", "distance": f"{kilometres} km"}
            grounds.append(Ground(SELF_DRIVING, a, b, int(kilometres * 0.05) * 100, **rest))
            grounds.append(Ground(TAXI, a, b, kilometres * 100, **rest))
        for date in dates:
            if rng.random() < 0.8:
                flights += [_flight(rng, a, b, date, kilometres) for _ in range(rng.randint(2, 6))]
    stays = [stay for city in visited for stay in _stays(rng, city)]
    restaurants = [place for city in cities for place in _restaurants(rng, city)]
    names = {city: drawn_names(rng, "attractions", rng.randint(6, 14)) for city in cities}
    attractions = [Attraction(name, city) for city in cities for name in names[city]]
    where = {origin: home, **dict.fromkeys(visited, state)}
    return OfferWorld(tuple(flights), tuple(grounds), tuple(stays), tuple(restaurants), tuple(attractions), where)


def _flight(rng: random.Random, a: str, b: str, date: str, kilometres: int) -> Flight:
    departs = rng.randrange(24 * 60)
    arrives = (departs + 40 + kilometres // 12) % (24 * 60)
    price = (40 + int(kilometres * rng.uniform(0.08, 0.35))) * 100
    number = f"F{rng.randrange(10**7):07}"
    return Flight(number, a, b, date, price, _clock(departs), _clock(arrives))


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _stays(rng: random.Random, city: str) -> list[Stay]:
    kinds = {"Entire home/apt": 130, "Private room": 75, "Shared room": 40}
    result = []
    for name in drawn_names(rng, "stays", rng.randint(16, 40)):
        kind = rng.choice(list(kinds))
        rating = rng.randint(1, 5)
        price = int(kinds[kind] * rng.uniform(0.5, 2.0) * (0.8 + 0.08 * rating))
        rules = " & ".join(rng.sample(list(FORBIDS.values()), rng.choice((0, 1, 1, 2, 3)))) or "None"
        nights = rng.choice((1, 1, 1, 2, 2, 3, 5))
        result.append(Stay(name, city, price * 100, kind, rules, nights, rng.choice((1, 2, 2, 3, 4, 6)), rating))
    return result


def _restaurants(rng: random.Random, city: str) -> list[Restaurant]:
    restaurants = []
    for name in drawn_names(rng, "restaurants", rng.randint(20, 45)):
        rating = round(rng.uniform(2.0, 5.0), 1)
        price = int(rng.uniform(8, 60) * (0.6 + 0.16 * rating))
        kinds = frozenset(rng.sample((*CUISINES, *_OTHER_CUISINES), rng.randint(1, 3)))
        restaurants.append(Restaurant(name, city, price * 100, kinds, rating))
    return restaurants


def _text(query: TripQuery) -> str:
    """The query in words."""
    people = "one person" if query.people == 1 else f"{query.people} people"
    place = query.destination if query.days == 3 else f"{len(query.cities)} cities in {query.destination}"
    wanted = query.constraints
    asked = [wanted.transportation, wanted.room_type, wanted.house_rule and f"{wanted.house_rule} allowed"]
    asked += [", ".join(wanted.cuisines) + " food"] if wanted.cuisines else []
    wishes = "; ".join(name for name in asked if name)
    rest = f" Wishes: {wishes}." if wishes else ""
    return (
        f"A trip of {query.days} days from {query.origin} to {place} for {people}, starting on {query.start}, for at "
        f"most ${query.budget // 100}.{rest}"
    )


KINDS = ("cities", "stays", "restaurants", "attractions")


@dataclass(frozen=True)
class Names:
    """The content of ``names.toml``.

    Attributes:
        states: Names of states.
        halves: By kind (:data:`KINDS`), the first and the second halves of names.
    """

    states: tuple[str, ...]
    halves: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


def read_names(folder: Folder) -> Names:
    """Read ``names.toml`` in a folder of data files.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, "names.toml").only("states", *KINDS)
    halves = {}
    for kind in KINDS:
        entry = file.table(kind).only("first", "second")
        halves[kind] = entry.texts("first"), entry.texts("second")
    return Names(file.texts("states"), halves)


_NAMES = read_names(resources.files("envs.travelplanner") / "data")


def states() -> tuple[str, ...]:
    """Names of states."""
    return _NAMES.states


def drawn_names(rng: random.Random, kind: str, count: int) -> list[str]:
    """Distinct names of a kind (:data:`KINDS`): of cities, or of what one city offers."""
    first, second = _NAMES.halves[kind]
    gap = "" if kind == "cities" else " "
    return rng.sample([f"{a}{gap}{b}" for a in first for b in second], count)
