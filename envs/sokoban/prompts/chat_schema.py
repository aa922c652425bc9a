"""The JSON that general models write about Sokoban: moves and cells are enumerated, counts are fixed where known."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.sokoban.prompts.chat_text import BLOCKED_BOX, BOX, MOVES, NOTHING, WALL, WORDS
from envs.sokoban.state import Level

MAX_PLAN = 60
"""Moves of a plan."""

LONGEST_THOUGHT = 240
"""Characters of a thought."""

MOST_CELLS = 150
"""On a board of more cells they are not listed: endpoints bound how many values a schema has."""

_STRICT = ConfigDict(extra="forbid")
_THOUGHT: Any = (str, Field(max_length=LONGEST_THOUGHT))
_ANY_MOVE: Any = Literal[tuple(MOVES)]
_ANY_CELL = Annotated[str, Field(pattern=r"^\([0-9]{1,3},[0-9]{1,3}\)$")]


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


@lru_cache(maxsize=MAX_PLAN)
def plan_model(steps: int) -> type[BaseModel]:
    """A thought, and from one move to as many as there are steps."""
    moves: Any = (list[_ANY_MOVE], Field(min_length=1, max_length=steps))
    return _model("Plan", {"thought": _THOUGHT, "actions": moves})


@lru_cache(maxsize=8)
def act_model(move: str | None = None) -> type[BaseModel]:
    """A thought and a move; or this move, by its word."""
    action: Any = (_ANY_MOVE if move is None else Literal[move], ...)
    return _model("Act", {"thought": _THOUGHT, "action": action})


@lru_cache(maxsize=256)
def outcome_model(level: Level, boxes: int, action: str, valid: bool = False) -> type[BaseModel]:
    """What one move meets, then where everything is after it; with ``valid`` the move is not blocked."""
    cells = sorted({*level.floor, *level.goals, *level.start.boxes})
    cell: Any = Literal[tuple(map(level.coordinate, cells))] if len(cells) <= MOST_CELLS else _ANY_CELL
    meets: Any = Literal[NOTHING, BOX] if valid else Literal[NOTHING, BOX, BLOCKED_BOX, WALL]
    fields = {
        "move": (Literal[WORDS[action]], ...),
        "meets": (meets, ...),
        "player": (cell, ...),
        "boxes": (list[cell], Field(min_length=boxes, max_length=boxes)),
    }
    return _model(f"Outcome_{WORDS[action]}", fields)


@lru_cache(maxsize=256)
def rollout_model(level: Level, boxes: int, actions: tuple[str, ...]) -> type[BaseModel]:
    """The outcomes of exactly these moves, by number."""
    outcomes = {str(i): (outcome_model(level, boxes, action), ...) for i, action in enumerate(actions, 1)}
    return _model("Rollout", outcomes)
