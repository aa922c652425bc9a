"""A house as it really is: what the engine plays and the oracle sees, never the agent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from envs.alfworld.game.goal import Goal


@dataclass(frozen=True)
class Receptacle:
    """A piece of furniture or an appliance.

    Attributes:
        name: As in the game's text, for instance ``cabinet 3``.
        openable: Whether it can be closed; it then is at the start.
        place: Number of the spot from which it is reached; some share one.
    """

    name: str
    openable: bool
    place: int


@dataclass(frozen=True)
class House:
    """One game's household.

    Attributes:
        receptacles: In order of their names.
        inside: Pairs of an object's and its receptacle's name; in real games an object may be in two at once.
        goal: What has to be achieved.
    """

    receptacles: tuple[Receptacle, ...]
    inside: tuple[tuple[str, str], ...]
    goal: Goal

    def digest(self) -> str:
        """A hash of all of it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def name_order(name: str) -> tuple[str, int]:
    """Sorts ``cabinet 2`` before ``cabinet 10``."""
    kind, _, number = name.rpartition(" ")
    return (kind, int(number)) if number.isdecimal() else (name, 0)
