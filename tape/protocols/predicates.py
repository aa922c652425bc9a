"""Typed predicates: what can be true of a task (AEC section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from tape.protocols.types import Action


class Predicate(NamedTuple):
    """A predicate over named things; its value is true or false.

    Attributes:
        name: Its name, for instance ``in``.
        args: The things, in order, for instance ``("apple", "fridge 1")``.
    """

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As in ``in(apple, fridge 1)``."""
        return f"{self.name}({', '.join(self.args)})"


Assignment: TypeAlias = Mapping[Predicate, bool]
"""Known or required values of some predicates; the others are unknown or do not matter."""

Effects: TypeAlias = Mapping[Predicate, "bool | None"]
"""The changes by an action; None if the value is unknown afterwards."""


@dataclass(frozen=True)
class QueryMacro:
    """Steps that reveal the value of a predicate (AEC appendix A.2).

    Attributes:
        predicate: The predicate.
        actions: Primitive actions in order; they may change the environment, as opening a container does.
    """

    predicate: Predicate
    actions: tuple[Action, ...]


class InferenceRule(Protocol):
    """A sound rule of inference: from grounded values to others that follow from them."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    def __call__(self, known: Assignment) -> Assignment:
        """The values that follow; may repeat known values. A sound rule never contradicts them."""
