from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envs.sokoban.errors import SokobanError, XsbError
from envs.sokoban.level_sets import load_set, names, optimal_length
from envs.sokoban.make_levels import KINDS, main, make_sets
from envs.sokoban.state import is_held_out
from envs.sokoban.xsb import write
from tests.envs.sokoban.helpers import PlainGame, level_of

UNSOLVABLE = level_of("; hopeless\n######\n#$  .#\n# @  #\n######")


@pytest.mark.parametrize("name", names())
def test_every_shipped_level_is_what_its_title_says(name: str) -> None:
    levels = load_set(name)
    low, high = KINDS[name].lengths
    assert len(levels) == KINDS[name].size
    digits = max(2, len(str(len(levels) - 1)))
    for number, level in enumerate(levels):
        length = optimal_length(level)
        assert level.title == f"{name}-{number:0{digits}d} T*={length}"
        assert low <= length <= high
        assert PlainGame(level).shortest(level.start) == length
        assert (level.rows, level.cols, len(level.start.boxes)) == (7, 9, 1)
        assert is_held_out(level)


def test_no_board_is_shipped_twice() -> None:
    hashes = [level.board_hash for name in names() for level in load_set(name)]
    assert len(set(hashes)) == len(hashes) == 730


def test_the_shipped_files_begin_as_they_are_made() -> None:
    """So short, sets have a few boards that the whole ones leave out, since another set has them."""
    made = make_sets({name: kind._replace(size=min(kind.size, 10)) for name, kind in KINDS.items()})
    for name in names():
        shipped = [(level.board_hash, level.start) for level in load_set(name)]
        kept = [found for level in made[name] if (found := (level.board_hash, level.start)) in shipped]
        assert kept == shipped[: len(kept)]
        assert len(kept) >= 5


@pytest.mark.soak
def test_the_shipped_files_can_be_made_again(tmp_path: Path) -> None:
    main([str(tmp_path)])
    for name in names():
        assert (tmp_path / f"{name}.xsb").read_text(encoding="utf-8").count("\n; ") == KINDS[name].size - 1
        assert load_set(tmp_path / f"{name}.xsb") == load_set(name)


def test_a_path_is_loaded_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.xsb"
    write(path, load_set("easy")[:2])
    assert load_set(path) == load_set(str(path)) == load_set("easy")[:2]


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(SokobanError, match=r"'medium' is neither a shipped level set \(easy, hard, .*hard-fresh\)"):
        load_set("medium")


def test_an_unsolvable_level_is_named() -> None:
    with pytest.raises(XsbError, match="no solution") as caught:
        optimal_length(UNSOLVABLE)
    assert (caught.value.file, caught.value.line) == UNSOLVABLE.origin
    with pytest.raises(XsbError, match="untitled"):
        optimal_length(replace(UNSOLVABLE, title="", origin=None))
