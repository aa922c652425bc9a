"""Sokoban as a :class:`gymnasium.Env`, for anything that speaks that interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.sokoban.errors import SokobanError
from envs.sokoban.level_sets import optimal_length
from envs.sokoban.simulator import is_solved, legal_actions, step
from envs.sokoban.state import ACTIONS, Level
from envs.sokoban.xsb import draw
from tape.plugins import require_extra

try:
    import gymnasium
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.error import ResetNeeded
except ImportError:
    require_extra("sokoban", "gymnasium", what="Sokoban as a gymnasium environment")
    raise

WALL, FLOOR, GOAL, BOX, BOX_ON_GOAL, PLAYER, PLAYER_ON_GOAL = range(7)
"""The codes of an observation's cells."""

_CODES = {"#": WALL, " ": FLOOR, "-": FLOOR, ".": GOAL, "$": BOX, "*": BOX_ON_GOAL, "@": PLAYER, "+": PLAYER_ON_GOAL}
_TILE = 16
_COLOURS = np.array(
    [(70, 70, 70), (230, 220, 200), (240, 150, 150), (170, 110, 50), (90, 160, 80), (40, 90, 200), (110, 70, 190)],
    dtype=np.uint8,
)


class SokobanEnv(gymnasium.Env[npt.NDArray[np.uint8], int]):
    """One or several levels, each with a budget of its shortest solution plus some slack (TAPE appendix E.1).

    Observation: a ``uint8`` grid of the size of the largest level, coded 0 wall, 1 floor, 2 goal,
    3 box, 4 box on goal, 5 player, 6 player on goal; smaller levels are filled up with wall at the
    bottom and on the right. Actions: 0 to 3 for U, D, L, R; a blocked move changes nothing and costs
    a step. Reward: 1.0 for the step that solves the level, else 0.0. An episode is terminated when
    solved, and truncated when T* + slack moves are used up without that.

    ``info`` has ``remaining`` (moves left), ``legal_actions`` (the action numbers that would change
    the state) and ``level`` (its index). What the oracle knows stays out of it.

    Args:
        levels: A level, or several; ``reset`` draws one of them at random unless
            ``options={"level": INDEX}`` selects one.
        slack: Moves allowed beyond T*.
        render_mode: None, ``"ansi"`` (XSB text) or ``"rgb_array"`` (16x16 pixels a cell).

    Raises:
        SokobanError: No level, a negative slack or an unknown render mode.
    """

    # gymnasium declares it without ClassVar, so neither may a subclass.
    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, levels: Level | Sequence[Level], slack: int = 2, render_mode: str | None = None) -> None:
        self.levels = (levels,) if isinstance(levels, Level) else tuple(levels)
        if not self.levels:
            raise SokobanError("a SokobanEnv needs at least one level")
        if slack < 0:
            raise SokobanError(f"slack must be at least 0, got {slack}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise SokobanError(f"render_mode must be None, 'ansi' or 'rgb_array', got {render_mode!r}")
        self.slack = slack
        self.render_mode = render_mode
        self._shape = (max(level.rows for level in self.levels), max(level.cols for level in self.levels))
        self.observation_space = gymnasium.spaces.Box(0, PLAYER_ON_GOAL, self._shape, np.uint8)
        # A Discrete space counts in NumPy integers, and `step` takes both kinds.
        self.action_space = gymnasium.spaces.Discrete(len(ACTIONS))  # type: ignore[assignment]
        # Not registered anywhere: the spec only lets gymnasium's tools rebuild this environment.
        self.spec = EnvSpec(
            "TapeSokoban-v0",
            entry_point="envs.sokoban.gym_env:SokobanEnv",
            order_enforce=False,
            disable_env_checker=True,
            kwargs={"levels": self.levels, "slack": slack, "render_mode": render_mode},
        )
        self._index = 0
        self._state = self.levels[0].start
        self._remaining: int | None = None
        self._over = False

    @property
    def level(self) -> Level:
        """The level being played."""
        return self.levels[self._index]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.uint8], dict[str, Any]]:
        """Start a level.

        Raises:
            SokobanError: ``options["level"]`` is not the index of a level.
            XsbError: The level has no solution.
            OracleLimitError: Its T* could not be found.
        """
        super().reset(seed=seed)
        index = (options or {}).get("level")
        if index is None:
            index = self.np_random.integers(len(self.levels))
        if not isinstance(index, int | np.integer) or not 0 <= index < len(self.levels):
            raise SokobanError(f'options["level"] must be an index from 0 to {len(self.levels) - 1}, got {index!r}')
        self._index = int(index)
        self._state = self.level.start
        self._remaining = optimal_length(self.level) + self.slack
        self._over = False
        return self._observation(), self._info(self._remaining)

    def step(self, action: int) -> tuple[npt.NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Make one move.

        Raises:
            SokobanError: The action is not one of 0 to 3.
            gymnasium.error.ResetNeeded: The episode is over, or has not begun.
        """
        if not self.action_space.contains(action):
            raise SokobanError(f"an action is one of 0 to 3 (U, D, L, R), got {action!r}")
        if self._remaining is None or self._over:
            raise ResetNeeded("the episode is over or has not begun; call reset() first")
        self._state = step(self.level, self._state, ACTIONS[action]) or self._state
        self._remaining -= 1
        solved = is_solved(self.level, self._state)
        truncated = not solved and self._remaining <= 0
        self._over = solved or truncated
        return self._observation(), float(solved), solved, truncated, self._info(self._remaining)

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The current state in the render mode; None without one."""
        if self.render_mode == "ansi":
            return draw(self.level, self._state)
        if self.render_mode == "rgb_array":
            pixels: npt.NDArray[np.uint8] = _COLOURS[self._observation().repeat(_TILE, axis=0).repeat(_TILE, axis=1)]
            return pixels
        return None

    def _observation(self) -> npt.NDArray[np.uint8]:
        grid = np.full(self._shape, WALL, dtype=np.uint8)
        for row, line in enumerate(draw(self.level, self._state).splitlines()):
            grid[row, : len(line)] = [_CODES[character] for character in line]
        return grid

    def _info(self, remaining: int) -> dict[str, Any]:
        legal = tuple(ACTIONS.index(action) for action in legal_actions(self.level, self._state))
        return {"remaining": remaining, "legal_actions": legal, "level": self._index}
