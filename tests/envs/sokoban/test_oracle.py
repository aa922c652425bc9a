from __future__ import annotations

import itertools
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban import oracle
from envs.sokoban.errors import OracleLimitError, SokobanError
from envs.sokoban.generator import generate
from envs.sokoban.oracle import Oracle, cost_to_go, oracle_for, solve
from envs.sokoban.push_search import FORBIDDEN, PushSearch, min_assignment
from envs.sokoban.state import Level, State, is_solved, replay, step
from envs.sokoban.table import CostToGo
from tests.envs.sokoban.helpers import PlainGame, level_of, levels, random_level
from tests.profiles import examples

FOUR = level_of("""
##########
#   #    #
# $ . $  #
#  .##.  #
# $  . $ #
#   @    #
##########
""")


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer by search even where a table would do."""
    monkeypatch.setattr(oracle, "TABLE_ENTRIES", 0)


def check_against_plain_search(level: Level, asked: Oracle) -> None:
    expected = PlainGame(level).shortest(level.start)
    moves = asked.solve(level.start)
    assert (None if moves is None else len(moves)) == expected
    if moves is not None:
        states = replay(level, moves)
        assert is_solved(level, states[-1])
        assert all(before != after for before, after in itertools.pairwise(states))
    assert asked.cost_to_go(level.start) == expected
    for remaining in (0, expected or 5, (expected or 5) - 1):
        assert asked.viable(level.start, remaining) is (expected is not None and expected <= remaining)


@pytest.mark.parametrize("tables", [True, False])
@examples(60)
@given(levels(max_side=6, max_boxes=3))
def test_answers_agree_with_plain_search(tables: bool, level: Level) -> None:
    asked = Oracle(level)
    if not tables:
        asked._table = lambda boxes: None  # type: ignore[method-assign]
    check_against_plain_search(level, asked)


@examples(80)
@given(levels(max_side=6, max_boxes=3))
def test_the_bound_never_exceeds_the_cost_and_falls_by_at_most_one(level: Level) -> None:
    search, game = PushSearch(level), PlainGame(level)
    bound, cost = search.bound(level.start), game.shortest(level.start)
    if cost is None:
        return
    assert bound is not None
    assert bound <= cost
    for action in "UDLR":
        after = step(level, level.start, action)
        later = None if after is None else search.bound(after)
        if later is not None:
            assert later >= bound - 1


@examples(200)
@given(st.integers(2, 4), st.integers(-1, 2), st.data())
def test_the_assignment_is_the_cheapest_permutation(rows: int, spare: int, data: st.DataObject) -> None:
    cost = st.one_of(st.integers(0, 9), st.just(FORBIDDEN))
    costs = [[data.draw(cost) for _ in range(rows + spare)] for _ in range(rows)]
    ways = itertools.permutations(range(rows + spare), rows)
    best = min((sum(costs[i][j] for i, j in enumerate(chosen)) for chosen in ways), default=FORBIDDEN)
    assert min_assignment(costs) == (None if best >= FORBIDDEN else best)


@pytest.mark.parametrize(
    "drawing",
    [
        # A dead corner; two boxes side by side along a wall; a square of four; a box behind a frozen one.
        "######\n#$  .#\n# @  #\n######",
        "#######\n# $$ .#\n#  @ .#\n#######",
        "#########\n#   @   #\n# .$$.  #\n# .$$.  #\n#       #\n#########",
        "########\n#   @  #\n#. *$  #\n########",
    ],
)
def test_deadlocks_by_hand(drawing: str, no_tables: None) -> None:
    level = level_of(drawing)
    assert PlainGame(level).shortest(level.start) is None
    assert cost_to_go(level, level.start) is None
    assert PushSearch(level).bound(level.start) is None, "no search should be needed"


def test_frozen_boxes_on_their_goals_are_no_deadlock(no_tables: None) -> None:
    level = level_of("""
    #######
    #**   #
    #**@$.#
    #     #
    #######
    """)
    assert cost_to_go(level, level.start) == 1
    assert solve(level) == ["R"]


def test_solved_levels_cost_nothing(no_tables: None) -> None:
    level = level_of("####\n#@*#\n####")
    assert solve(level) == []
    assert cost_to_go(level, level.start) == 0
    assert [Oracle(level).viable(level.start, remaining) for remaining in (0, -1)] == [True, False]


@pytest.mark.parametrize("entries", [0, oracle.TABLE_ENTRIES])
def test_boxes_out_of_reach_count_only_if_off_their_goal(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "TABLE_ENTRIES", entries)
    level = level_of("#########\n#@$.# * #\n#########")
    oracle._shared.cache_clear()
    assert solve(level) == ["R"]
    stuck = State(level.start.player, (level.start.boxes[0], level.start.boxes[1] + 1))
    assert solve(level, stuck) is None
    assert cost_to_go(level, stuck) is None


def test_more_goals_than_boxes_is_fine_and_fewer_is_not(no_tables: None) -> None:
    level = level_of("########\n#@$ .. #\n#  $   #\n########")
    state = State(level.start.player, level.start.boxes[:1])
    assert cost_to_go(level, state) == 2
    three = State(level.start.player, (*level.start.boxes, level.start.boxes[1] + 1))
    assert cost_to_go(level, three) is None


def test_four_boxes_agree_with_plain_search() -> None:
    # A small room, so that searching move by move ends.
    rng = random.Random(2)
    solvable = 0
    for _ in range(60):
        level = random_level(rng, low=6, high=6, max_boxes=1, walls=0.05)
        goals = tuple(sorted(rng.sample(level.floor, 4)))
        empty = Level(6, 6, level.walls, goals, State(level.start.player, ()))
        alive = [cell for cell in level.floor if cell not in empty.dead_squares and cell != level.start.player]
        crowded = empty.with_start(State(level.start.player, tuple(sorted(rng.sample(alive, min(4, len(alive)))))))
        expected = PlainGame(crowded).shortest(crowded.start)
        assert cost_to_go(crowded, crowded.start) == expected
        solvable += expected is not None
    assert solvable >= 10


def test_the_limit_is_an_error_and_never_an_answer(no_tables: None) -> None:
    fresh = Oracle(FOUR)
    for ask in (fresh.solve, fresh.cost_to_go):
        with pytest.raises(OracleLimitError, match="within 5 states") as caught:
            ask(FOUR.start, max_states=5)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.level, error.state, error.max_states) == (FOUR, FOUR.start, 5)
    with pytest.raises(OracleLimitError):
        fresh.viable(FOUR.start, 60, max_states=5)
    assert fresh.solve(FOUR.start) is not None


def test_too_short_a_budget_is_not_taken_for_a_deadlock(no_tables: None) -> None:
    best, fresh = cost_to_go(FOUR, FOUR.start), Oracle(FOUR)
    assert best is not None
    assert not fresh.viable(FOUR.start, best - 1)
    assert fresh.viable(FOUR.start, best)
    assert fresh.cost_to_go(FOUR.start) == best


def test_states_that_cannot_be_are_refused() -> None:
    level = level_of("#######\n#@$. ##\n#######")
    player, box = level.start.player, level.start.boxes[0]
    for state in (State(0, (box,)), State(box, (box,)), State(player, (0,)), State(player, (box, box))):
        with pytest.raises(SokobanError):
            cost_to_go(level, state)


def test_levels_of_one_board_share_their_oracle() -> None:
    moved = FOUR.with_start(State(FOUR.start.player + 1, FOUR.start.boxes), "another")
    assert oracle_for(moved) is oracle_for(FOUR)
    assert oracle_for(level_of("#####\n#@$.#\n#####")) is not oracle_for(FOUR)


def test_forgetting_changes_no_answer(no_tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = solve(FOUR)
    monkeypatch.setattr(oracle, "_KNOWN", 1)
    fresh = Oracle(FOUR)
    other = replay(FOUR, ["L", "L", "U"])[-1]
    for _ in range(2):
        assert fresh.solve(FOUR.start) == expected
        assert fresh.solve(other) is not None


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
