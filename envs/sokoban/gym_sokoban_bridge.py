"""Runs a level in gym-sokoban's own simulator, so that the two can be compared.

What is taken from gym-sokoban is its ``step``; its room generator is never run, and its pictures are
drawn only when asked for. The package is optional.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np

from envs.sokoban.errors import SokobanError
from envs.sokoban.state import ACTIONS, Level, State
from tape.plugins import require_extra

# gym-sokoban's cell codes. Its `room_fixed` has walls, floor and targets, `room_state` all of them.
_WALL, _FLOOR, _TARGET, _BOX_ON_TARGET, _BOX, _PLAYER = range(6)

_PUSH = {action: code for code, action in enumerate(ACTIONS, start=1)}
"""gym-sokoban's push actions 1 to 4: they push a box where there is one and move where there is none,
which is what an action means here; its move actions 5 to 8 never push."""

_NEVER = 10**12


def _environment_class() -> Any:
    """Import gym-sokoban without the notice that the gym package prints when it is imported."""
    require_extra("sokoban", "gym_sokoban", "gym", "pkg_resources", what="gym-sokoban's simulator")
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        from gym_sokoban.envs.sokoban_env import SokobanEnv
    return SokobanEnv


class GymSokobanBridge:
    """A gym-sokoban environment that plays a given level.

    Args:
        level: The level; the player must be enclosed by walls.
        observation_mode: ``"rgb_array"`` (gym-sokoban's default) or ``"tiny_rgb_array"`` (its cheapest)
            to draw at every step; None (the default) leaves drawing out, and nothing else.

    Raises:
        MissingExtraError: gym-sokoban, or what it needs, is not installed.
        SokobanError: The level is not enclosed; gym-sokoban would wrap around the board's edge.
    """

    def __init__(self, level: Level, observation_mode: str | None = None) -> None:
        for cell in level.floor:
            row, col = divmod(cell, level.cols)
            if row in (0, level.rows - 1) or col in (0, level.cols - 1):
                raise SokobanError(f"the floor touches the edge of the board at {level.coordinate(cell)}; enclose it")
        self.level = level
        self.env: Any = _environment_class()(
            dim_room=(level.rows, level.cols), max_steps=_NEVER, num_boxes=len(level.start.boxes), reset=False
        )
        self._mode = observation_mode or "tiny_rgb_array"
        if observation_mode is None:
            self.env.render = lambda **_: None
        self.reset()

    def reset(self) -> State:
        """Put the level's start into the environment, in place of a generated room."""
        level, env = self.level, self.env
        fixed = np.full(level.rows * level.cols, _WALL, dtype=np.int64)
        fixed[list(level.floor)] = _FLOOR
        fixed[list(level.goals)] = _TARGET
        room = fixed.copy()
        for box in level.start.boxes:
            room[box] = _BOX_ON_TARGET if box in level.goals else _BOX
        room[level.start.player] = _PLAYER
        env.room_fixed = fixed.reshape(level.rows, level.cols)
        env.room_state = room.reshape(level.rows, level.cols)
        env.box_mapping = {}  # only its generator and its picture of numbered boxes use this
        env.player_position = np.array(divmod(level.start.player, level.cols))
        env.num_env_steps = 0
        env.reward_last = 0
        env.boxes_on_target = len(set(level.start.boxes) & set(level.goals))
        return self.state()

    def step(self, action: str) -> State:
        """Apply one of ``U D L R`` with gym-sokoban's own transition and read the state back.

        Raises:
            KeyError: ``action`` is not one of the four.
        """
        self.env.step(_PUSH[action], observation_mode=self._mode)
        return self.state()

    def state(self) -> State:
        """The player and the boxes as gym-sokoban's room shows them."""
        room = self.env.room_state.reshape(-1)
        [player] = np.flatnonzero(room == _PLAYER).tolist()
        boxes = np.flatnonzero((room == _BOX) | (room == _BOX_ON_TARGET)).tolist()
        return State(player, tuple(boxes))

    def is_solved(self) -> bool:
        """gym-sokoban's own goal check."""
        return bool(self.env._check_if_all_boxes_on_target())
