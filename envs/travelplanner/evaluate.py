"""The public benchmark's metrics of an itinerary; independent of everything that plans.

It reads the itinerary's texts, looks every name up in the world anew and does its own arithmetic. Eight commonsense
constraints and up to five hard ones; hard constraints are judged only of itineraries that are complete and within the
sandbox, else they count as broken; what is not delivered breaks all. Stricter than the public evaluator in three points
(ours): a flight has to be on its day, exactly the cities asked for are visited, and a plan has exactly as many days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from envs.travelplanner.offers import Flight, Ground, Restaurant, Stay, World
from envs.travelplanner.official import NOTHING, DayPlan
from envs.travelplanner.query import Query
from envs.travelplanner.rules import FORBIDS

Plan = Sequence[DayPlan]
COMMONSENSE = (
    "within_sandbox",
    "complete_information",
    "within_current_city",
    "reasonable_city_route",
    "diverse_restaurants",
    "diverse_attractions",
    "non_conflicting_transport",
    "minimum_nights",
)
HARD = ("budget", "room_rule", "room_type", "cuisine", "transportation")
_FROM_TO = re.compile(r"from (.+?) to ([^,]+)")
_MEALS = ("breakfast", "lunch", "dinner")


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one itinerary.

    Attributes:
        delivered: Whether there is one.
        commonsense: By constraint.
        hard: By constraint, of those that the query has.
        cost: Cents; None where it cannot be told.
    """

    delivered: bool
    commonsense: Mapping[str, bool]
    hard: Mapping[str, bool]
    cost: int | None

    @property
    def commonsense_pass(self) -> bool:
        """Whether all commonsense constraints hold."""
        return self.delivered and all(self.commonsense.values())

    @property
    def hard_pass(self) -> bool:
        """Whether all hard constraints hold."""
        return self.delivered and all(self.hard.values())

    @property
    def final_pass(self) -> bool:
        """Whether everything holds."""
        return self.commonsense_pass and self.hard_pass

    def broken(self) -> list[str]:
        """The constraints that do not hold."""
        return [name for name, holds in [*self.commonsense.items(), *self.hard.items()] if not holds]


def evaluate(plan: Plan | None, query: Query, world: World) -> Evaluation:
    """Judge an itinerary; None or an empty one is not delivered."""
    asked = _asked(query)
    if not plan:
        return Evaluation(False, dict.fromkeys(COMMONSENSE, False), dict.fromkeys(asked, False), None)
    read = _Reading(plan, query, world)
    commonsense = {name: check(read) for name, check in _COMMONSENSE.items()}
    judged = commonsense["within_sandbox"] and commonsense["complete_information"]
    hard = {name: judged and _HARD[name](read) for name in asked}
    return Evaluation(True, commonsense, hard, read.cost() if commonsense["within_sandbox"] else None)


def broken_so_far(plan: Plan, query: Query, world: World) -> list[str]:
    """The constraints that an itinerary with open slots breaks already; what is missing yet breaks none."""
    read = _Reading(plan, query, world)
    own = [name for name in COMMONSENSE if name not in ("complete_information", "reasonable_city_route")]
    asked = [name for name in _asked(query) if name != "cuisine"]
    return [name for name in own if not _COMMONSENSE[name](read)] + [name for name in asked if not _HARD[name](read)]


def _asked(query: Query) -> list[str]:
    wanted = query.constraints
    having = {
        "budget": True,
        "room_rule": wanted.house_rule is not None,
        "room_type": wanted.room_type is not None,
        "cuisine": bool(wanted.cuisines),
        "transportation": wanted.transportation is not None,
    }
    return [name for name in HARD if having[name]]


