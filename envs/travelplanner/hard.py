"""The public benchmark's hard constraints: those a query asks for, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from envs.travelplanner.offers import Stay
from envs.travelplanner.query import TripQuery
from envs.travelplanner.reading import MEALS, ItineraryReading, vehicle
from envs.travelplanner.rules import FORBIDS


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
