"""Sokoban as a gymnasium environment, and against gym-sokoban's own transition."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from envs.sokoban import gym_env
from envs.sokoban.errors import SokobanError, XsbError
from envs.sokoban.gym_env import SokobanEnv
from envs.sokoban.level_sets import load_set
from envs.sokoban.oracle import solve
from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.xsb import draw
from tests.envs.sokoban.helpers import level_of, random_level, scatter

LEVEL = level_of("#######\n#@$. .#\n#   * #\n#  $  #\n#     #\n#######")
HARD = load_set("hard")


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize("levels", [HARD[0], HARD, [HARD[0], LEVEL]], ids=["one", "ten", "sizes"])
def test_gymnasium_finds_nothing_to_warn_about(levels: Level | list[Level], render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(SokobanEnv(levels, render_mode=render_mode))


def test_importing_registers_nothing() -> None:
    assert not [name for name in gymnasium.registry if "okoban" in name]


def test_observations_use_the_documented_codes() -> None:
    env = SokobanEnv(LEVEL)
    grid, _ = env.reset(seed=0)
    assert grid.dtype == np.uint8
    assert grid.tolist() == [
        [0, 0, 0, 0, 0, 0, 0], [0, 5, 3, 2, 1, 2, 0], [0, 1, 1, 1, 4, 1, 0], [0, 1, 1, 3, 1, 1, 0],
        [0, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0],
    ]  # fmt: skip
    assert env.observation_space.contains(grid)
    for action in "DRRU":
        grid = env.step(ACTIONS.index(action))[0]
    assert grid[1, 3] == gym_env.PLAYER_ON_GOAL


def test_smaller_levels_are_filled_up_with_wall() -> None:
    env = SokobanEnv([HARD[0], LEVEL])
    grid, info = env.reset(options={"level": 1})
    assert grid.shape == (7, 9)
    assert not grid[6:].any()
    assert not grid[:, 7:].any()
    assert info["level"] == 1


@pytest.mark.parametrize("level", HARD[:4], ids=lambda level: level.title)
def test_a_shortest_solution_is_rewarded_at_its_last_move(level: Level) -> None:
    moves = solve(level)
    assert moves is not None
    env = SokobanEnv(level, slack=0)
    _, info = env.reset(seed=1)
    assert (set(info), info["remaining"]) == ({"remaining", "legal_actions", "level"}, len(moves))
    rewards = []
    for number, move in enumerate(moves, start=1):
        assert ACTIONS.index(move) in info["legal_actions"]
        _, reward, terminated, truncated, info = env.step(ACTIONS.index(move))
        rewards.append(reward)
        assert info["remaining"] == len(moves) - number
        assert (terminated, truncated) == (number == len(moves), False)
    assert rewards == [0.0] * (len(moves) - 1) + [1.0]


def test_the_budget_truncates_and_a_blocked_move_costs_a_step() -> None:
    # The first move goes away from the box, into the corner; all others run against its wall.
    env = SokobanEnv(level_of("#######\n# @$. #\n#######"), slack=2)
    _, info = env.reset(seed=0)
    assert (info["remaining"], info["legal_actions"]) == (3, (2, 3))
    for remaining in (2, 1, 0):
        grid, reward, terminated, truncated, info = env.step(2)
        assert (reward, terminated, truncated) == (0.0, False, remaining == 0)
        assert (info["remaining"], info["legal_actions"]) == (remaining, (3,))
        assert grid[1].tolist() == [0, 5, 1, 3, 2, 1, 0]
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_the_seed_picks_the_level() -> None:
    env = SokobanEnv(HARD)
    first = [env.reset(seed=4)[1]["level"], *(env.reset()[1]["level"] for _ in range(8))]
    assert first == [env.reset(seed=4)[1]["level"], *(env.reset()[1]["level"] for _ in range(8))]
    assert len(set(first)) > 1


def test_rendering() -> None:
    env = SokobanEnv(LEVEL, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == draw(LEVEL)
    picture = SokobanEnv(LEVEL, render_mode="rgb_array")
    picture.reset(seed=0)
    pixels = picture.render()
    assert isinstance(pixels, np.ndarray)
    assert pixels.shape == (6 * 16, 7 * 16, 3)
    assert pixels.dtype == np.uint8
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) == 6
    assert SokobanEnv(LEVEL).render() is None


def test_mistakes_are_named() -> None:
    with pytest.raises(SokobanError, match="at least one level"):
        SokobanEnv([])
    with pytest.raises(SokobanError, match="slack"):
        SokobanEnv(LEVEL, slack=-1)
    with pytest.raises(SokobanError, match="render_mode"):
        SokobanEnv(LEVEL, render_mode="human")
    env = SokobanEnv(LEVEL)
    with pytest.raises(ResetNeeded):
        env.step(0)
    for index in (1, -1, "easy"):
        with pytest.raises(SokobanError, match='options\\["level"\\]'):
            env.reset(options={"level": index})
    env.reset()
    with pytest.raises(SokobanError, match="0 to 3"):
        env.step(4)
    with pytest.raises(XsbError, match="no solution"):
        SokobanEnv(level_of("######\n#$  .#\n# @  #\n######")).reset()


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