class _Reading:
    """An itinerary with every text looked up."""

    def __init__(self, plan: Plan, query: Query, world: World) -> None:
        self.plan, self.query, self.world = plan, query, world
        self.days = [(number, day) for number, day in enumerate(plan, 1)]

    def texts(self, *fields: str) -> list[tuple[int, str]]:
        """What stands in some fields, with the day."""
        found = [(number, str(day.get(field, NOTHING)).strip()) for number, day in self.days for field in fields]
        return [(number, text) for number, text in found if text not in ("", NOTHING)]

    def sights(self) -> list[tuple[int, str]]:
        """Sights with the day; several of a day end in semicolons."""
        return [
            (number, one.strip()) for number, text in self.texts("attraction") for one in text.split(";") if one.strip()
        ]

    def way(self, day: int, text: str) -> Flight | Ground | None:
        """The offer that a text about travelling names."""
        match = _FROM_TO.search(text)
        if match is None:
            return None
        origin, destination = _plain(match[1]), _plain(match[2])
        kind = _vehicle(text)
        if kind == "flight":
            number = text.partition("Flight Number: ")[2].partition(",")[0].strip()
            flights = self.world.flights_between(origin, destination, self.query.date_of(day))
            return next((flight for flight in flights if flight.name == number), None)
        return next((one for one in self.world.grounds_between(origin, destination) if one.name == kind), None)

    def stay(self, text: str) -> Stay | None:
        name, city = _name_city(text)
        return self.world.stays_in(city).get(name)

    def restaurant(self, text: str) -> Restaurant | None:
        name, city = _name_city(text)
        return self.world.restaurants_in(city).get(name)

    def cost(self) -> int:
        """Cents, by the public evaluator's arithmetic; what is not in the world costs nothing."""
        people, total = self.query.people, 0
        for day, text in self.texts("transportation"):
            match self.way(day, text):
                case Flight() as flight:
                    total += flight.price * people
                case Ground() as ride:
                    total += ride.price * _cars(people, 5 if _vehicle(text) == "self-driving" else 4)
        for _, text in self.texts(*_MEALS):
            if (place := self.restaurant(text)) is not None:
                total += place.price * people
        for _, text in self.texts("accommodation"):
            if (stay := self.stay(text)) is not None:
                total += stay.price * _cars(people, stay.occupancy)
        return total


def _cars(people: int, seats: int) -> int:
    """Vehicles, or rooms, for so many people."""
    share = Fraction(people, seats)
    return share.numerator // share.denominator + (share.denominator > 1)


def _plain(city: str) -> str:
    """A city without the state in brackets."""
    return re.sub(r"\(.*?\)", "", city).strip()


def _name_city(text: str) -> tuple[str, str]:
    name, _, city = text.rstrip(";").rpartition(", ")
    return name.strip(), _plain(city)


def _vehicle(text: str) -> str:
    lower = text.lower()
    return next((kind for kind in ("taxi", "self-driving", "flight") if kind in lower), "")


# --- commonsense ---------------------------------------------------------------------------------


def _within_sandbox(read: _Reading) -> bool:
    ways = all(read.way(day, text) is not None for day, text in read.texts("transportation"))
    meals = all(read.restaurant(text) is not None for _, text in read.texts(*_MEALS))
    stays = all(read.stay(text) is not None for _, text in read.texts("accommodation"))
    named = [_name_city(text) for _, text in read.sights()]
    return ways and meals and stays and all(name in read.world.attractions_in(city) for name, city in named)


def _complete_information(read: _Reading) -> bool:
    if len(read.plan) != read.query.days:
        return False
    given = 0
    for number, day in read.days:
        travels = "from " in day["current_city"]
        has = {name: str(day.get(name, "")).strip() not in ("", NOTHING) for name in _FIELDS}
        given += sum(has.values())
        if travels and not has["transportation"]:
            return False
        if not travels and not (has["attraction"] and all(has[meal] for meal in _MEALS)):
            return False
        if number != read.query.days and not has["accommodation"]:
            return False
    return 2 * given >= len(_FIELDS) * read.query.days


_FIELDS = ("transportation", *_MEALS, "attraction", "accommodation")


def _cities(day: DayPlan) -> list[str]:
    """Where one is on a day: one city, or the two ends of a way."""
    match = _FROM_TO.search(day["current_city"])
    return [_plain(day["current_city"])] if match is None else [_plain(match[1]), _plain(match[2])]


