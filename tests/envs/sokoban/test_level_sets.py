"""Generated levels, and the sets that ship."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envs.sokoban.errors import XsbError
from envs.sokoban.generator import generate
from envs.sokoban.level_sets import load_set, names, optimal_length
from envs.sokoban.make_levels import KINDS, make_sets
from envs.sokoban.state import is_held_out
from tests.envs.sokoban.helpers import PlainGame, level_of
from tests.profiles import examples

UNSOLVABLE = level_of("; hopeless\n######\n#$  .#\n# @  #\n######")


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", names())
def test_every_shipped_level_is_as_its_title_declares(name: str, every: int) -> None:
    levels = load_set(name)
    low, high = KINDS[name].lengths
    assert len(levels) == KINDS[name].size
    digits = max(2, len(str(len(levels) - 1)))
    for number, level in enumerate(levels):
        start, _, length = level.title.rpartition("=")
        assert start == f"{name}-{number:0{digits}d} T*"
        assert low <= int(length) <= high
        if number % every == 0:
            assert PlainGame(level).shortest(level.start) == optimal_length(level) == int(length)
        assert (level.rows, level.cols, len(level.start.boxes)) == (7, 9, 1)
        assert is_held_out(level)


def test_no_board_is_shipped_twice() -> None:
    hashes = [level.board_hash for name in names() for level in load_set(name)]
    assert len(set(hashes)) == len(hashes) == 730


def test_the_shipped_files_begin_as_they_are_made() -> None:
    """So short, sets have a few boards that the whole ones leave out, since another set has them."""
    made = make_sets({name: kind._replace(size=min(kind.size, 6)) for name, kind in KINDS.items()})
    for name in names():
        shipped = [(level.board_hash, level.start) for level in load_set(name)]
        kept = [pair for level in made[name] if (pair := (level.board_hash, level.start)) in shipped]
        assert kept == shipped[: len(kept)]
        assert len(kept) >= 3


def test_an_unsolvable_level_is_named() -> None:
    with pytest.raises(XsbError, match="no solution") as caught:
        optimal_length(UNSOLVABLE)
    assert (caught.value.file, caught.value.line) == UNSOLVABLE.origin
    with pytest.raises(XsbError, match="untitled"):
        optimal_length(replace(UNSOLVABLE, title="", origin=None))


@pytest.mark.parametrize(
    ("boxes", "rows", "cols", "length"),
    [
        *((1, 7, 9, length) for length in (1, 4, 6, 10, 16)), (1, 5, 6, 4), (1, 10, 10, (8, 14)), (2, 7, 9, 9),
        (2, 9, 8, (5, 9)), (3, 6, 7, (6, 10)), (3, 7, 7, 8),
    ],
)  # fmt: skip
def test_sizes_and_boxes(boxes: int, rows: int, cols: int, length: int | tuple[int, int]) -> None:
    low, high = (length, length) if isinstance(length, int) else length
    made = [generate(seed, length, rows=rows, cols=cols, boxes=boxes) for seed in (5, 6)]
    assert len(set(made)) == 2
    for seed, level in enumerate(made, 5):
        assert (level.rows, level.cols, len(level.start.boxes), len(level.goals)) == (rows, cols, boxes, boxes)
        shortest = PlainGame(level).shortest(level.start)
        assert shortest is not None
        assert low <= shortest <= high
        assert level.title == f"seed {seed} T*={shortest}"
        assert boxes == 1 or not set(level.start.boxes) & set(level.goals)


@examples(60)
@given(st.integers(0, 10**9), st.integers(2, 12), st.integers(5, 9), st.integers(6, 9), st.booleans())
def test_evaluation_and_training_boards_never_meet(
    seed: int, length: int, rows: int, cols: int, held_out: bool
) -> None:
    try:
        level = generate(seed, length, rows=rows, cols=cols, held_out=held_out)
    except ValueError:
        assume(False)  # a tiny board may have no such solution
    assert is_held_out(level) is held_out


def test_a_length_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no 5x5 board"):
        generate(0, 50, rows=5, cols=5, attempts=5)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"length": 0}, "length"), ({"length": (5, 3)}, "length"), ({"length": 5, "rows": 4}, "5x5"),
        ({"length": 5, "boxes": 0}, "boxes"), ({"length": 5, "boxes": 4}, "boxes"),
        ({"length": 5, "walls": 0.9}, "walls"),
    ],
)  # fmt: skip
def test_arguments_out_of_range_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        generate(0, **arguments)
