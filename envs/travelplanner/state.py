"""The abstract state of a trip: what has been booked, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass, field

from envs.travelplanner.rules import Mode


@dataclass(frozen=True)
class TripState:
    """What is decided.

    Attributes:
        booked: The options of the first slots, in the order of the slots.
        mode: How the trip travels so far.
        cuisines: The required cuisines that are covered, as bits.
        last: Index of the last option within its group's list.
        canonical: Whether the options of the last one's group came in the order of their list.
        spent: Cents, where the state was observed; None where it is only predicted.
        note: Why the last action was refused, or what a check found.
    """

    booked: tuple[str, ...] = ()
    mode: Mode = field(default="", compare=False)
    cuisines: int = field(default=0, compare=False)
    last: int = field(default=-1, compare=False)
    canonical: bool = field(default=True, compare=False)
    spent: int | None = field(default=None, compare=False)
    note: str = field(default="", compare=False)
