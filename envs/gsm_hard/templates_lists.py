"""The words that templates leave open."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WOMEN = _words(
    "Ada Bella Clara Dora Elena Fatima Greta Hana Irene Julia Kira Lena Maya Nora Olga Petra Rosa Sara Tessa Vera"
)
MEN = _words(
    "Adam Bruno Carl David Emil Felix Goran Hugo Ivan Jonas Karim Leo Marco Nils Oscar Pavel Rafael Simon Tom Viktor"
)
LISTS: dict[str, tuple[str, ...]] = {
    "name": WOMEN + MEN,
    "item": _words(
        "pencils notebooks lamps baskets cups chairs candles scarves plates bottles toys shirts books kites rugs "
        "hats bags brushes clocks spoons"
    ),
    "food": _words("apples pears melons onions carrots lemons cabbages peaches plums potatoes tomatoes turnips"),
    "animal": _words("hens goats sheep cows ducks rabbits horses geese"),
    "place": _words("market school library village museum station harbour factory theatre hospital"),
    "kin": _words("aunt uncle grandmother grandfather cousin friend neighbour"),
}
"""Words by the name of their placeholder; ``{item2}`` is another one than ``{item}``."""
PRONOUNS: dict[str, dict[str, str]] = {
    **{name: {"he": "she", "his": "her", "him": "her"} for name in WOMEN},
    **{name: {"he": "he", "his": "his", "him": "him"} for name in MEN},
}
"""``{he}``, ``{his}`` and ``{him}`` for each ``{name}``."""

ASIDES: tuple[str, ...] = (
    "It was {z} degrees outside.",
    "The radio had been on for {z} minutes.",
    "A bus with the number {z} drove by.",
    "The {place9} nearby is {z} years old.",
    "Somebody had left {z} {item9} at the {place9}.",
    "The wind blew at {z} kilometers an hour that day.",
    "A dog barked {z} times that night.",
    "The bridge next to the {place9} is {z} meters long.",
    "A photo of {z} {animal9} hung on the wall.",
    "Nobody knew what the {z} keys in the drawer were for.",
    "On the same street there are {z} trees.",
    "It was a quiet morning.",
    "The weather was fine.",
    "Everybody was in a good mood.",
)
"""Sentences that have nothing to do with any problem; they are put before it or before its last sentence."""
