"""The trip of the worked examples in prompts: a small one, made by hand, of which most is booked already."""

from __future__ import annotations

from collections.abc import Mapping

from envs.travelplanner.offers import SELF_DRIVING, TAXI, Attraction, Flight, Ground, OfferWorld, Restaurant, Stay
from envs.travelplanner.query import Constraints, TripQuery
from envs.travelplanner.trip import Trip

_HOME, _CITY = "Faro", "Evora"
_MEALS = (
    ("Corner Soup", 900, "Italian"),
    ("Harbour Grill", 1100, "Seafood"),
    ("Green Lemon", 1200, "Mediterranean"),
    ("Two Ovens", 1300, "Bakery"),
    ("Long Table", 1400, "American"),
    ("Night Noodles", 1500, "Chinese"),
    ("Tin Kitchen", 1600, "Indian"),
    ("Old Mill", 1700, "French"),
    ("White Lantern", 1800, "Mexican"),
)
_SIGHTS = ("City Wall", "Glass Museum", "River Path")
_TO_FILL = ("day 3 lunch", "day 3 dinner", "day 1 attraction", "day 2 attraction", "day 3 attraction")


def _trip() -> Trip:
    query = TripQuery(
        id="worked-example",
        origin=_HOME,
        destination=_CITY,
        cities=(_CITY,),
        start="2031-06-02",
        days=3,
        people=1,
        budget=42_000,
        constraints=Constraints(cuisines=("Mexican",)),
        level="medium",
    )
    ways = ((_HOME, _CITY, "2031-06-02", "F77"), (_CITY, _HOME, "2031-06-04", "F78"))
    world = OfferWorld(
        flights=tuple(Flight(name, origin, to, date, 19_000) for origin, to, date, name in ways),
        grounds=tuple(
            Ground(name, origin, to, price)
            for origin, to, _, _ in ways
            for name, price in ((SELF_DRIVING, 4_000), (TAXI, 9_000))
        ),
        stays=(Stay("Quiet House", _CITY, 6_000, "Private room", "", 1, 2, 4.0),),
        restaurants=tuple(Restaurant(name, _CITY, price, frozenset({kind}), 4.0) for name, price, kind in _MEALS),
        attractions=tuple(Attraction(name, _CITY) for name in _SIGHTS),
        states={_HOME: "South", _CITY: "North"},
    )
    return Trip(query, world)


EXAMPLE = _trip()

BOOKED = tuple(
    f"{slot.name}: {name}"
    for slot, name in zip(
        (slot for slot in EXAMPLE.slots if slot.name not in _TO_FILL),
        (SELF_DRIVING, "Quiet House", SELF_DRIVING, *(name for name, _, _ in _MEALS[:7])),
        strict=False,
    )
)
"""What has been booked."""

_WHY = "We drive both ways and the rest is cheap; Mexican is still missing, which White Lantern serves."

PLAN: Mapping[str, str] = {
    "thought": _WHY,
    **dict(
        zip(
            (name.replace(" ", "_") for name in _TO_FILL),
            ("Old Mill", "White Lantern", *_SIGHTS),
            strict=True,
        )
    ),
}
"""The plan for the rest."""

ACT: Mapping[str, str] = {
    "thought": "Mexican is still missing and dinner comes after this, so lunch may be the cheaper one.",
    "action": "day 3 lunch: Old Mill",
}
"""The next action."""
