"""Our simulator against gym-sokoban's own transition, state by state."""

from __future__ import annotations

import random
import sys

import pytest

from envs.sokoban import gym_sokoban_bridge
from envs.sokoban.errors import SokobanError
from envs.sokoban.gym_sokoban_bridge import GymSokobanBridge
from envs.sokoban.level_sets import load_set
from envs.sokoban.oracle import solve
from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import ACTIONS, Level, State
from tests.envs.sokoban.helpers import level_of, random_level, scatter

_EPISODE = 50
"""Random play pushes boxes into corners; after so many moves the board is set up anew."""


def compare(boards: int, moves: int, seed: int) -> dict[str, int]:
    """Play ``moves`` random moves on ``boards`` random boards in both, and count what happened."""
    pytest.importorskip("gym_sokoban")
    rng = random.Random(seed)
    seen = {"moves": 0, "pushes": 0, "blocked": 0, "solved": 0}
    for _ in range(boards):
        level = random_level(rng)
        for first in range(0, moves // boards, _EPISODE):
            played = level.with_start(scatter(rng, level, len(level.start.boxes)))
            bridge, state = GymSokobanBridge(played), played.start
            assert bridge.state() == state
            for _ in range(min(_EPISODE, moves // boards - first)):
                action = rng.choice(ACTIONS)
                after = step(played, state, action)
                seen["moves"] += 1
                seen["blocked"] += after is None
                seen["pushes"] += after is not None and after.boxes != state.boxes
                state = after or state
                assert bridge.step(action) == state, (played, action)
                assert bridge.is_solved() == is_solved(played, state)
                seen["solved"] += is_solved(played, state)
    return seen


@pytest.mark.parametrize(
    ("boards", "moves", "least"), [(12, 3_000, 1), pytest.param(50, 100_000, 51, marks=pytest.mark.soak)]
)
def test_both_simulators_agree(boards: int, moves: int, least: int) -> None:
    seen = compare(boards, moves, seed=boards)
    assert seen["moves"] == moves
    assert min(seen.values()) >= least, f"the sample is too tame: {seen}"


@pytest.mark.parametrize("level", load_set("hard")[:3], ids=lambda level: level.title)
def test_our_solutions_solve_theirs(level: Level) -> None:
    pytest.importorskip("gym_sokoban")
    bridge = GymSokobanBridge(level)
    moves = solve(level)
    assert moves is not None
    for move in moves:
        assert not bridge.is_solved()
        bridge.step(move)
    assert bridge.is_solved()
    assert bridge.reset() == level.start
    assert not bridge.is_solved()


@pytest.mark.filterwarnings("ignore:Starting with ImageIO:DeprecationWarning")
@pytest.mark.parametrize("mode", ["rgb_array", "tiny_rgb_array"])
def test_drawing_does_not_change_the_transition(mode: str) -> None:
    pytest.importorskip("gym_sokoban")
    level = level_of("#######\n#@$. *#\n#  $. #\n#######")
    drawn, plain = GymSokobanBridge(level, mode), GymSokobanBridge(level)
    for action in "RDRULLDR":
        assert drawn.step(action) == plain.step(action)


def test_boxes_on_goals_at_the_start_are_read_back() -> None:
    pytest.importorskip("gym_sokoban")
    level = level_of("########\n#@* $. #\n########")
    bridge = GymSokobanBridge(level)
    assert bridge.state() == level.start
    assert bridge.step("R") == step(level, level.start, "R")
    assert bridge.step("R") == bridge.state()


def test_a_level_that_is_not_enclosed_is_refused() -> None:
    walls = frozenset(range(5)) | frozenset(range(10, 15)) | {5}
    level = Level(3, 5, walls, (8,), State(6, (7,)))
    with pytest.raises(SokobanError, match="edge of the board"):
        GymSokobanBridge(level)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gym_sokoban", None)
    with pytest.raises(ImportError, match=r"'gym_sokoban'.*pip install 'tape-planner\[sokoban\]'"):
        gym_sokoban_bridge._environment_class()
