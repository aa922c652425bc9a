"""The public Boxoban levels, where the optional data is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envs.sokoban.oracle import solve
from envs.sokoban.simulator import is_solved, replay
from envs.sokoban.xsb import dumps, load, parse
from tests.profiles import parts

_DATA = os.environ.get("TAPE_TEST_DATA", "")
pytestmark = pytest.mark.skipif(not _DATA, reason="TAPE_TEST_DATA is not set")
_FILES = sorted(Path(_DATA, "sokoban").glob("*.txt")) if _DATA else []


def test_the_data_is_there() -> None:
    assert _FILES, f"no levels in {_DATA}/sokoban"


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_all_levels_parse_and_round_trip(path: Path) -> None:
    levels = load(path)
    assert [level.title for level in levels] == [str(n) for n in range(1000)]
    assert {(level.rows, level.cols) for level in levels} == {(10, 10)}
    assert {(len(level.start.boxes), len(level.goals)) for level in levels} == {(4, 4)}
    text = dumps(levels)
    again = parse(text)
    assert again == levels
    assert [level.title for level in again] == [level.title for level in levels]
    assert text.split() == path.read_text(encoding="utf-8").split()


@parts(4)
@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_the_oracle_solves_the_first_ones(path: Path, part: slice) -> None:
    for level in load(path)[:10][part]:
        moves = solve(level, max_states=500_000)
        assert moves is not None
        assert is_solved(level, replay(level, moves)[-1])
