from __future__ import annotations

import warnings

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
from envs.sokoban.state import ACTIONS, Level
from envs.sokoban.xsb import draw
from tests.envs.sokoban.helpers import level_of

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
        [0, 0, 0, 0, 0, 0, 0],
        [0, 5, 3, 2, 1, 2, 0],
        [0, 1, 1, 1, 4, 1, 0],
        [0, 1, 1, 3, 1, 1, 0],
        [0, 1, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]
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
