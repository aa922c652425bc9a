"""What can be booked, typed, and the world that holds all offers (SDP appendix A.2: typed option objects)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, TypeVar

TAXI, SELF_DRIVING = "taxi", "self-driving"
"""The two ways by road, as actions name them."""


@dataclass(frozen=True)
class Flight:
    """A flight on one day.

    Attributes:
        name: Its number.
        origin: City.
        destination: City.
        date: As in queries, ``2022-03-16``.
        price: Cents for one person.
        departs: Time of day.
        arrives: Time of day.
    """

    name: str
    origin: str
    destination: str
    date: str
    price: int
    departs: str = ""
    arrives: str = ""


@dataclass(frozen=True)
class Ground:
    """A ride by road in one car.

    Attributes:
        name: ``taxi`` or ``self-driving``.
        origin: City.
        destination: City.
        price: Cents for one car.
        duration: In words.
        distance: In words.
    """

    name: str
    origin: str
    destination: str
    price: int
    duration: str = ""
    distance: str = ""


@dataclass(frozen=True)
class Stay:
    """A place to sleep.

    Attributes:
        name: Its name.
        city: Where it is.
        price: Cents a night for one unit.
        room_type: ``Entire home/apt``, ``Private room`` or ``Shared room``.
        house_rules: What it forbids, for instance ``No pets & No smoking``.
        minimum_nights: Fewest nights in a row.
        occupancy: Most people in one unit.
        rating: From 1 to 5.
    """

    name: str
    city: str
    price: int
    room_type: str
    house_rules: str
    minimum_nights: int
    occupancy: int
    rating: float


@dataclass(frozen=True)
class Restaurant:
    """A restaurant.

    Attributes:
        name: Its name.
        city: Where it is.
        price: Cents of a meal for one person.
        cuisines: What it serves.
        rating: From 0 to 5.
    """

    name: str
    city: str
    price: int
    cuisines: frozenset[str]
    rating: float


@dataclass(frozen=True)
class Attraction:
    """A sight; free."""

    name: str
    city: str
    price: int = 0
    rating: float = 0.0


Offer: TypeAlias = Flight | Ground | Stay | Restaurant | Attraction
_Offer = TypeVar("_Offer", Flight, Ground, Stay, Restaurant, Attraction)
_Place = TypeVar("_Place", bound=Hashable)


@dataclass(frozen=True, eq=False)
class OfferWorld:
    """All offers: the sandbox.

    Of several offers with the same name in the same place the first counts, as in the public evaluator.

    Attributes:
        flights: On all days.
        grounds: By road.
        stays: In all cities.
        restaurants: In all cities.
        attractions: In all cities.
        states: The state of every city; cities of a trip have to be among them.
        digest: Identifies the content.
    """

    flights: tuple[Flight, ...]
    grounds: tuple[Ground, ...]
    stays: tuple[Stay, ...]
    restaurants: tuple[Restaurant, ...]
    attractions: tuple[Attraction, ...]
    states: Mapping[str, str]
    digest: str = field(default="", compare=False)

    @cached_property
    def _grounds(self) -> Mapping[tuple[str, str], Mapping[str, Ground]]:
        return _by(self.grounds, lambda ground: (ground.origin, ground.destination))

    @cached_property
    def _flights(self) -> Mapping[tuple[str, str, str], Mapping[str, Flight]]:
        return _by(self.flights, lambda flight: (flight.origin, flight.destination, flight.date))

    @cached_property
    def _stays(self) -> Mapping[str, Mapping[str, Stay]]:
        return _by(self.stays, lambda stay: stay.city)

    @cached_property
    def _restaurants(self) -> Mapping[str, Mapping[str, Restaurant]]:
        return _by(self.restaurants, lambda restaurant: restaurant.city)

    @cached_property
    def _attractions(self) -> Mapping[str, Mapping[str, Attraction]]:
        return _by(self.attractions, lambda attraction: attraction.city)

    def flights_between(self, origin: str, destination: str, date: str) -> tuple[Flight, ...]:
        """Flights from city to city on a day."""
        return tuple(self._flights.get((origin, destination, date), {}).values())

    def grounds_between(self, origin: str, destination: str) -> tuple[Ground, ...]:
        """Rides from city to city."""
        return tuple(self._grounds.get((origin, destination), {}).values())

    def stays_in(self, city: str) -> Mapping[str, Stay]:
        """Places to sleep by name."""
        return self._stays.get(city, {})

    def restaurants_in(self, city: str) -> Mapping[str, Restaurant]:
        """Restaurants by name."""
        return self._restaurants.get(city, {})

    def attractions_in(self, city: str) -> Mapping[str, Attraction]:
        """Sights by name."""
        return self._attractions.get(city, {})


def _by(offers: Iterable[_Offer], place: Callable[[_Offer], _Place]) -> Mapping[_Place, Mapping[str, _Offer]]:
    """Offers by place and name; the first of a name counts."""
    mappings: dict[_Place, dict[str, _Offer]] = {}
    for offer in offers:
        mappings.setdefault(place(offer), {}).setdefault(offer.name, offer)
    return mappings
