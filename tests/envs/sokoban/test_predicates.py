"""Sokoban's predicates against the game itself, which they were not written from."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.predicates import cell, clear
from envs.sokoban.state import ACTIONS, Level, State, is_solved, replay, step
from tape.errors import ConfigError
from tape.protocols.predicates import Assignment, Predicate, QueryMacro
from tests.envs.sokoban.helpers import PlainGame, level_of, levels
from tests.profiles import examples

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
