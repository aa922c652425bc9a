"""Names for our own cities and offers; none is taken from the public benchmark's database."""

from __future__ import annotations

import random

_FRONT = ("Al", "Bren", "Cor", "Dun", "Els", "Far", "Gal", "Hol", "Ist", "Jor", "Kel", "Lin", "Mor", "Nev", "Ost")
_FRONT_2 = ("Pell", "Quar", "Rin", "Sol", "Tav", "Ulm", "Vel", "Wes", "Yar", "Zen")
_BACK = ("denwick", "mereth", "steadle", "valora", "havel", "bourna", "crestow", "fordell", "minsten", "tarn")
_STATE = ("Ardenia", "Borvia", "Callast", "Doremy", "Eskarra", "Fennmark", "Gorland", "Hestria")
_STAY = ("Quiet", "Bright", "Old", "Roomy", "Tiny", "Green", "Plain", "Sunny", "Corner", "Upper")
_STAY_2 = ("Loft", "Cottage", "Flat", "Garret", "Guest House", "Courtyard Room", "Annex", "Studio")
_FOOD = (
    "Blue",
    "Copper",
    "Salt",
    "Ember",
    "Juniper",
    "Paper",
    "Lantern",
    "Saffron",
    "Twin",
    "Harbor",
    "Velvet",
    "Wild",
)
_FOOD_2 = ("Oak", "Spoon", "Table", "Kettle", "Garden", "Anchor", "Fig", "Hearth", "Lark", "Cellar")
_SIGHT = ("Old Mill", "Glass", "River", "Clock", "Amber", "Tram", "Star", "Moss", "Rope", "Cloud")
_SIGHT_2 = ("Museum", "Park", "Tower", "Gallery", "Market Hall", "Bridge", "Observatory")


def states() -> tuple[str, ...]:
    """Names of states."""
    return _STATE


def cities(rng: random.Random, count: int) -> list[str]:
    """Distinct names of cities."""
    return _distinct(rng, (*_FRONT, *_FRONT_2), _BACK, count, "")


def stays(rng: random.Random, count: int) -> list[str]:
    """Distinct names of stays in a city."""
    return _distinct(rng, _STAY, _STAY_2, count)


def restaurants(rng: random.Random, count: int) -> list[str]:
    """Distinct names of restaurants in a city."""
    return _distinct(rng, _FOOD, _FOOD_2, count)


def attractions(rng: random.Random, count: int) -> list[str]:
    """Distinct names of sights in a city."""
    return _distinct(rng, _SIGHT, _SIGHT_2, count)


def _distinct(rng: random.Random, one: tuple[str, ...], two: tuple[str, ...], count: int, gap: str = " ") -> list[str]:
    return rng.sample([f"{a}{gap}{b}" for a in one for b in two], count)
