"""An itinerary in the public reference format: one entry per day, all values texts."""

from __future__ import annotations

import json
from typing import TypedDict

from envs.travelplanner.cost import dollars
from envs.travelplanner.offers import SELF_DRIVING, Flight, Ground
from envs.travelplanner.state import TripState
from envs.travelplanner.trip import Trip

NOTHING = "-"


class DayPlan(TypedDict):
    """One day of an itinerary."""

    days: int
    current_city: str
    transportation: str
    breakfast: str
    attraction: str
    lunch: str
    dinner: str
    accommodation: str


def itinerary(trip: Trip, state: TripState) -> list[DayPlan]:
    """What is booked, day by day; ``-`` stands for what is not."""
    query, plan = trip.query, []
    for day in range(1, query.days + 1):
        leg = query.leg_on(day)
        city = query.city_of(day) if leg is None else f"from {leg[0]} to {leg[1]}"
        plan.append(DayPlan(days=day, current_city=city, **dict.fromkeys(_TEXTS, NOTHING)))  # type: ignore[typeddict-item]
    for slot, option in trip.chosen(state):
        offer = option.offer
        if isinstance(offer, Flight | Ground):
            plan[slot.day - 1]["transportation"] = _way(offer)
        elif slot.kind == "accommodation":
            for day in range(slot.day, slot.day + query.nights):
                plan[day - 1]["accommodation"] = f"{option.name}, {slot.city}"
        elif slot.kind == "attractions":
            plan[slot.day - 1]["attraction"] = f"{option.name}, {slot.city};"
        else:
            meal = slot.name.rsplit(" ", 1)[1]
            plan[slot.day - 1][meal] = f"{option.name}, {slot.city}"
    return plan


_TEXTS = ("transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")


def _way(offer: Flight | Ground) -> str:
    if isinstance(offer, Flight):
        times = f", Departure Time: {offer.departs}, Arrival Time: {offer.arrives}"
        return f"Flight Number: {offer.name}, from {offer.origin} to {offer.destination}{times}"
    name = "Self-driving" if offer.name == SELF_DRIVING else "Taxi"
    rest = f"duration: {offer.duration}, distance: {offer.distance}, cost: {dollars(offer.price).removeprefix('$')}"
    return f"{name}, from {offer.origin} to {offer.destination}, {rest}"


def to_json(trip: Trip, state: TripState) -> str:
    """The line of a file of plans: the query's id and the plan."""
    line = {"idx": trip.query.id, "query": trip.query.text, "plan": itinerary(trip, state)}
    return json.dumps(line, ensure_ascii=False)
