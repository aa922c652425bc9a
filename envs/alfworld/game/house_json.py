"""Households as compact JSON, one a line."""

from __future__ import annotations

import json
from typing import Any

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.house import House, Receptacle


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
        GameError: It is no household; the message names the source.
    """
    try:
        data: Any = json.loads(line)
        receptacles = tuple(
            Receptacle(str(n), bool(openable), int(place)) for n, openable, place in data["receptacles"]
        )
        inside = tuple((str(o), str(r)) for o, r in data["inside"])
        return str(data["name"]), House(receptacles, inside, Goal(*(str(part) for part in data["goal"])))
    except (ValueError, KeyError, TypeError) as error:
        raise GameError(f"{source}: not a household: {type(error).__name__}: {error}") from error
