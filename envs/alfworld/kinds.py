"""What there is in a household: kinds of receptacles and objects, and the rules of the game about them.

The names are those of the game's text. ``CAN_CONTAIN`` and the properties are what the games of ALFWorld declare in
their PDDL; which kinds can be closed is the same in all of them, although not every cabinet and drawer can.
"""

from __future__ import annotations

from importlib.resources import files
from types import MappingProxyType


def _read(text: str) -> dict[str, frozenset[str]]:
    rows = (line.partition(":") for line in text.splitlines())
    return {kind: frozenset(inside.split()) for kind, _, inside in rows}


CAN_CONTAIN = MappingProxyType(
    _read(files("envs.alfworld").joinpath("data/can_contain.txt").read_text(encoding="utf-8"))
)
"""Kinds of objects that each kind of receptacle can hold."""

RECEPTACLES = tuple(sorted(CAN_CONTAIN))
"""All kinds of receptacles."""

OPENABLE = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
"""Kinds of receptacles that may be closed; all fridges, microwaves and safes can, not all cabinets and drawers."""

ALWAYS_OPENABLE = frozenset({"fridge", "microwave", "safe"})

LAMPS = ("desklamp", "floorlamp")
"""Kinds of objects that can be switched on."""

OBJECTS = tuple(sorted(set().union(*CAN_CONTAIN.values()))) + LAMPS
"""All kinds of objects that can be carried, and the lamps."""

CLEANABLE = frozenset(
    {
        "apple",
        "bowl",
        "butterknife",
        "cloth",
        "cup",
        "dishsponge",
        "egg",
        "fork",
        "kettle",
        "knife",
        "ladle",
        "lettuce",
        "mug",
        "pan",
        "plate",
        "pot",
        "potato",
        "soapbar",
        "spatula",
        "spoon",
        "tomato",
    }
)
HEATABLE = frozenset({"apple", "bread", "cup", "egg", "mug", "plate", "potato", "tomato"})
COOLABLE = frozenset(
    {"apple", "bowl", "bread", "cup", "egg", "lettuce", "mug", "pan", "plate", "pot", "potato", "tomato", "winebottle"}
)

TREATMENTS = MappingProxyType(
    {"clean": ("sinkbasin", CLEANABLE), "heat": ("microwave", HEATABLE), "cool": ("fridge", COOLABLE)}
)
"""Verb to the kind of receptacle that does it and the kinds of objects that it can be done to."""

AFTER = MappingProxyType({"clean": "clean", "heat": "hot", "cool": "cool"})
"""What an object is after each treatment; heating and cooling undo each other."""


def kind_of(name: str) -> str:
    """The kind of a named thing: ``cabinet 3`` -> ``cabinet``; a kind is its own."""
    return name.rpartition(" ")[0] or name
