"""What our own households look like: furniture of four rooms and where things tend to be.

The numbers are our own, chosen by common sense and never fitted to any of the official games.
"""

from __future__ import annotations

from types import MappingProxyType

from envs.alfworld.kinds import LAMPS


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FURNITURE = MappingProxyType(
    {
        "kitchen": {
            "cabinet": (3, 16),
            "drawer": (2, 9),
            "countertop": (1, 3),
            "fridge": (1, 1),
            "microwave": (1, 1),
            "sinkbasin": (1, 2),
            "stoveburner": (2, 4),
            "garbagecan": (1, 1),
            "coffeemachine": (0, 1),
            "toaster": (0, 1),
            "diningtable": (0, 2),
            "shelf": (0, 4),
            "sidetable": (0, 1),
        },
        "bedroom": {
            "bed": (1, 1),
            "desk": (1, 2),
            "drawer": (2, 8),
            "shelf": (0, 8),
            "sidetable": (0, 2),
            "dresser": (0, 1),
            "garbagecan": (1, 1),
            "laundryhamper": (0, 1),
            "safe": (0, 1),
            "armchair": (0, 1),
        },
        "livingroom": {
            "sofa": (1, 2),
            "armchair": (0, 2),
            "coffeetable": (0, 2),
            "diningtable": (0, 1),
            "sidetable": (0, 3),
            "dresser": (0, 1),
            "drawer": (0, 6),
            "cabinet": (0, 4),
            "shelf": (0, 9),
            "safe": (0, 1),
            "garbagecan": (1, 1),
            "tvstand": (0, 1),
            "ottoman": (0, 1),
        },
        "bathroom": {
            "cabinet": (1, 5),
            "countertop": (1, 1),
            "sinkbasin": (1, 2),
            "toilet": (1, 1),
            "toiletpaperhanger": (1, 1),
            "garbagecan": (1, 1),
            "handtowelholder": (1, 2),
            "towelholder": (0, 1),
            "drawer": (0, 5),
            "shelf": (0, 3),
            "bathtubbasin": (0, 1),
            "cart": (0, 1),
        },
    }
)
"""Fewest and most of each kind of receptacle in a room."""

THINGS = MappingProxyType(
    {
        "kitchen": _words(
            "apple bowl bread butterknife cup dishsponge egg fork glassbottle kettle knife ladle lettuce mug pan "
            "papertowel peppershaker plate pot potato saltshaker soapbottle spatula spoon statue tomato vase "
            "winebottle book creditcard cellphone pencil pen"
        ),
        "bedroom": _words(
            "alarmclock baseballbat basketball book bowl box cd cellphone cloth creditcard desklamp keychain laptop "
            "mug pen pencil pillow tennisracket tissuebox statue vase watch"
        ),
        "livingroom": _words(
            "book box cellphone creditcard desklamp floorlamp keychain laptop newspaper pillow plate remotecontrol "
            "statue tissuebox vase watch wateringcan bowl candle pen pencil"
        ),
        "bathroom": _words(
            "candle cloth dishsponge handtowel plunger soapbar soapbottle spraybottle tissuebox toiletpaper "
            "toiletpaperroll towel newspaper"
        ),
    }
)
"""Kinds of objects of a room."""

_PLACES = MappingProxyType(
    {
        "countertop": 5.0,
        "diningtable": 5.0,
        "desk": 5.0,
        "coffeetable": 4.0,
        "dresser": 3.0,
        "sidetable": 3.0,
        "bed": 2.5,
        "sofa": 2.5,
        "shelf": 2.0,
        "toilet": 2.0,
        "cart": 2.0,
        "tvstand": 2.0,
        "stoveburner": 2.0,
        "coffeemachine": 1.5,
        "sinkbasin": 1.5,
        "fridge": 1.5,
        "armchair": 1.5,
        "ottoman": 1.5,
        "cabinet": 1.2,
        "drawer": 1.2,
        "bathtubbasin": 1.0,
        "safe": 1.0,
        "garbagecan": 0.5,
        "microwave": 0.5,
        "laundryhamper": 0.5,
    }
)

_FRESH = frozenset({"apple", "egg", "lettuce", "tomato", "potato", "bread", "winebottle"})
_SMALL = frozenset({"butterknife", "fork", "knife", "spoon", "spatula", "pen", "pencil", "ladle", "watch", "keychain"})
LAMP_PLACES = ("desk", "sidetable", "dresser", "coffeetable", "shelf", "diningtable")
"""Kinds of receptacles that lamps stand on."""

SOMETIMES_OPEN = MappingProxyType({"cabinet": 0.25, "drawer": 0.2})
"""Share of the receptacles of a kind that cannot be closed."""


def tendency(thing: str, receptacle: str) -> float:
    """How likely a kind of object is in one receptacle of a kind that can hold it, up to a factor."""
    if thing in LAMPS:
        return float(receptacle in LAMP_PLACES)
    factor = 1.0
    if thing in _FRESH:
        factor = {"fridge": 6.0, "cabinet": 0.1, "drawer": 0.1}.get(receptacle, 1.0)
    elif thing in _SMALL:
        factor = {"drawer": 3.0, "fridge": 0.1}.get(receptacle, 1.0)
    return factor * _PLACES.get(receptacle, 1.0)
