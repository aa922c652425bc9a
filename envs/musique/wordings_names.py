"""Invented names, so that no language model has heard of anything in our worlds."""

from __future__ import annotations

import random
from collections.abc import Callable, Container

_STARTS = "Al Bel Bor Cal Cor Dar Del Dor El Fal Fen Gal Gor Hal Hes Il Jor Kal Kes Lor Mar Mel Nor Ol Or Pel Quil Ral"
_STARTS += " Sel Sor Tal Tel Tor Ul Val Ver Wen Yal Zor Bran Cres Dren Fral Glen Kren Pral Stel Tren"
_MIDDLES = "a e i o u ada era ila ora una avi eno iso olu une abe edo imo"
_ENDS = "bar dal den dor fin gard kan lan lor mar mund nar nis rak rel ris ros run sen sor tan vel ven vin wick zan"
_STARTS_LIST, _MIDDLES_LIST, _ENDS_LIST = _STARTS.split(), _MIDDLES.split(), _ENDS.split()

_SECOND: dict[str, tuple[str, ...]] = {
    "river": ("Water", "Stream", "Run"),
    "firm": ("Works", "Brothers", "Company", "House", "Partners", "Group"),
    "book": ("Letters", "Tales", "Chronicle", "Song"),
    "school": ("Academy", "College", "Hall", "Institute"),
    "festival": ("Fair", "Games", "Week", "Days"),
    "ship": ("Star", "Pride", "Queen"),
}
_ALONE = {"town": 1.0, "country": 1.0, "ship": 0.7, "river": 0.6, "book": 0.3, "person": 0.15}
"""How often an entity of a type has a name of one word."""


def _word(rng: random.Random) -> str:
    return rng.choice(_STARTS_LIST) + rng.choice(_MIDDLES_LIST) + rng.choice(_ENDS_LIST)


def name_maker(rng: random.Random, taken: Container[str]) -> Callable[[str], str]:
    """A function that makes a new name for an entity of the type given.

    No name that it makes is part of another, and no invented word comes twice.

    Args:
        rng: Source of randomness.
        taken: Lower-case words that are none.
    """
    used: set[str] = set()

    def fresh() -> str:
        while True:
            word = _word(rng)
            lower = word.lower()
            if lower not in taken and not any(lower in other or other in lower for other in used):
                used.add(lower)
                return word

    def make(kind: str) -> str:
        first = fresh()
        if rng.random() < _ALONE.get(kind, 0.0):
            return first
        return f"{first} {rng.choice(_SECOND[kind]) if kind in _SECOND else fresh()}"

    return make
