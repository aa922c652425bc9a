"""A household: receptacles, what is in them, the goal; and as JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import Goal
from tape.reading import parse_json, shaped


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


def dump_house(name: str, house: House) -> str:
    """One line of JSON."""
    goal = house.goal
    return json.dumps(
        {
            "name": name,
            "goal": [goal.task, goal.thing, goal.target],
            "receptacles": [[r.name, int(r.openable), r.place] for r in house.receptacles],
            "inside": [list(pair) for pair in house.inside],
        },
        separators=(",", ":"),
    )


def parse_house(line: str, source: str) -> tuple[str, House]:
    """A line of JSON as a name and a household.

    Raises:
        GameError: It is no house; the message names the source.
    """
    result = shaped(parse_json(line, source, error=GameError), _Line, source, error=GameError)
    receptacles = tuple(Receptacle(name, openable == 1, place) for name, openable, place in result.receptacles)
    return result.name, House(receptacles, result.inside, Goal(*result.goal))


@dataclass(frozen=True)
class _Line:
    """A house as it stands in a line."""

    name: str
    goal: tuple[str, str, str]
    receptacles: tuple[tuple[str, int, int], ...]
    inside: tuple[tuple[str, str], ...]
