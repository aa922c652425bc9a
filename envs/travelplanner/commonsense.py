"""The public benchmark's eight commonsense constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from envs.travelplanner.official import NOTHING, DayPlan
from envs.travelplanner.reading import FROM_TO, MEALS, ItineraryReading, name_city, plain, vehicle


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
