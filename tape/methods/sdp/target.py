"""A predicate of a chain: what should be true next (SDP definition 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from tape.protocols import Action
from tape.protocols.predicates import Predicate

Value: TypeAlias = "str | int | float | bool | tuple[Value, ...]"
"""The value of a field: a plain value, so that a state cannot hold an observation."""

Fields: TypeAlias = tuple[tuple[str, Value], ...]
"""Named values in a fixed order."""

Required: TypeAlias = tuple[tuple[Predicate, bool], ...]
"""Typed predicates with required values."""


_BETWEEN = re.compile(r", (?![^(]*\))")


def predicate_of(text: str) -> Predicate:
    """Parse a predicate.

    Raises:
        ValueError: The text is not a predicate.
    """
    name, _, rest = text.partition("(")
    args = () if rest == ")" else tuple(_BETWEEN.split(rest.removesuffix(")")))
    predicate = Predicate(name, args)
    if str(predicate) != text:
        raise ValueError(f"{text[:80]!r} is no predicate: one is written like in(apple, fridge 1)")
    return predicate


@dataclass(frozen=True)
class Target:
    """One predicate of a chain.

    Attributes:
        text: The predicate in words, for a model.
        kind: Its kind, for tables of where runs fail (SDP section 4.2).
        requires: Required values of typed predicates, if the domain declares any.
        fields: Further inputs of the environment's own operators, for instance the day of a trip.
        goal: Whether it is the goal predicate g, the last one of every chain.
        node: Key of its plan-graph node; empty if it does not come from the graph.
        by: The action that is planned to make it true; None if REALIZE is free.
    """

    text: str
    kind: str
    requires: Required = ()
    fields: tuple[tuple[str, str], ...] = ()
    goal: bool = False
    node: str = ""
    by: Action | None = None

    def field(self, name: str) -> str:
        """A field by its name.

        Raises:
            KeyError: It has no such field.
        """
        return dict(self.fields)[name]


Chain: TypeAlias = tuple[Target, ...]
"""Predicates in the order of their realization; the last one is the goal."""
