"""The ``compact`` prompt format: how Sokoban is written for the bundled LM, one token per word.

A prompt is the state followed by one query; what follows the arrow is the model's::

    size: 7x9 wall: (2,3) (4,5) player: (3,3) box: (2,4) goal: (5,6) <plan> steps: 8 -> U L L
    ... <act> steps: 8 -> next: push L action: L
    ... <act> steps: 8 plan: R R U -> next: move R action: R
    ... <next> U -> (2,3) (2,4)            or: invalid
    ... <score> -> open                    or: solved, hopeless
    ... <left> -> 7                        moves to the nearest solution, or: dead

The state comes first so that its keys and values serve every query. Every token carries its leading
space, so a completion is spelt exactly as it stands in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.sokoban.state import ACTIONS, Level, State

MIN_SIDE, MAX_SIDE = 5, 10
"""Smallest and largest board side the vocabulary can write."""

MAX_NUMBER = 60
"""Largest number the vocabulary can write; larger step counts are written as this one."""

SCORES = {"solved": 1.0, "open": 0.0, "hopeless": -1.0}
"""The words of a score and their values (TAPE appendix F.2: solved, neither, never solvable)."""


def vocabulary() -> list[str]:
    """All words of the prompt format, in the order of their token ids (after the two special tokens)."""
    words = ["size:", "wall:", "player:", "box:", "goal:", "steps:", "plan:", "next:", "action:", "->"]
    words += ["<plan>", "<act>", "<next>", "<score>", "<left>", "none", "invalid", "dead", "move", "push"]
    words += [*ACTIONS, *SCORES]
    words += [f"{rows}x{cols}" for rows in range(MIN_SIDE, MAX_SIDE + 1) for cols in range(MIN_SIDE, MAX_SIDE + 1)]
    words += [str(n) for n in range(MAX_NUMBER + 1)]
    words += [f"({row},{col})" for row in range(MAX_SIDE) for col in range(MAX_SIDE)]
    return words


def number(value: int) -> str:
    """Write a number within the vocabulary."""
    return str(min(max(value, 0), MAX_NUMBER))


def board_words(level: Level) -> list[str]:
    """The part of the prompt that one level's states share, without the state itself."""
    walls = [level.coordinate(cell) for cell in level.inner_walls] or ["none"]
    return ["size:", f"{level.rows}x{level.cols}", "wall:", *walls]


def state_words(level: Level, state: State) -> list[str]:
    """A whole state: board, player, boxes, goals."""
    boxes = [level.coordinate(cell) for cell in state.boxes]
    goals = [level.coordinate(cell) for cell in level.goals]
    return [*board_words(level), "player:", level.coordinate(state.player), "box:", *boxes, "goal:", *goals]


def plan_query(steps: int) -> list[str]:
    """Ask for a whole plan within ``steps`` moves."""
    return ["<plan>", "steps:", number(steps), "->"]


def act_query(steps: int, plan: Sequence[str] = ()) -> list[str]:
    """Ask for a thought and one action, with the rest of a plan as a hint if there is one."""
    hint = ["plan:", *plan] if plan else []
    return ["<act>", "steps:", number(steps), *hint, "->"]


def next_query(action: str) -> list[str]:
    """Ask for the state after ``action``."""
    return ["<next>", action, "->"]


def score_query() -> list[str]:
    """Ask whether a state is solved, hopeless, or neither."""
    return ["<score>", "->"]


def left_query() -> list[str]:
    """Ask for the number of moves to the nearest solution."""
    return ["<left>", "->"]


def outcome_words(level: Level, after: State | None) -> list[str]:
    """The answer to :func:`next_query`."""
    if after is None:
        return ["invalid"]
    return [level.coordinate(cell) for cell in (after.player, *after.boxes)]


def text(words: Sequence[str]) -> str:
    """Join words; every one keeps its leading space, the first too."""
    return "".join(f" {word}" for word in words)
