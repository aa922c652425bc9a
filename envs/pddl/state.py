"""States of a planning problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from envs.pddl.expressions import Atom, written
from tape.protocols import State


@dataclass(frozen=True)
class PddlState:
    """What is true, of what can change.

    Attributes:
        facts: The atoms that are true.
        numbers: The numbers that are defined, sorted.
        finished: The plan was ended (problems with preferences alone).
        note: Why the last action did nothing; no part of the identity.
    """

    facts: frozenset[Atom]
    numbers: tuple[tuple[Atom, Fraction], ...] = ()
    finished: bool = False
    note: str = field(default="", compare=False)

    def lines(self) -> list[str]:
        """The atoms and numbers in PDDL, sorted."""
        numbers = [f"(= {written(atom)} {value})" for atom, value in self.numbers]
        return [*sorted(map(written, self.facts)), *numbers, *(["finished"] if self.finished else [])]

    @property
    def key(self) -> str:
        """The identity of the state."""
        return " ".join(self.lines())


def as_state(state: State) -> PddlState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, PddlState), f"no state of a planning problem: {state!r}"
    return state
