"""An itinerary of texts, every name looked up in the world; no code is shared with what plans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from envs.travelplanner.offers import Flight, Ground, OfferWorld, Restaurant, Stay
from envs.travelplanner.official import NOTHING, DayPlan
from envs.travelplanner.query import TripQuery

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
