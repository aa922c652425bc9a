"""Boards, their rules and their predicates against plain code that they were not written from."""

from __future__ import annotations

import contextlib
import io
import pickle
import random
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.predicates import cell, clear
from envs.sokoban.state import ACTIONS, Level, State, is_held_out, is_push, is_solved, replay, step
from tape.errors import ConfigError
from tape.protocols.predicates import Assignment, Predicate, QueryMacro
from tests.envs.sokoban.helpers import PlainGame, level_of, levels, random_level, scatter
from tests.profiles import examples


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
    for square in level.floor:
        players = [player for player in level.floor if player != square]
        solvable = any(game.shortest(State(player, (square,))) is not None for player in players)
        # Dead squares ignore how the player gets around the box, so only one direction is a proof.
        if square in level.dead_squares:
            assert not solvable
        if solvable:
            assert square not in level.dead_squares


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


ROOM = level_of("########\n#@$ $$ #\n# #    #\n# .. . #\n########")


def holds(known: Assignment, needed: Assignment) -> bool:
    return all(known[predicate] == value for predicate, value in needed.items())


def truth(level: Level, state: State) -> dict[Predicate, bool]:
    """Every predicate by its meaning, with the tests' own copy of the rules."""
    game = PlainGame(level)
    player, boxes = game.read(state)
    flags = {}
    for at in product(range(level.rows), range(level.cols)):
        flags[cell("player_at", at)] = player == at
        flags[cell("box_at", at)] = at in boxes
        flags[cell("floor", at)] = at in game.free
    return flags | {Predicate("clear", (a,)): game.move(player, boxes, a) is not None for a in ACTIONS}


def check(level: Level, state: State) -> None:
    domain = SokobanDomain(level)
    known = domain.ground(state)
    assert known == truth(level, state)
    assert any(holds(known, goal) for goal in domain.goals()) == is_solved(level, state)
    for action in ACTIONS:
        after = step(level, state, action)
        assert holds(known, domain.preconditions(action)) == (after is not None)
        if after is not None:
            effects = domain.effects(action, known)
            assert None not in effects.values()
            assert {**known, **effects} == domain.ground(after)
    for rule in domain.rules():
        assert rule(known).items() <= known.items()


@examples(40)
@given(levels(max_side=7, max_boxes=4), st.lists(st.sampled_from(ACTIONS), max_size=20))
def test_what_is_declared_is_what_happens(level: Level, actions: list[str]) -> None:
    check(level, replay(level, actions)[-1])


@examples(40)
@given(levels(max_side=5), st.randoms(use_true_random=False), st.sampled_from(ACTIONS), st.floats(0, 1))
def test_with_little_known_nothing_inferred_is_false(
    level: Level, rng: random.Random, action: str, share: float
) -> None:
    domain, state = SokobanDomain(level), level.start
    after = step(level, state, action)
    whole = domain.ground(state)
    kept = sorted(p for p in whole if p.name != "clear")
    known = {p: whole[p] for p in kept if rng.random() < share}
    for rule in domain.rules():
        assert rule(known).items() <= whole.items()
    if after is not None:
        changes = domain.effects(action, known)
        then = domain.ground(after)
        assert all(value is None or then[predicate] == value for predicate, value in changes.items())
        # What it does not name stays as it was.
        assert all(whole[predicate] == then[predicate] for predicate in whole if predicate not in changes)


def test_effects_are_unknown_where_a_box_may_have_been_pushed() -> None:
    domain = SokobanDomain(ROOM)
    known = dict(domain.ground(ROOM.start))
    del known[cell("box_at", (1, 2))]
    effects = domain.effects("R", known)
    assert effects[cell("box_at", (1, 3))] is None
    assert effects[cell("box_at", (1, 2))] is False
    assert effects[cell("player_at", (1, 2))] is True
    assert effects[clear("R")] is None
    assert effects[clear("U")] is False
    assert set(domain.effects("R", {}).values()) == {None}


def test_the_domain_declares_predicates_and_all_are_seen() -> None:
    domain = SokobanDomain(ROOM)
    assert domain.predicates is domain
    assert domain.query(ROOM.start, clear("U")) == QueryMacro(clear("U"), ())
    assert domain.query(ROOM.start, Predicate("open", ("door",))) is None
    assert str(cell("box_at", (1, 2))) == "box_at((1,2))"
    assert domain.preconditions("R") == {clear("R"): True}
    for call in (domain.preconditions, lambda action: domain.effects(action, {})):
        with pytest.raises(ConfigError, match="no action 'X'"):
            call("X")


@examples(40)
@given(levels(max_side=6))
def test_establishing_actions_lead_there_and_move_no_box(level: Level) -> None:
    domain = SokobanDomain(level)
    for target in level.floor:
        bridge = domain.establishing(level.start, cell("player_at", divmod(target, level.cols)), True)
        if bridge is not None:
            states = replay(level, list(bridge))
            assert states[-1] == State(target, level.start.boxes)
            assert len(set(states)) == len(states)
        elif target not in level.start.boxes:
            # Only boxes are in the way.
            assert target != level.start.player
    assert domain.establishing(level.start, cell("player_at", divmod(level.start.player, level.cols)), False) is None
    assert domain.establishing(level.start, cell("box_at", divmod(level.start.boxes[0], level.cols)), True) is None


def test_more_goals_than_boxes_are_a_goal_too() -> None:
    level = Level(ROOM.rows, ROOM.cols, ROOM.walls, ROOM.goals, State(9, (ROOM.goals[0], ROOM.goals[1])))
    check(level, level.start)
    check(level, State(9, (10, ROOM.goals[1])))
    assert is_solved(level, level.start)
