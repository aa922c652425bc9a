"""Levels as values, and the rules of the game against a plain copy of them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.state import ACTIONS, Level, State, is_held_out, is_push, is_solved, replay, step
from tests.envs.sokoban.helpers import PlainGame, level_of, levels
from tests.profiles import examples

LEVEL = level_of("""
########
#@ #   #
# $  #.#
#      #
########
""")


def turned(level: Level, flip: bool) -> Level:
    """The level turned by a quarter, and mirrored before that if asked."""

    def place(cell: int) -> int:
        row, col = divmod(cell, level.cols)
        return (level.cols - 1 - col if flip else col) * level.rows + level.rows - 1 - row

    state = State(place(level.start.player), tuple(sorted(map(place, level.start.boxes))))
    goals = tuple(sorted(map(place, level.goals)))
    return Level(level.cols, level.rows, frozenset(map(place, level.walls)), goals, state)


def images(level: Level) -> list[Level]:
    result = []
    for flip in (False, True):
        image = turned(level, flip)
        for _ in range(4):
            result.append(image)
            image = turned(image, False)
    return result


def test_levels_are_values() -> None:
    again = pickle.loads(pickle.dumps(LEVEL))
    assert again == LEVEL
    assert hash(again) == hash(LEVEL)
    assert len({LEVEL, again, LEVEL.with_start(LEVEL.start, "another title")}) == 1
    moved = LEVEL.with_start(State(10, (12,)))
    assert moved != LEVEL
    assert (moved.title, moved.board_hash) == (LEVEL.title, LEVEL.board_hash)


def test_only_walls_off_the_border_are_inner_walls() -> None:
    assert [LEVEL.coordinate(cell) for cell in LEVEL.inner_walls] == ["(1,3)", "(2,5)"]


@examples(60)
@given(levels(max_side=7))
def test_all_eight_images_share_the_hash_and_the_optimum(level: Level) -> None:
    result = images(level)
    assert {image.board_hash for image in result} == {level.board_hash}
    assert {is_held_out(image) for image in result} == {is_held_out(level)}
    assert {PlainGame(image).shortest(image.start) for image in result[::3]} == {PlainGame(level).shortest(level.start)}


def test_another_goal_or_wall_is_another_board() -> None:
    moved = Level(LEVEL.rows, LEVEL.cols, LEVEL.walls, (LEVEL.goals[0] - 1,), LEVEL.start)
    opened = Level(LEVEL.rows, LEVEL.cols, LEVEL.walls - {LEVEL.inner_walls[0]}, LEVEL.goals, LEVEL.start)
    assert len({LEVEL.board_hash, moved.board_hash, opened.board_hash}) == 3


def test_dead_squares_by_hand() -> None:
    level = level_of("""
    #######
    #@    #
    #  $  #
    #  .  #
    #######
    """)
    # Only the goal's row is safe below, and along walls a box never leaves them.
    expected = {(1, c) for c in range(1, 6)} | {(r, c) for r in (1, 2, 3) for c in (1, 5)}
    assert {divmod(cell, 7) for cell in level.dead_squares} == expected


@examples(80)
@given(levels(max_side=6, max_boxes=2))
def test_a_lone_box_on_a_dead_square_is_never_solved_and_on_others_sometimes(level: Level) -> None:
    game = PlainGame(level)
    for cell in level.floor:
        players = [player for player in level.floor if player != cell]
        solvable = any(game.shortest(State(player, (cell,))) is not None for player in players)
        # Dead squares ignore how the player gets around the box, so only one direction is a proof.
        if cell in level.dead_squares:
            assert not solvable
        if solvable:
            assert cell not in level.dead_squares


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
        assert is_push(level, state, action) == (moved is not None and moved.boxes != state.boxes)
        state = moved or state
        assert state.boxes == tuple(sorted(set(state.boxes)))
        assert is_solved(level, state) == (game.read(state)[1] <= game.goals)
