from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.simulator import is_push, is_solved, legal_actions, replay, step
from envs.sokoban.state import ACTIONS, Level
from tests.envs.sokoban.helpers import PlainGame, level_of, levels
from tests.profiles import examples

LEVEL = level_of("#####\n#@$.#\n#   #\n#####")


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
        assert is_push(level, state, action) == (moved is not None and moved.boxes != state.boxes)
        state = moved or state
        assert state.boxes == tuple(sorted(set(state.boxes)))
        assert is_solved(level, state) == (game.read(state)[1] <= game.goals)
