"""What the Sokoban tests share: a second, plain implementation of the rules, and random levels."""

from __future__ import annotations

import random
from collections import deque

from hypothesis import assume
from hypothesis import strategies as st

from envs.sokoban.generator import random_board
from envs.sokoban.state import Level, State
from envs.sokoban.xsb import parse

Point = tuple[int, int]
_MOVES: dict[str, Point] = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


class PlainGame:
    """The rules once more, on coordinates and sets, sharing nothing with the package but `Level`'s fields."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.free = {divmod(cell, level.cols) for cell in range(level.rows * level.cols) if cell not in level.walls}
        self.goals = {divmod(cell, level.cols) for cell in level.goals}

    def read(self, state: State) -> tuple[Point, frozenset[Point]]:
        return divmod(state.player, self.level.cols), frozenset(divmod(b, self.level.cols) for b in state.boxes)

    def move(self, player: Point, boxes: frozenset[Point], action: str) -> tuple[Point, frozenset[Point]] | None:
        dr, dc = _MOVES[action]
        target = (player[0] + dr, player[1] + dc)
        if target not in self.free:
            return None
        if target in boxes:
            beyond = (target[0] + dr, target[1] + dc)
            if beyond not in self.free or beyond in boxes:
                return None
            boxes = boxes - {target} | {beyond}
        return target, boxes

    def shortest(self, state: State) -> int | None:
        """Breadth-first search, move by move."""
        root = self.read(state)
        depth = {root: 0}
        queue = deque([root])
        while queue:
            node = queue.popleft()
            if node[1] <= self.goals:
                return depth[node]
            for action in _MOVES:
                after = self.move(*node, action)
                if after is not None and after not in depth:
                    depth[after] = depth[node] + 1
                    queue.append(after)
        return None


def level_of(text: str) -> Level:
    """One level from an indented drawing."""
    [level] = parse("\n".join(line for line in text.splitlines() if line.strip()))
    return level


def scatter(rng: random.Random, level: Level, boxes: int) -> State:
    """A random state of a board: player and boxes anywhere on the floor."""
    cells = rng.sample(level.floor, boxes + 1)
    return State(cells[0], tuple(sorted(cells[1:])))


def random_level(rng: random.Random, low: int = 5, high: int = 10, max_boxes: int = 3, walls: float = 0.15) -> Level:
    """A random board with a random start, solvable or not."""
    boxes = rng.randint(1, max_boxes)
    level = random_board(rng, rng.randint(low, high), rng.randint(low, high), boxes, walls)
    return level.with_start(scatter(rng, level, boxes))


@st.composite
def levels(draw: st.DrawFn, max_side: int = 6, max_boxes: int = 2) -> Level:
    """Enclosed levels of any start, solvable or not; hypothesis can shrink them."""
    rows, cols = draw(st.integers(4, max_side)), draw(st.integers(4, max_side))
    inside = [r * cols + c for r in range(1, rows - 1) for c in range(1, cols - 1)]
    inner = draw(st.sets(st.sampled_from(inside), max_size=len(inside) // 3))
    walls = frozenset(cell for cell in range(rows * cols) if cell not in inside or cell in inner)
    player = draw(st.sampled_from([cell for cell in inside if cell not in inner]))
    floor = Level(rows, cols, walls, (), State(player, ())).floor
    count = draw(st.integers(1, max_boxes))
    assume(len(floor) > count)
    goals = draw(st.permutations(floor))[:count]
    boxes = draw(st.permutations([cell for cell in floor if cell != player]))[:count]
    return Level(rows, cols, walls, tuple(sorted(goals)), State(player, tuple(sorted(boxes))))
