"""Sokoban levels and states: immutable, hashable, of any size and number of boxes.

A cell is an integer ``row * cols + col``; row 0 is the top row. Everything outside the board is
a wall, so a move never leaves it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

ACTIONS = ("U", "D", "L", "R")
"""The four primitive actions (TAPE appendix E.1), in the fixed order used for every tie."""

_STEP = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


class State(NamedTuple):
    """What can change in a level.

    Attributes:
        player: The player's cell.
        boxes: The boxes' cells, ascending.
    """

    player: int
    boxes: tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """A Sokoban level: walls, goals and the starting state.

    Attributes:
        rows: Height in cells, the border included.
        cols: Width in cells, the border included.
        walls: The wall cells.
        goals: The goal cells, ascending.
        start: The starting state.
        title: A name for people; it takes no part in equality.
        origin: File and line it was read from, for messages; it takes no part in equality either.
    """

    rows: int
    cols: int
    walls: frozenset[int]
    goals: tuple[int, ...]
    start: State
    title: str = field(default="", compare=False)
    origin: tuple[str, int] | None = field(default=None, compare=False)

    @cached_property
    def neighbours(self) -> dict[str, tuple[int, ...]]:
        """Per action, the cell reached from each cell, or -1 where a wall stands or the cell is a wall."""
        table = {}
        for action, (dr, dc) in _STEP.items():
            column = []
            for cell in range(self.rows * self.cols):
                row, col = divmod(cell, self.cols)
                row, col = row + dr, col + dc
                inside = 0 <= row < self.rows and 0 <= col < self.cols
                target = row * self.cols + col if inside else -1
                free = inside and target not in self.walls and cell not in self.walls
                column.append(target if free else -1)
            table[action] = tuple(column)
        return table

    @cached_property
    def floor(self) -> tuple[int, ...]:
        """The cells the player could ever stand on if no box were in the way, ascending."""
        seen = {self.start.player}
        stack = [self.start.player]
        while stack:
            cell = stack.pop()
            for action in ACTIONS:
                target = self.neighbours[action][cell]
                if target >= 0 and target not in seen:
                    seen.add(target)
                    stack.append(target)
        return tuple(sorted(seen))

    @cached_property
    def inner_walls(self) -> tuple[int, ...]:
        """Walls off the border that touch the player's floor, ascending: all a reader needs to know."""
        floor = set(self.floor)
        numbers = []
        for cell in sorted(self.walls):
            row, col = divmod(cell, self.cols)
            if row in (0, self.rows - 1) or col in (0, self.cols - 1):
                continue
            if floor & {cell - 1, cell + 1, cell - self.cols, cell + self.cols}:
                numbers.append(cell)
        return tuple(numbers)

    @cached_property
    def dead_squares(self) -> frozenset[int]:
        """Floor cells from which no single box could be pushed to any goal, other boxes aside."""
        alive = set(self.goals)
        stack = list(self.goals)
        while stack:
            cell = stack.pop()
            for opposite in ("D", "U", "R", "L"):
                # A push that ends on `cell` began with the box at `source` and the player one
                # further back.
                source = self.neighbours[opposite][cell]
                if source < 0 or source in alive:
                    continue
                if self.neighbours[opposite][source] >= 0:
                    alive.add(source)
                    stack.append(source)
        return frozenset(cell for cell in range(self.rows * self.cols) if cell not in self.walls and cell not in alive)

    def coordinate(self, cell: int) -> str:
        """Write a cell as ``(row,col)``."""
        row, col = divmod(cell, self.cols)
        return f"({row},{col})"

    def with_start(self, state: State, title: str | None = None) -> Level:
        """Return the same board with another starting state."""
        name = self.title if title is None else title
        return Level(self.rows, self.cols, self.walls, self.goals, state, name, self.origin)

    @cached_property
    def board_hash(self) -> str:
        """A hash of walls and goals alone, equal for all eight mirror images and rotations.

        Two levels with equal hashes are the same board with another player or box position. Training
        and evaluation are kept apart by it (see :func:`is_held_out`).
        """
        interior = set(self.floor)
        goals = set(self.goals)
        images = []
        grid = [
            [2 if r * self.cols + c in goals else 1 if r * self.cols + c in interior else 0 for c in range(self.cols)]
            for r in range(self.rows)
        ]
        for _ in range(4):
            grid = [list(row) for row in zip(*grid[::-1], strict=True)]
            for image in (grid, [row[::-1] for row in grid]):
                images.append("/".join("".join(map(str, row)) for row in image))
        return hashlib.sha256(min(images).encode()).hexdigest()


HELD_OUT_SHARE = 16


def is_held_out(level: Level) -> bool:
    """Whether a board is reserved for evaluation: one in sixteen, by its hash.

    The training data of the bundled LMs uses only boards that are not held out and the generator of
    evaluation levels only boards that are, so the two never meet, whatever the seeds.
    """
    return int(level.board_hash[:8], 16) % HELD_OUT_SHARE == 0


def step(level: Level, state: State, action: str) -> State | None:
    """Apply one action.

    Returns:
        The state after, or None where the action is invalid (a wall, or a box that cannot move);
        an invalid action changes nothing in the world, but it costs a step.

    Raises:
        KeyError: ``action`` is not one of the four.
    """
    neighbours = level.neighbours[action]
    target = neighbours[state.player]
    if target < 0:
        return None
    boxes = state.boxes
    if target not in boxes:
        return State(target, boxes)
    beyond = neighbours[target]
    if beyond < 0 or beyond in boxes:
        return None
    if len(boxes) == 1:
        return State(target, (beyond,))
    return State(target, tuple(sorted(beyond if box == target else box for box in boxes)))


def is_push(level: Level, state: State, action: str) -> bool:
    """Whether the action would move a box."""
    after = step(level, state, action)
    return after is not None and after.boxes != state.boxes


def is_solved(level: Level, state: State) -> bool:
    """Whether every box is on a goal."""
    goals = level.goals
    return all(box in goals for box in state.boxes)


def replay(level: Level, actions: list[str] | tuple[str, ...], state: State | None = None) -> list[State]:
    """The states visited from ``state`` (the start by default); invalid actions repeat the state."""
    current = level.start if state is None else state
    states = [current]
    for action in actions:
        current = step(level, current, action) or current
        states.append(current)
    return states
