"""Houses as compact JSON, one a line."""

from __future__ import annotations

import json
from dataclasses import dataclass

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.house import House, Receptacle
from tape.reading import parse_json, shaped


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
