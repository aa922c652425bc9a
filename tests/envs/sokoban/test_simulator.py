from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.simulator import is_push, is_solved, legal_actions, replay, step
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.xsb import draw
from tests.envs.sokoban.helpers import PlainGame, level_of, levels, random_level
from tests.profiles import examples

LEVEL = level_of("""
########
#@$ $$ #
# #    #
# .. . #
########
""")


def after(actions: str) -> str:
    return draw(LEVEL, replay(LEVEL, list(actions))[-1])


def test_a_wall_blocks() -> None:
    assert step(LEVEL, LEVEL.start, "U") is None
    assert step(LEVEL, LEVEL.start, "L") is None


def test_a_free_cell_is_walked_onto() -> None:
    moved = step(LEVEL, LEVEL.start, "D")
    assert moved == State(LEVEL.start.player + LEVEL.cols, LEVEL.start.boxes)


def test_a_box_is_pushed_and_kept_in_order() -> None:
    assert after("R").splitlines()[1] == "# @$$$ #"
    assert is_push(LEVEL, LEVEL.start, "R")
    assert not is_push(LEVEL, LEVEL.start, "D")
    moved = step(LEVEL, LEVEL.start, "R")
    assert moved is not None
    assert moved.boxes == tuple(sorted(moved.boxes))


def test_two_boxes_in_a_row_do_not_move() -> None:
    state = replay(LEVEL, ["R"])[-1]
    assert step(LEVEL, state, "R") is None
    assert not is_push(LEVEL, state, "R")


def test_a_box_against_a_wall_does_not_move() -> None:
    level = level_of("""
    #####
    #.@$#
    #####
    """)
    assert step(level, level.start, "R") is None
    assert legal_actions(level, level.start) == ("L",)


def test_boxes_can_pass_each_other_in_order() -> None:
    level = level_of("""
    #######
    #  $ .#
    #@$  .#
    #######
    """)
    states = replay(level, ["R", "R"])
    assert draw(level, states[-1]).splitlines() == ["#######", "#  $ .#", "#  @$.#", "#######"]


def test_solved_needs_every_box_on_a_goal() -> None:
    level = level_of("""
    ########
    #@$ .*.#
    #  $   #
    ########
    """)
    assert not is_solved(level, level.start)
    assert is_solved(level, State(level.start.player, level.goals))


def test_replay_repeats_the_state_where_an_action_is_invalid() -> None:
    states = replay(LEVEL, ["U", "D"])
    assert states[0] == states[1] == LEVEL.start
    assert len(states) == 3


def test_an_unknown_action_is_an_error() -> None:
    with pytest.raises(KeyError):
        step(LEVEL, LEVEL.start, "X")


@examples(150)
@given(levels(max_side=7, max_boxes=4), st.lists(st.sampled_from(ACTIONS), max_size=40))
def test_every_step_agrees_with_the_plain_rules(level: Level, actions: list[str]) -> None:
    game, state = PlainGame(level), level.start
    for action in actions:
        expected = game.move(*game.read(state), action)
        moved = step(level, state, action)
        assert (None if moved is None else game.read(moved)) == expected
        assert (action in legal_actions(level, state)) == (moved is not None)
        state = moved or state
        assert state.boxes == tuple(sorted(set(state.boxes)))
        assert is_solved(level, state) == (game.read(state)[1] <= game.goals)


def test_states_stay_on_the_floor() -> None:
    rng = random.Random(3)
    for _ in range(20):
        level = random_level(rng)
        for state in replay(level, rng.choices(ACTIONS, k=100)):
            assert {state.player, *state.boxes} <= set(level.floor)
            assert len({state.player, *state.boxes}) == 1 + len(level.start.boxes)
