"""The slots of a trip, in the order in which they are booked.

What is decided once and costs much comes first, then the content of each day, then the checks of the whole
(SDP appendix A.2): the way out, a stay for every city, the ways between cities, the way back, three meals a day, a
sight a day, the check of the budget, and the rendering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from envs.travelplanner.query import TripQuery

Kind = Literal["outbound", "accommodation", "inter_city", "return", "meals", "attractions", "budget", "render"]
KINDS: tuple[Kind, ...] = (
    "outbound",
    "accommodation",
    "inter_city",
    "return",
    "meals",
    "attractions",
    "budget",
    "render",
)
"""The eight predicate kinds of the paper."""

WAYS: tuple[Kind, ...] = ("outbound", "inter_city", "return")
MEALS = ("breakfast", "lunch", "dinner")
CHECK, RENDER = "check", "render"
"""The only options of the last two slots."""


@dataclass(frozen=True)
class Slot:
    """Something to be decided.

    Attributes:
        name: As actions name it, for instance ``day 2 lunch``.
        kind: The predicate kind it belongs to.
        day: From 1; of a stay its first day; 0 of the checks.
        city: Where; of a way the city it leads to.
        origin: Of a way the city it leads from.
        group: Slots of one group take distinct options of one list, and it does not matter which takes which.
        left: How many slots of its group come after it.
    """

    name: str
    kind: Kind
    day: int = 0
    city: str = ""
    origin: str = ""
    group: str = ""
    left: int = 0


def slots_of(query: TripQuery) -> tuple[Slot, ...]:
    """All slots in order."""
    legs = query.legs()
    slots = [Slot("outbound", "outbound", 1, legs[0][1], legs[0][0], "outbound")]
    for i, city in enumerate(query.cities):
        slots.append(Slot(f"stay in {city}", "accommodation", 1 + i * query.nights, city, group=f"stay in {city}"))
    for i, (origin, city, day) in enumerate(legs[1:-1], 1):
        slots.append(Slot(f"leg {i}", "inter_city", day, city, origin, f"leg {i}"))
    slots.append(Slot("return", "return", legs[-1][2], legs[-1][1], legs[-1][0], "return"))
    days = range(1, query.days + 1)
    of_city = {city: sum(query.city_of(day) == city for day in days) for city in query.cities}
    for each, kind in ((MEALS, "meals"), (("attraction",), "attractions")):
        left = {city: len(each) * count for city, count in of_city.items()}
        for day in days:
            for what in each:
                city = query.city_of(day)
                left[city] -= 1
                name: Kind = "meals" if kind == "meals" else "attractions"
                slots.append(Slot(f"day {day} {what}", name, day, city, group=f"{kind} in {city}", left=left[city]))
    return (*slots, Slot("budget", "budget", group="budget"), Slot("itinerary", "render", group="itinerary"))
