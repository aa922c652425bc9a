"""Seeded generator of Sokoban levels with a wanted optimal length T* (TAPE appendix E)."""

from __future__ import annotations

import random

import numpy as np

from envs.sokoban.state import Level, State, is_held_out
from envs.sokoban.table import CostToGo

ROWS, COLS = 7, 9
"""The paper's board, border included."""

WALL_SHARE = 0.08


def random_board(
    rng: random.Random, rows: int = ROWS, cols: int = COLS, boxes: int = 1, walls: float = WALL_SHARE
) -> Level:
    """Draw a walled board with random inner walls and goals; boxes are placed on the goals."""
    border = {r * cols + c for r in range(rows) for c in range(cols) if r in (0, rows - 1) or c in (0, cols - 1)}
    inside = [cell for cell in range(rows * cols) if cell not in border]
    inner = {cell for cell in inside if rng.random() < walls}
    free = [cell for cell in inside if cell not in inner]
    if len(free) < 2 * boxes + 1:
        return random_board(rng, rows, cols, boxes, walls)
    goals = tuple(sorted(rng.sample(free, boxes)))
    player = rng.choice([cell for cell in free if cell not in goals])
    level = Level(rows, cols, frozenset(border | inner), goals, State(player, goals))
    if not set(goals) <= set(level.floor):
        return random_board(rng, rows, cols, boxes, walls)
    return level


def generate(
    seed: int,
    length: int | tuple[int, int],
    *,
    rows: int = ROWS,
    cols: int = COLS,
    boxes: int = 1,
    walls: float = WALL_SHARE,
    held_out: bool = True,
    attempts: int = 2000,
) -> Level:
    """Make a level whose shortest solution has the wanted number of moves.

    Args:
        seed: Same seed and arguments, same level.
        length: T*, or the lowest and highest T* allowed.
        rows: Height, border included (at least 5).
        cols: Width, border included (at least 5).
        boxes: Number of boxes and goals, 1 to 3.
        walls: Chance of a wall for each inner cell.
        held_out: True draws only boards reserved for evaluation, False only the others
            (:func:`envs.sokoban.state.is_held_out`).
        attempts: Boards tried before giving up.

    Returns:
        A level titled ``seed SEED T*=N``.

    Raises:
        ValueError: An argument is out of range, or no board of this kind has such a solution.
    """
    low, high = (length, length) if isinstance(length, int) else length
    if low < 1 or high < low:
        raise ValueError(f"length must be at least 1 and ordered, got {length}")
    if rows < 5 or cols < 5:
        raise ValueError(f"a board needs at least 5x5 cells with its border, got {rows}x{cols}")
    if not 1 <= boxes <= 3:
        raise ValueError(f"the generator makes 1 to 3 boxes, got {boxes}")
    if not 0 <= walls < 0.6:
        raise ValueError(f"walls is a share in [0, 0.6), got {walls}")
    rng = random.Random(f"sokoban:{seed}:{low}-{high}:{rows}x{cols}:{boxes}:{walls}:{held_out}")
    for _ in range(attempts):
        level = random_board(rng, rows, cols, boxes, walls)
        if is_held_out(level) != held_out:
            continue
        table = CostToGo(level)
        wanted = rng.randint(low, high)
        candidates = np.flatnonzero(table.distance == wanted)
        # A box that starts on a goal would make a level of fewer boxes look like one of more.
        for flat in rng.sample(list(map(int, candidates)), min(len(candidates), 20)):
            state = table.state(flat)
            if boxes == 1 or not set(state.boxes) & set(level.goals):
                return level.with_start(state, f"seed {seed} T*={wanted}")
    raise ValueError(
        f"no {rows}x{cols} board with {boxes} boxes and T* in [{low}, {high}] in {attempts} attempts; "
        "try another length, size or wall share"
    )
