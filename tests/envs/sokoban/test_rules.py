"""Sokoban's rules against gym-sokoban's own transition."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from typing import Any

import numpy as np
import pytest

from envs.sokoban.state import ACTIONS, Level, State, is_solved, step
from tests.envs.sokoban.helpers import random_level, scatter


class Theirs:
    """A level in gym-sokoban's own simulator: its ``step`` alone; it makes no rooms and draws nothing."""

    def __init__(self, level: Level) -> None:
        pytest.importorskip("gym_sokoban")
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):  # gym says that it is old
            warnings.simplefilter("ignore")
            from gym_sokoban.envs.sokoban_env import SokobanEnv as Env
        self.env: Any = Env((level.rows, level.cols), 10**12, len(level.start.boxes), reset=False)
        self.env.render = lambda **_: None
        fixed = np.zeros(level.rows * level.cols, dtype=np.int64)  # walls, then floor and targets
        fixed[list(level.floor)], fixed[list(level.goals)] = 1, 2
        room = fixed.copy()
        for box in level.start.boxes:
            room[box] = 3 if box in level.goals else 4
        room[level.start.player] = 5
        self.env.room_fixed = fixed.reshape(level.rows, level.cols)
        self.env.room_state = room.reshape(level.rows, level.cols)
        self.env.box_mapping, self.env.num_env_steps, self.env.reward_last = {}, 0, 0
        self.env.player_position = np.array(divmod(level.start.player, level.cols))
        self.env.boxes_on_target = len(set(level.start.boxes) & set(level.goals))

    def step(self, action: str) -> State:
        # Its actions 1 to 4 push a box where there is one, and move where there is none, as ours do.
        self.env.step(1 + ACTIONS.index(action), observation_mode="tiny_rgb_array")
        return self.state()

    def state(self) -> State:
        room = self.env.room_state.reshape(-1)
        [player] = np.flatnonzero(room == 5).tolist()
        return State(player, tuple(np.flatnonzero((room == 3) | (room == 4)).tolist()))

    def is_solved(self) -> bool:
        return bool(self.env._check_if_all_boxes_on_target())


_EPISODE = 50
"""Random play pushes boxes into corners; after so many moves the board is set up anew."""


def compare(boards: int, moves: int, seed: int) -> dict[str, int]:
    """Play ``moves`` random moves on ``boards`` random boards in both, and count what happened."""
    rng = random.Random(seed)
    seen = {"moves": 0, "pushes": 0, "blocked": 0, "solved": 0}
    for _ in range(boards):
        level = random_level(rng)
        for first in range(0, moves // boards, _EPISODE):
            played = level.with_start(scatter(rng, level, len(level.start.boxes)))
            theirs, state = Theirs(played), played.start
            assert theirs.state() == state
            for _ in range(min(_EPISODE, moves // boards - first)):
                action = rng.choice(ACTIONS)
                after = step(played, state, action)
                seen["moves"] += 1
                seen["blocked"] += after is None
                seen["pushes"] += after is not None and after.boxes != state.boxes
                state = after or state
                assert theirs.step(action) == state, (played, action)
                assert theirs.is_solved() == is_solved(played, state)
                seen["solved"] += is_solved(played, state)
    return seen


@pytest.mark.parametrize(
    ("boards", "moves", "least"), [(12, 3_000, 1), pytest.param(50, 100_000, 51, marks=pytest.mark.soak)]
)
def test_both_simulators_agree(boards: int, moves: int, least: int) -> None:
    seen = compare(boards, moves, seed=boards)
    assert seen["moves"] == moves
    assert min(seen.values()) >= least, f"the sample is too tame: {seen}"
