"""The exact cost-to-go of every state of a small level at once, by backward search in NumPy.

One box on a 7x9 board takes about a millisecond, two boxes on 10x10 some tens of milliseconds. The
generator and the training data of the bundled LM live on it; single states of larger levels go
through :mod:`envs.sokoban.oracle`.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from envs.sokoban.state import ACTIONS, Level, State

MAX_ENTRIES = 40_000_000
"""Largest table built (entries of two bytes)."""


class CostToGo:
    """Shortest remaining moves for every (player, boxes) of one board.

    Args:
        level: The board; its start is not used.
        boxes: How many boxes; as many as the level's by default.

    Raises:
        ValueError: The table would hold more than :data:`MAX_ENTRIES` entries.
    """

    def __init__(self, level: Level, boxes: int | None = None) -> None:
        self.level = level
        self.boxes = len(level.start.boxes) if boxes is None else boxes
        self.cells = np.array(level.floor, dtype=np.int64)
        size = len(self.cells)
        if size ** (self.boxes + 1) > MAX_ENTRIES:
            raise ValueError(
                f"a cost-to-go table for {self.boxes} boxes on {size} floor cells is too large; "
                "use envs.sokoban.oracle for single states"
            )
        self._index = {int(cell): i for i, cell in enumerate(self.cells)}
        self.distance = self._solve()

    def _solve(self) -> npt.NDArray[np.int16]:
        size, boxes = len(self.cells), self.boxes
        index = np.full(self.level.rows * self.level.cols + 1, -1, dtype=np.int64)
        index[self.cells] = np.arange(size)
        # step[a, i]: floor index reached from i by action a, or -1.
        step = np.stack([index[np.array(self.level.neighbours[a])[self.cells]] for a in ACTIONS])
        back = step[[1, 0, 3, 2]]
        distance = np.full(size ** (boxes + 1), -1, dtype=np.int16)
        owner = np.zeros(size ** (boxes + 1), dtype=np.int32)
        player, box = self._solved_states(size, boxes)
        depth = 0
        distance[self._flat(player, box)] = 0
        while len(player):
            depth += 1
            # All four actions at once: before action a the player stood at back[a]; the box that is
            # now one further on may have been pushed there from where the player stands now.
            before = back[:, player].reshape(-1)
            beyond = step[:, player].reshape(-1)
            here = np.tile(player, 4)
            box4 = np.tile(box, (4, 1))
            valid = (before >= 0) & ~(box4 == before[:, None]).any(axis=1)
            before, beyond, here, box4 = before[valid], beyond[valid], here[valid], box4[valid]
            hit = (box4 == beyond[:, None]) & (beyond >= 0)[:, None]
            pulled_rows = hit.any(axis=1)
            pulled = np.where(hit, here[:, None], box4)[pulled_rows]
            player = np.concatenate([before, before[pulled_rows]])
            box = np.concatenate([box4, np.sort(pulled, axis=1)])
            flat = self._flat(player, box)
            new = distance[flat] < 0
            player, box, flat = player[new], box[new], flat[new]
            owner[flat] = np.arange(len(flat), dtype=np.int32)
            first = owner[flat] == np.arange(len(flat), dtype=np.int32)
            player, box = player[first], box[first]
            distance[flat[first]] = depth
        return distance

    def _solved_states(self, size: int, boxes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        goals = sorted(self._index[g] for g in self.level.goals if g in self._index)
        players, rows = [], []
        for placed in combinations(goals, boxes):
            for cell in range(size):
                if cell not in placed:
                    players.append(cell)
                    rows.append(placed)
        return np.array(players, dtype=np.int64), np.array(rows, dtype=np.int64).reshape(len(rows), boxes)

    def _flat(self, player: npt.NDArray[np.int64], box: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        size = len(self.cells)
        flat = player
        for k in range(self.boxes):
            flat = flat * size + box[:, k]
        return flat

    def __getitem__(self, state: State) -> int | None:
        """Moves to the nearest solved state, or None where there is no way."""
        size = len(self.cells)
        flat = self._index[state.player]
        for box in state.boxes:
            if box not in self._index:
                return None
            flat = flat * size + self._index[box]
        value = int(self.distance[flat])
        return None if value < 0 else value

    def state(self, flat: int) -> State:
        """The state at a flat index of :attr:`distance`."""
        size = len(self.cells)
        digits = []
        for _ in range(self.boxes + 1):
            flat, digit = divmod(flat, size)
            digits.append(int(self.cells[digit]))
        return State(digits[-1], tuple(sorted(digits[:-1])))

    def is_state(self, flat: int) -> bool:
        """Say whether a flat index is a state in canonical form: boxes apart, ascending, player beside them."""
        size = len(self.cells)
        digits = []
        for _ in range(self.boxes + 1):
            flat, digit = divmod(flat, size)
            digits.append(digit)
        boxes = digits[:-1][::-1]
        return all(a < b for a, b in pairwise(boxes)) and digits[-1] not in boxes
