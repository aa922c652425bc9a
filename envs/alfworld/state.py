"""The abstract state: what the agent has seen of the house (the projector z of TAPE section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from envs.alfworld.game.goal import Goal
from envs.alfworld.game.kinds import kind_of
from tape.protocols import State

NEW, SHUT, KEPT, OPEN, BARE = "new", "shut", "kept", "open", "bare"
"""Of a receptacle: never looked at; closed, contents unknown; closed, contents known; open; cannot be closed."""

CLOSED = frozenset({SHUT, KEPT})
VISIBLE = frozenset({OPEN, BARE})
SEARCHED = frozenset({KEPT, OPEN, BARE})


def unseen(kind: str, count: int = 1) -> str:
    """The name of an unseen object, the first, second, .. of its kind."""
    return f"{kind} {'?' * count}"


@dataclass(frozen=True)
class Layout:
    """What does not change during a game.

    Attributes:
        goal: What has to be achieved.
        receptacles: Names of all, in order.
        together: Groups of receptacles that are reached from the same spot, as far as they are known.
    """

    goal: Goal
    receptacles: tuple[str, ...]
    together: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def number(self) -> dict[str, int]:
        """The position of each receptacle."""
        return {name: i for i, name in enumerate(self.receptacles)}

    @cached_property
    def group(self) -> dict[str, tuple[str, ...]]:
        """What is reached from the same spot as a receptacle, itself included."""
        return {name: group for group in self.together for name in group}

    def reached_with(self, receptacle: str) -> tuple[str, ...]:
        """All that is known to be reached from where a receptacle is, itself first."""
        group = self.group.get(receptacle, (receptacle,))
        return (receptacle, *(name for name in group if name != receptacle))


@dataclass(frozen=True)
class Knowledge:
    """What is known now.

    Attributes:
        layout: The household.
        at: The receptacles that can be reached from here, the one gone to first; empty in the middle of the room.
        holding: The object in hand, or empty.
        inside: Pairs of an object and the receptacle that it is in, as far as seen.
        marks: Pairs of an object and ``clean``, ``hot``, ``cool`` or ``lit``.
        status: Of every receptacle, in the layout's order.
        assumed: Pairs of an :func:`unseen` object and a receptacle not looked into in which a plan assumes it to be.
        shown: The commands that the engine admits, where agents are shown them.
        tried: Commands that came to nothing in this very state, where agents are kept from repeating them.
    """

    layout: Layout
    at: tuple[str, ...] = ()
    holding: str = ""
    inside: frozenset[tuple[str, str]] = frozenset()
    marks: frozenset[tuple[str, str]] = frozenset()
    status: tuple[str, ...] = ()
    assumed: frozenset[tuple[str, str]] = frozenset()
    shown: tuple[str, ...] = ()
    tried: frozenset[str] = frozenset()

    @classmethod
    def start(cls, layout: Layout) -> Knowledge:
        """At the start of a game of which nothing is known but its furniture."""
        return cls(layout, status=(NEW,) * len(layout.receptacles))

    def of(self, receptacle: str) -> str:
        """The status of a receptacle."""
        return self.status[self.layout.number[receptacle]]

    def found(self, receptacle: str, status: str) -> Knowledge:
        """With the status of a receptacle; what was assumed of one that is looked into now turns out so."""
        i = self.layout.number[receptacle]
        now = replace(self, status=(*self.status[:i], status, *self.status[i + 1 :]))
        if status not in SEARCHED:
            return now
        there = frozenset(pair for pair in self.assumed if pair[1] == receptacle)
        return replace(now, assumed=self.assumed - there, inside=now.inside | there)

    def unseen_name(self, kind: str, others: Iterable[str] = ()) -> str:
        """A name for one more unseen object of a kind; two that are put together keep two names."""
        used = {*others, self.holding, *(thing for thing, _ in self.inside)}
        return next(name for name in (unseen(kind, n) for n in count(1)) if name not in used)

    def contents(self, receptacle: str) -> list[str]:
        """Objects known to be in a receptacle, sorted."""
        return sorted(thing for thing, where in self.inside if where == receptacle)

    def marks_of(self, thing: str) -> tuple[str, ...]:
        """What has been done to an object, sorted."""
        return tuple(sorted(mark for name, mark in self.marks if name == thing))

    def pairs(self, kinds: Iterable[str]) -> list[tuple[str, str, tuple[str, ...]]]:
        """Kind, receptacle and marks of all objects of some kinds that are known or assumed, in the layout's order."""
        wanted, number = set(kinds), self.layout.number
        there = self.inside | self.assumed
        pairs = [(kind_of(t), r, self.marks_of(t)) for t, r in there if kind_of(t) in wanted]
        return sorted(pairs, key=lambda pair: (number[pair[1]], pair[0], pair[2]))


def as_state(state: State) -> Knowledge:
    """The state as this environment knows it.

    Raises:
        TypeError: It is of another environment.
    """
    if not isinstance(state, Knowledge):
        raise TypeError(f"expected what is known of a house, got {type(state).__name__}")
    return state
