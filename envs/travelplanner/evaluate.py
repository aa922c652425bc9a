"""The public benchmark's metrics of an itinerary; independent of everything that plans.

It reads the itinerary's texts, looks every name up in the world anew and does its own arithmetic. Eight commonsense
constraints and up to five hard ones; hard constraints are judged only of itineraries that are complete and within the
sandbox, else they count as broken; what is not delivered breaks all. Stricter than the public evaluator in three points
(ours): a flight has to be on its day, exactly the cities asked for are visited, and a plan has exactly as many days.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from envs.travelplanner.offers import OfferWorld, Stay
from envs.travelplanner.official import (
    FROM_TO,
    MEALS,
    NOTHING,
    DayPlan,
    ItineraryReading,
    Plan,
    name_city,
    plain,
    vehicle,
)
from envs.travelplanner.query import TripQuery
from envs.travelplanner.rules import FORBIDS


def _within_sandbox(read: ItineraryReading) -> bool:
    ways = all(read.way(day, text) is not None for day, text in read.texts("transportation"))
    meals = all(read.restaurant(text) is not None for _, text in read.texts(*MEALS))
    stays = all(read.stay(text) is not None for _, text in read.texts("accommodation"))
    named = [name_city(text) for _, text in read.sights()]
    return ways and meals and stays and all(name in read.world.attractions_in(city) for name, city in named)


def _complete_information(read: ItineraryReading) -> bool:
    if len(read.plan) != read.query.days:
        return False
    given = 0
    for number, day in read.days:
        travels = "from " in day["current_city"]
        has = {name: str(day.get(name, "")).strip() not in ("", NOTHING) for name in _FIELDS}
        given += sum(has.values())
        if travels and not has["transportation"]:
            return False
        if not travels and not (has["attraction"] and all(has[meal] for meal in MEALS)):
            return False
        if number != read.query.days and not has["accommodation"]:
            return False
    return 2 * given >= len(_FIELDS) * read.query.days


_FIELDS = ("transportation", *MEALS, "attraction", "accommodation")


def _cities(day: DayPlan) -> list[str]:
    """Where one is on a day: one city, or the two ends of a way."""
    match = FROM_TO.search(day["current_city"])
    return [plain(day["current_city"])] if match is None else [plain(match[1]), plain(match[2])]


def _within_current_city(read: ItineraryReading) -> bool:
    here = {number: _cities(day) for number, day in read.days}
    ways = all(all(city in text for city in here[day]) for day, text in read.texts("transportation"))
    places = [*read.texts(*MEALS), *read.sights()]
    meals = all(name_city(text)[1] in here[day] for day, text in places)
    return ways and meals and all(name_city(text)[1] == here[day][-1] for day, text in read.texts("accommodation"))


def _reasonable_city_route(read: ItineraryReading) -> bool:
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


def _non_conflicting(read: ItineraryReading) -> bool:
    if not any(number == 1 for number, _ in read.texts("transportation")):
        return False
    kinds = {vehicle(text) for _, text in read.texts("transportation")}
    return not ("self-driving" in kinds and kinds & {"flight", "taxi"})


def _minimum_nights(read: ItineraryReading) -> bool:
    nights = [str(day.get("accommodation", NOTHING)).strip() for _, day in read.days]
    for text, run in groupby(nights):
        stay = None if text in ("", NOTHING) else read.stay(text)
        if stay is not None and len(list(run)) < stay.minimum_nights:
            return False
    return True


COMMONSENSE: Mapping[str, Callable[[ItineraryReading], bool]] = {
    "within_sandbox": _within_sandbox,
    "complete_information": _complete_information,
    "within_current_city": _within_current_city,
    "reasonable_city_route": _reasonable_city_route,
    "diverse_restaurants": lambda read: _distinct(read.texts(*MEALS)),
    "diverse_attractions": lambda read: _distinct(read.sights()),
    "non_conflicting_transport": _non_conflicting,
    "minimum_nights": _minimum_nights,
}


def _stays(read: ItineraryReading) -> list[Stay]:
    generator = (read.stay(text) for _, text in read.texts("accommodation"))
    return [stay for stay in generator if stay is not None]


def _room_rule(read: ItineraryReading) -> bool:
    rule = read.query.constraints.house_rule
    return rule is None or all(FORBIDS[rule] not in stay.house_rules for stay in _stays(read))


def _room_type(read: ItineraryReading) -> bool:
    wanted, kinds = read.query.constraints.room_type, {stay.room_type for stay in _stays(read)}
    if wanted == "not shared room":
        return "Shared room" not in kinds
    only = {"shared room": "Shared room", "private room": "Private room", "entire room": "Entire home/apt"}
    return wanted is None or kinds <= {only[wanted]}


def _cuisine(read: ItineraryReading) -> bool:
    texts: set[str] = set()
    for _, text in read.texts(*MEALS):
        place = read.restaurant(text)
        if place is not None and place.city != read.query.origin:
            texts |= place.cuisines
    return set(read.query.constraints.cuisines) <= texts


def _transportation(read: ItineraryReading) -> bool:
    banned = {"no flight": "flight", "no self-driving": "self-driving"}.get(read.query.constraints.transportation or "")
    return all(vehicle(text) != banned for _, text in read.texts("transportation"))


HARD: Mapping[str, Callable[[ItineraryReading], bool]] = {
    "budget": lambda read: read.cost() <= read.query.budget,
    "room_rule": _room_rule,
    "room_type": _room_type,
    "cuisine": _cuisine,
    "transportation": _transportation,
}


def asked(query: TripQuery) -> list[str]:
    """The constraints that a query has."""
    wanted = query.constraints
    having = {
        "budget": True,
        "room_rule": wanted.house_rule is not None,
        "room_type": wanted.room_type is not None,
        "cuisine": bool(wanted.cuisines),
        "transportation": wanted.transportation is not None,
    }
    return [name for name in HARD if having[name]]


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one itinerary.

    Attributes:
        delivered: Whether there is one.
        commonsense: By constraint.
        hard: By constraint, of those that the query has.
        cost: Cents; None where it is unknown.
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


def evaluate(plan: Plan | None, query: TripQuery, world: OfferWorld) -> Evaluation:
    """Judge an itinerary; None or an empty one is not delivered."""
    wanted = asked(query)
    if not plan:
        return Evaluation(False, dict.fromkeys(COMMONSENSE, False), dict.fromkeys(wanted, False), None)
    read = ItineraryReading(plan, query, world)
    commonsense = {name: check(read) for name, check in COMMONSENSE.items()}
    judged = commonsense["within_sandbox"] and commonsense["complete_information"]
    hard = {name: judged and HARD[name](read) for name in wanted}
    return Evaluation(True, commonsense, hard, read.cost() if commonsense["within_sandbox"] else None)


def broken_so_far(plan: Plan, query: TripQuery, world: OfferWorld) -> list[str]:
    """The constraints that an itinerary with open slots breaks already; what is missing yet breaks none."""
    read = ItineraryReading(plan, query, world)
    own = [name for name in COMMONSENSE if name not in ("complete_information", "reasonable_city_route")]
    wanted = [name for name in asked(query) if name != "cuisine"]
    return [name for name in own if not COMMONSENSE[name](read)] + [name for name in wanted if not HARD[name](read)]