def _within_current_city(read: _Reading) -> bool:
    here = {number: _cities(day) for number, day in read.days}
    ways = all(all(city in text for city in here[day]) for day, text in read.texts("transportation"))
    places = [*read.texts(*_MEALS), *read.sights()]
    meals = all(_name_city(text)[1] in here[day] for day, text in places)
    return ways and meals and all(_name_city(text)[1] == here[day][-1] for day, text in read.texts("accommodation"))


def _reasonable_city_route(read: _Reading) -> bool:
    query, route = read.query, [city for _, day in read.days for city in _cities(day)]
    if not route or route[0] != query.origin or route[-1] != query.origin:
        return False
    stops = [(city, len(list(run))) for city, run in groupby(route)]
    inner = stops[1:-1]
    names = [city for city, _ in inner]
    # Every city once and in one go; a stop of one entry is only passed through.
    if len(set(names)) != len(names) or query.origin in names or any(count == 1 for _, count in inner):
        return False
    if any(city not in read.world.states for city in [query.origin, *names]):
        return False
    if query.days > 3 and any(read.world.states[city] != query.destination for city in names):
        return False
    return names == [query.destination] if query.days == 3 else len(names) == len(query.cities)


def _distinct(texts: Sequence[tuple[int, str]]) -> bool:
    return len({text for _, text in texts}) == len(texts)


def _non_conflicting(read: _Reading) -> bool:
    if not any(number == 1 for number, _ in read.texts("transportation")):
        return False
    kinds = {_vehicle(text) for _, text in read.texts("transportation")}
    return not ("self-driving" in kinds and kinds & {"flight", "taxi"})


def _minimum_nights(read: _Reading) -> bool:
    nights = [str(day.get("accommodation", NOTHING)).strip() for _, day in read.days]
    for text, run in groupby(nights):
        stay = None if text in ("", NOTHING) else read.stay(text)
        if stay is not None and len(list(run)) < stay.minimum_nights:
            return False
    return True


_COMMONSENSE: Mapping[str, Callable[[_Reading], bool]] = {
    "within_sandbox": _within_sandbox,
    "complete_information": _complete_information,
    "within_current_city": _within_current_city,
    "reasonable_city_route": _reasonable_city_route,
    "diverse_restaurants": lambda read: _distinct(read.texts(*_MEALS)),
    "diverse_attractions": lambda read: _distinct(read.sights()),
    "non_conflicting_transport": _non_conflicting,
    "minimum_nights": _minimum_nights,
}


# --- hard ----------------------------------------------------------------------------------------


def _stays(read: _Reading) -> list[Stay]:
    found = (read.stay(text) for _, text in read.texts("accommodation"))
    return [stay for stay in found if stay is not None]


def _room_rule(read: _Reading) -> bool:
    rule = read.query.constraints.house_rule
    return rule is None or all(FORBIDS[rule] not in stay.house_rules for stay in _stays(read))


def _room_type(read: _Reading) -> bool:
    wanted, kinds = read.query.constraints.room_type, {stay.room_type for stay in _stays(read)}
    if wanted == "not shared room":
        return "Shared room" not in kinds
    only = {"shared room": "Shared room", "private room": "Private room", "entire room": "Entire home/apt"}
    return wanted is None or kinds <= {only[wanted]}


def _cuisine(read: _Reading) -> bool:
    found: set[str] = set()
    for _, text in read.texts(*_MEALS):
        place = read.restaurant(text)
        if place is not None and place.city != read.query.origin:
            found |= place.cuisines
    return set(read.query.constraints.cuisines) <= found


def _transportation(read: _Reading) -> bool:
    banned = {"no flight": "flight", "no self-driving": "self-driving"}.get(read.query.constraints.transportation or "")
    return all(_vehicle(text) != banned for _, text in read.texts("transportation"))


_HARD: Mapping[str, Callable[[_Reading], bool]] = {
    "budget": lambda read: read.cost() <= read.query.budget,
    "room_rule": _room_rule,
    "room_type": _room_type,
    "cuisine": _cuisine,
    "transportation": _transportation,
}
