"""An itinerary in the public reference format: one entry per day, all values texts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TypedDict

from envs.travelplanner.cost import dollars
from envs.travelplanner.offers import SELF_DRIVING, Flight, Ground, OfferWorld, Restaurant, Stay
from envs.travelplanner.query import TripQuery
from envs.travelplanner.trip import Trip, TripState

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


Plan = Sequence[DayPlan]
FROM_TO = re.compile(r"from (.+?) to ([^,]+)")
MEALS = ("breakfast", "lunch", "dinner")


class ItineraryReading:
    """An itinerary with every text looked up."""

    def __init__(self, plan: Plan, query: TripQuery, world: OfferWorld) -> None:
        self.plan, self.query, self.world = plan, query, world
        self.days = [(number, day) for number, day in enumerate(plan, 1)]

    def texts(self, *fields: str) -> list[tuple[int, str]]:
        """What stands in some fields, with the day."""
        pairs = [(number, str(day.get(field, NOTHING)).strip()) for number, day in self.days for field in fields]
        return [(number, text) for number, text in pairs if text not in ("", NOTHING)]

    def sights(self) -> list[tuple[int, str]]:
        """Sights with the day; several of a day end in semicolons."""
        return [
            (number, word.strip())
            for number, text in self.texts("attraction")
            for word in text.split(";")
            if word.strip()
        ]

    def way(self, day: int, text: str) -> Flight | Ground | None:
        """The offer that a text about travelling names."""
        match = FROM_TO.search(text)
        if match is None:
            return None
        origin, destination = plain(match[1]), plain(match[2])
        kind = vehicle(text)
        if kind == "flight":
            number = text.partition("Flight Number: ")[2].partition(",")[0].strip()
            flights = self.world.flights_between(origin, destination, self.query.date_of(day))
            return next((flight for flight in flights if flight.name == number), None)
        return next((ground for ground in self.world.grounds_between(origin, destination) if ground.name == kind), None)

    def stay(self, text: str) -> Stay | None:
        """The stay that a text names."""
        name, city = name_city(text)
        return self.world.stays_in(city).get(name)

    def restaurant(self, text: str) -> Restaurant | None:
        """The restaurant that a text names."""
        name, city = name_city(text)
        return self.world.restaurants_in(city).get(name)

    def cost(self) -> int:
        """Cents, by the public evaluator's arithmetic; what is not in the world costs nothing."""
        people, total = self.query.people, 0
        for day, text in self.texts("transportation"):
            match self.way(day, text):
                case Flight() as flight:
                    total += flight.price * people
                case Ground() as ride:
                    total += ride.price * _cars(people, 5 if vehicle(text) == "self-driving" else 4)
        for _, text in self.texts(*MEALS):
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


def plain(city: str) -> str:
    """A city without the state in brackets."""
    return re.sub(r"\(.*?\)", "", city).strip()


def name_city(text: str) -> tuple[str, str]:
    """The name and the city of "NAME, CITY"."""
    name, _, city = text.rstrip(";").rpartition(", ")
    return name.strip(), plain(city)


def vehicle(text: str) -> str:
    """The kind of travelling that a text is about; empty where it names none."""
    lower = text.lower()
    return next((kind for kind in ("taxi", "self-driving", "flight") if kind in lower), "")
