from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import envs
from envs.sokoban.generator import generate
from envs.sokoban.state import is_held_out
from envs.sokoban.xsb import dumps, parse
from tests.envs.sokoban.helpers import PlainGame
from tests.profiles import examples


@pytest.mark.parametrize("length", [1, 4, 6, 10, 16])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_optimal_length_is_exact(seed: int, length: int) -> None:
    level = generate(seed, length)
    assert PlainGame(level).shortest(level.start) == length
    assert level.title == f"seed {seed} T*={length}"


@pytest.mark.parametrize(
    ("boxes", "rows", "cols", "length"),
    [(1, 5, 6, 4), (1, 10, 10, (8, 14)), (2, 7, 9, 9), (2, 9, 8, (5, 9)), (3, 6, 7, (6, 10)), (3, 7, 7, 8)],
)
def test_sizes_and_boxes(boxes: int, rows: int, cols: int, length: int | tuple[int, int]) -> None:
    level = generate(5, length, rows=rows, cols=cols, boxes=boxes)
    low, high = (length, length) if isinstance(length, int) else length
    assert (level.rows, level.cols, len(level.start.boxes), len(level.goals)) == (rows, cols, boxes, boxes)
    shortest = PlainGame(level).shortest(level.start)
    assert shortest is not None
    assert low <= shortest <= high
    if boxes > 1:
        assert not set(level.start.boxes) & set(level.goals)


def test_generated_levels_are_valid_xsb() -> None:
    made = [generate(seed, (3, 9), boxes=1 + seed % 2) for seed in range(6)]
    assert parse(dumps(made)) == made


def test_the_same_seed_gives_the_same_level_in_a_fresh_process() -> None:
    code = "from envs.sokoban.generator import generate; from envs.sokoban.xsb import dumps; "
    code += "print(dumps([generate(7, (5, 9), boxes=2)]), end='')"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(envs.__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {dumps([generate(7, (5, 9), boxes=2)])}


def test_other_seeds_give_other_levels() -> None:
    assert len({generate(seed, 8) for seed in range(20)}) == 20


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
        ({"length": 0}, "length"),
        ({"length": (5, 3)}, "length"),
        ({"length": 5, "rows": 4}, "5x5"),
        ({"length": 5, "boxes": 0}, "boxes"),
        ({"length": 5, "boxes": 4}, "boxes"),
        ({"length": 5, "walls": 0.9}, "walls"),
    ],
)
def test_arguments_out_of_range_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        generate(0, **arguments)
