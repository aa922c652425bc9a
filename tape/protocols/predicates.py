"""Typed predicates: what can be true of a task (AEC section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from tape.protocols.types import Action


class Predicate(NamedTuple):
    """A predicate over named things; its value is true or false.

    Attributes:
        name: Which predicate, for instance ``in``.
        args: What it speaks of, in order, for instance ``("apple", "fridge 1")``.
    """

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As in ``in(apple, fridge 1)``."""
        return f"{self.name}({', '.join(self.args)})"


Feature: TypeAlias = tuple[str, ...]
"""Something about the context of a predicate, of a kind rather than one thing, for instance ``("object", "apple")``."""

Assignment: TypeAlias = Mapping[Predicate, bool]
"""What is known or required: values of some predicates; the others are unknown or do not matter."""

Effects: TypeAlias = Mapping[Predicate, "bool | None"]
"""What an action changes; None where the value is unknown afterwards."""


@dataclass(frozen=True)
class QueryMacro:
    """Steps that bring the value of a predicate to light, and nothing worse than steps (AEC appendix A.2).

    Attributes:
        predicate: What is asked.
        actions: Primitive actions in order; they may change the environment, as opening a container does.
    """

    predicate: Predicate
    actions: tuple[Action, ...]


class Rule(Protocol):
    """A sound rule of inference: from grounded values to others that follow from them."""

    @property
    def name(self) -> str:
        """As reports call it."""

    def __call__(self, known: Assignment) -> Assignment:
        """What follows; may repeat what is known, never contradicts it where the rule is sound."""
