"""Sound rules about houses: what follows from what has been seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envs.alfworld.game.kinds import ALWAYS_OPENABLE, OPENABLE, kind_of
from tape.protocols.predicates import Assignment, Predicate


@dataclass(frozen=True)
class AlfworldRule:
    """Implements :class:`tape.protocols.predicates.InferenceRule`.

    Attributes:
        name: As reports call it.
        derive: What follows from what is known.
        about: Why it is sound.
    """

    name: str
    derive: Callable[[Assignment], dict[Predicate, bool]]
    about: str

    def __call__(self, known: Assignment) -> Assignment:
        """What follows."""
        return self.derive(known)


def _places(known: Assignment) -> list[str]:
    return [p.args[0] for p in known if p.name == "searched"]


def _never_shut(known: Assignment) -> dict[Predicate, bool]:
    bare = [r for r in _places(known) if kind_of(r) not in OPENABLE]
    return {Predicate(name, (r,)): False for r in bare for name in ("shut", "openable")}


def _shut_at_first(known: Assignment) -> dict[Predicate, bool]:
    untouched = [r for r in _places(known) if Predicate("shut", (r,)) not in known]
    shut = [r for r in untouched if kind_of(r) in ALWAYS_OPENABLE]
    return {Predicate(name, (r,)): True for r in shut for name in ("shut", "openable")}


def _not_seen_there(known: Assignment) -> dict[Predicate, bool]:
    kinds = sorted({p.args[0] for p in known if p.name == "holding"})
    seen = [p.args[0] for p, value in known.items() if p.name == "searched" and value]
    return {
        absent: False
        for kind in kinds
        for r in seen
        for absent in (Predicate("in", (kind, r)), Predicate("two_in", (kind, r)))
        if absent not in known
    }


def _empty(known: Assignment) -> dict[Predicate, bool]:
    holds = any(p.name == "holding" and value for p, value in known.items())
    return {Predicate("empty_handed"): False} if holds else {}


RULES = (
    AlfworldRule("never_shut", _never_shut, "only cabinets, drawers, fridges, microwaves and safes can be closed"),
    AlfworldRule("shut_at_first", _shut_at_first, "every game begins with all that can be closed closed"),
    AlfworldRule("not_seen_there", _not_seen_there, "the game lists all that is in a receptacle"),
    AlfworldRule("hands", _empty, "one hand, one object"),
)
