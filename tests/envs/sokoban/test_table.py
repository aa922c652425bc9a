from __future__ import annotations

import pytest
from hypothesis import given

from envs.sokoban.generator import generate
from envs.sokoban.state import Level, State
from envs.sokoban.table import CostToGo
from tests.envs.sokoban.helpers import PlainGame, levels
from tests.profiles import examples


@examples(60)
@given(levels(max_side=6, max_boxes=2))
def test_the_table_agrees_with_plain_search(level: Level) -> None:
    table, game = CostToGo(level), PlainGame(level)
    assert table[level.start] == game.shortest(level.start)
    for player in [cell for cell in level.floor if cell not in level.start.boxes][::3]:
        state = State(player, level.start.boxes)
        assert table[state] == game.shortest(state)


@examples(15)
@given(levels(max_side=5, max_boxes=2))
def test_every_state_of_a_tiny_board_agrees(level: Level) -> None:
    table, game = CostToGo(level), PlainGame(level)
    for flat in range(len(table.distance)):
        if table.is_state(flat):
            state = table.state(flat)
            assert table[state] == game.shortest(state)
            assert table.distance[flat] == (-1 if table[state] is None else table[state])
        else:
            assert table.distance[flat] == -1


def test_a_box_off_the_floor_has_no_way() -> None:
    level = generate(4, 6)
    assert CostToGo(level)[State(level.start.player, (0,))] is None


def test_a_table_too_large_names_the_oracle() -> None:
    level = generate(1, 6, rows=10, cols=10)
    with pytest.raises(ValueError, match="oracle"):
        CostToGo(level, 4)
