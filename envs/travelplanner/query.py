"""A query: who travels where, for how long, for how much, and what they insist on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from typing import Literal

from envs.travelplanner.errors import TravelError
from tape.reading import short

Level = Literal["easy", "medium", "hard"]
SHAPES = {3: 1, 5: 2, 7: 3}
"""Visited cities by the number of days."""

MOST_PEOPLE = 10_000
"""Most travellers."""
TRANSPORTATION = ("no flight", "no self-driving")
ROOM_TYPES = ("entire room", "private room", "shared room", "not shared room")
HOUSE_RULES = ("smoking", "parties", "children under 10", "visitors", "pets")
CUISINES = ("Chinese", "American", "Italian", "Mexican", "Indian", "Mediterranean", "French")
"""The vocabulary of local constraints in the public format."""


@dataclass(frozen=True)
class Constraints:
    """Local constraints; None and nothing where there is none.

    Attributes:
        transportation: One of :data:`TRANSPORTATION`.
        room_type: One of :data:`ROOM_TYPES`.
        house_rule: What has to be allowed, one of :data:`HOUSE_RULES`.
        cuisines: Cuisines of which each has to be eaten once.

    Raises:
        TravelError: Names the constraint, its value and what is allowed.
    """

    transportation: str | None = None
    room_type: str | None = None
    house_rule: str | None = None
    cuisines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("transportation", self.transportation, TRANSPORTATION),
            ("room type", self.room_type, ROOM_TYPES),
            ("house rule", self.house_rule, HOUSE_RULES),
        ):
            if value is not None and value not in allowed:
                raise TravelError(f"local constraint {name!r}: {short(value)} is none of {', '.join(allowed)}")
        if len(set(self.cuisines)) != len(self.cuisines) or not all(self.cuisines):
            raise TravelError(
                f"local constraint 'cuisine': {short(', '.join(self.cuisines))} has an empty or repeated name"
            )


@dataclass(frozen=True)
class TripQuery:
    """The request for a trip.

    Attributes:
        id: Unique within its set.
        origin: Where it starts and ends.
        destination: The city, or the state that the visited cities are in.
        cities: The visited cities in order.
        start: The first day, ``2022-03-16``.
        days: 3, 5 or 7.
        people: Travellers.
        budget: Cents.
        constraints: What they insist on.
        level: As its source calls it.
        text: The query in words.
        ratio: The budget over the least that any trip costs; None where that is unknown or there is no trip.
        feasible: Whether some trip keeps everything; None where that is unknown.

    Raises:
        TravelError: Names what does not fit together.
    """

    id: str
    origin: str
    destination: str
    cities: tuple[str, ...]
    start: str
    days: int
    people: int
    budget: int
    constraints: Constraints = field(default_factory=Constraints)
    level: Level = "easy"
    text: str = ""
    ratio: float | None = None
    feasible: bool | None = None

    def __post_init__(self) -> None:
        if SHAPES.get(self.days) != len(self.cities):
            shapes = ", ".join(f"{days} days and {cities} cities" for days, cities in SHAPES.items())
            raise TravelError(f"query {self.id}: {self.days} days and {len(self.cities)} cities; there is: {shapes}")
        if len({self.origin, *self.cities}) != len(self.cities) + 1:
            raise TravelError(f"query {self.id}: its cities repeat: {self.origin}, {', '.join(self.cities)}")
        if not 1 <= self.people <= MOST_PEOPLE or self.budget < 0:
            people, budget = short(self.people), short(self.budget)
            raise TravelError(f"query {self.id}: {people} people (1 to {MOST_PEOPLE}) and a budget of {budget} cents")
        try:
            self.date_of(self.days)
        except (ValueError, OverflowError):
            raise TravelError(f"query {self.id}: {short(self.start)} is no date like 2022-03-16") from None

    # --- the shape of the trip (SDP appendix A.2: topology) ------------------------------------

    @property
    def nights(self) -> int:
        """Nights in each city: two, in trips of these shapes."""
        return (self.days - 1) // len(self.cities)

    def city_of(self, day: int) -> str:
        """The city in which a day's meals, sights and bed are; on a travel day the one that is reached.

        The last day, from 1, is spent in the last city until the way back.
        """
        return self.cities[min((day - 1) // self.nights, len(self.cities) - 1)]

    def legs(self) -> tuple[tuple[str, str, int], ...]:
        """All ways between cities: from, to and on which day; the way back is the last one."""
        stops = [self.origin, *self.cities]
        out = [(a, b, 1 + i * self.nights) for i, (a, b) in enumerate(pairwise(stops))]
        return (*out, (self.cities[-1], self.origin, self.days))

    def leg_on(self, day: int) -> tuple[str, str] | None:
        """Origin and destination of a day's travel; None on a day without travel."""
        return next(((a, b) for a, b, on in self.legs() if on == day), None)

    def date_of(self, day: int) -> str:
        """The date of a day."""
        return (date.fromisoformat(self.start) + timedelta(days=day - 1)).isoformat()
