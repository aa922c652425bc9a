"""A predicate of a chain: what should be true next (SDP definition 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from tape.protocols import Action
from tape.protocols.predicates import Predicate

Value: TypeAlias = "str | int | float | bool | tuple[Value, ...]"
"""What a field may hold: plain values alone, so that an observation cannot be smuggled into a state."""

Fields: TypeAlias = tuple[tuple[str, Value], ...]
"""Named values in a fixed order."""

Required: TypeAlias = tuple[tuple[Predicate, bool], ...]
"""Typed predicates and the values they have to have."""


_BETWEEN = re.compile(r", (?![^(]*\))")


def predicate_of(text: str) -> Predicate:
    """The predicate that is written like this.

    Raises:
        ValueError: None is.
    """
    name, _, rest = text.partition("(")
    args = () if rest == ")" else tuple(_BETWEEN.split(rest.removesuffix(")")))
    found = Predicate(name, args)
    if str(found) != text:
        raise ValueError(f"{text[:80]!r} is no predicate: one is written like in(apple, fridge 1)")
    return found


@dataclass(frozen=True)
class Target:
    """One predicate of a chain.

    Attributes:
        text: The predicate in words, as a model reads it.
        kind: Its kind, for tables: where in a task runs fail (SDP section 4.2).
        requires: The same as values of typed predicates, where the domain declares any: all of them together.
        fields: Anything else that the environment's own operators need of it, for instance the day of a trip.
        goal: Whether it is the goal predicate g, with which every chain ends.
        node: Key of the plan-graph node it was made from; empty if it does not come from the graph.
        by: The path's edge into that node: the action that is meant to make it true; None where REALIZE is free.
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
"""Predicates in the order in which they should become true; the last one is the goal."""
