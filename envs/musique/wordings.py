"""All wordings of our own worlds: relations, frames of questions, and sentences beside the point."""

from __future__ import annotations

from envs.musique.wordings_people import PEOPLE
from envs.musique.wordings_places import PLACES
from envs.musique.wordings_relation import Relation
from envs.musique.wordings_things import THINGS

RELATIONS: dict[str, Relation] = {relation.name: relation for relation in (*PEOPLE, *PLACES, *THINGS)}

SYMMETRIC = ("spouse", "rival")
"""What is said of one side holds for the other."""

TYPES = ("person", "town", "country", "river", "firm", "ship", "book", "school", "festival")

OF_TYPE: dict[str, tuple[str, ...]] = {
    kind: tuple(name for name, relation in RELATIONS.items() if kind in relation.subjects) for kind in TYPES
}
"""The relations that entities of a type have."""

_FRAMES = ("name {p}.", "what is the name of {p}?", "give the name of {p}.", "find {p}.", "find the name of {p}.")
FRAMES_WHO = ("who is {p}?", "who was {p}?", *_FRAMES)
FRAMES_WHAT = ("what is {p}?", *_FRAMES)
"""Questions for whatever ``{p}`` names; of each group the last is held out."""

BESIDE: dict[str, tuple[str, ...]] = {
    "person": (
        "{s} is fond of long walks.",
        "{s} once spent a winter in {town}.",
        "{s} wrote a letter to {person}.",
        "old songs please {s} more than new ones.",
        "{s} gave a speech at {festival}.",
        "{s} has a painting of {river} at home.",
    ),
    "town": (
        "{s} is known for its market.",
        "many people of {s} have been to {festival}.",
        "the walls of {s} are very old.",
        "{person} once gave a speech in {s}.",
        "the road from {s} to {town} is long.",
        "a painting of {ship} is in the council house of {s}.",
    ),
    "country": (
        "{s} is known for its forests.",
        "winters in {s} are long.",
        "{s} sells wool to {country}.",
        "{person} once wrote a letter about {s}.",
    ),
    "river": (
        "{s} is slow and deep.",
        "in spring {s} is full of fish.",
        "{s} is longer than {river}.",
        "{ship} is too big for {s}.",
    ),
    "firm": (
        "{s} sells rope and tools.",
        "{s} is known for its fair prices.",
        "{s} once had a fire.",
        "{s} sold an old house to {person}.",
        "{s} has many buyers in {country}.",
    ),
    "ship": (
        "{s} has two masts.",
        "{s} is faster than {ship}.",
        "{s} once lay in {town} for a winter.",
        "{s} was painted green long ago.",
    ),
    "book": (
        "{s} is a long story about the sea.",
        "{s} has been read in many lands.",
        "{person} is fond of {s}.",
        "an old copy of {s} is kept in {town}.",
    ),
    "school": (
        "{s} has a large garden.",
        "{s} is known for its choir.",
        "the choir of {s} once sang in {town}.",
        "{s} is older than {school}.",
    ),
    "festival": (
        "{s} is known for its music.",
        "{s} ends with a dance.",
        "{s} is older than {festival}.",
        "{person} once sang at {s}.",
    ),
}
"""Sentences that state no relation; other entities in them are named by their type."""
