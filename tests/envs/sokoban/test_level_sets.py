"""Levels as text, generated levels, and the sets that ship."""

from __future__ import annotations

import os
import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envs.sokoban import level_sets
from envs.sokoban.errors import SokobanError, XsbError
from envs.sokoban.generator import generate
from envs.sokoban.level_sets import load_set, names, optimal_length
from envs.sokoban.make_levels import KINDS, make_sets
from envs.sokoban.oracle import MAX_STATES, solve
from envs.sokoban.plugin import PLUGIN
from envs.sokoban.state import Level, State, is_held_out, is_solved, replay
from envs.sokoban.xsb import draw, dumps, load, parse, write
from tests.envs.sokoban.helpers import PlainGame, level_of, levels, random_level
from tests.profiles import examples, parts

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


SIMPLE = "#####\n#@$.#\n#####\n"


def test_a_level_is_read_cell_by_cell() -> None:
    [level] = parse("; first\n######\n#+$ *#\n######\n")
    assert (level.rows, level.cols, level.title) == (3, 6, "first")
    assert level.start == State(7, (8, 10))
    assert level.goals == (7, 10)
    assert level.walls == {*range(7), 11, *range(12, 18)}


def test_floor_aliases_and_line_ends() -> None:
    [plain] = parse("######\n#@ $.#\n######\n")
    for other in ("######\r\n#@ $.#\r\n######\r\n", "######\n#@-$.#\n######", "######\n#@_$.#\n######\n\n\n"):
        assert parse(other) == [plain]
    assert parse("\ufeff" + SIMPLE) == parse(SIMPLE)


def test_titles_stand_before_their_board() -> None:
    text = f"{SIMPLE}\n; two\n{SIMPLE}\n; a comment\n; three\n\n{SIMPLE}; below a board\n\n{SIMPLE}; five\n{SIMPLE}"
    assert [level.title for level in parse(text)] == ["", "two", "three", "", "five"]


def test_ragged_rows_and_the_void_around_a_board() -> None:
    text = "  ####\n###  ####\n#     $ #\n# #  #$ #\n# . .#@ #\n#########"
    [level] = parse(text)
    assert (level.rows, level.cols) == (6, 9)
    assert not {0, 1, 6, 7, 8} & set(level.floor)
    assert draw(level) == text
    indented = "\n".join("    " + line + "   " for line in text.splitlines())
    assert parse(indented) == [level]
    assert parse(indented.replace(" ", "-")) == [level]


@pytest.mark.parametrize(
    "board",
    [
        "#########\n#@$.# * #\n#########",  # a box on its goal that is out of reach
        "#####\n#@$.#\n#####\n-\n###",  # an empty row
        "######\n#@$ ##\n###.##\n######",  # no solution
        "####\n#@*#\n####",  # solved
    ],
)
def test_these_boards_are_read(board: str) -> None:
    [level] = parse(board)
    assert draw(level) == board
    assert parse(dumps([level])) == [level]


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("", None, "no level"), ("\n\n; only a title\n", None, "no level"),
        ("#####\n#@x.#\n#####", 2, "'x' in column 3"), ("#####\n#@$.#\n\t####", 3, "tab in column 1"),
        ("\n; t\n#####\n# $.#\n#####", 3, "no player"),
        ("#####\n#@$.#\n#@  #\n#####", 3, "second player; the first is on line 2"),
        ("######\n#@$.+#\n######", 2, "second player"), ("#####\n#@ .#\n#####", 1, "no boxes"),
        ("#####\n#@  #\n#####", 1, "no boxes"),
        ("######\n#@$$.#\n######", 1, "2 boxes and 1 goals \\(more boxes than goals"),
        ("######\n#@$..#\n######", 1, "1 boxes and 2 goals \\(fewer boxes than goals"),
        ("#####\n#@$.\n#####", 2, "walk off the board"), ("## ##\n#@$.#\n#####", 1, "walk off the board"),
        ("@$.", 1, "walk off the board"), ("#####\n#@$.#\n### ", 3, "walk off the board"),
        ("#######\n#@ .#$#\n#######", 2, "a box off its goal that the player can never reach"),
        ("#######\n#@$ #.#\n#######", 2, "a goal that no box can ever reach"),
        (f"{SIMPLE}\n{SIMPLE}\n#####\n#@ .#\n#####", 9, "no boxes"), ("---\n", 1, "no player"),
    ],
)  # fmt: skip
def test_errors_carry_file_and_line(text: str, line: int | None, named: str) -> None:
    with pytest.raises(XsbError, match=named) as caught:
        parse(text, "mine.xsb")
    assert (caught.value.file, caught.value.line) == ("mine.xsb", line)
    assert str(caught.value).startswith("mine.xsb: " if line is None else f"mine.xsb:{line}: ")
    assert isinstance(caught.value, SokobanError)


def test_errors_of_files(tmp_path: Path) -> None:
    with pytest.raises(XsbError, match="no such file"):
        load(tmp_path / "missing.xsb")
    with pytest.raises(XsbError, match="is a folder"):
        load(tmp_path)
    broken = tmp_path / "latin.xsb"
    broken.write_bytes(b"; one\n; caf\xe9\n#####\n#@$.#\n#####\n")
    with pytest.raises(XsbError, match="byte 0xe9 in line 2") as caught:
        load(broken)
    assert (caught.value.file, caught.value.line) == (str(broken), 2)


def test_errors_survive_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(XsbError("a.xsb", 3, "wrong")))
    assert (str(error), error.file, error.line, error.problem) == ("a.xsb:3: wrong", "a.xsb", 3, "wrong")


def test_write_and_load(tmp_path: Path) -> None:
    path = tmp_path / "made.xsb"
    made = [level.with_start(level.start, f"T*={n} caf\u00e9") for n, level in enumerate(parse(SIMPLE) * 3)]
    write(path, made)
    assert load(path) == made
    assert [level.title for level in load(path)] == [level.title for level in made]
    assert b"\r" not in path.read_bytes()


def test_a_title_cannot_break_the_format() -> None:
    [level] = parse(SIMPLE)
    [again] = parse(dumps([level.with_start(level.start, "two\nlines\t; and # more ")]))
    assert again == level
    assert again.title == "two lines ; and # more"


@examples(150)
@given(st.lists(levels(max_side=7, max_boxes=3), min_size=1, max_size=4), st.lists(st.text(max_size=8), max_size=4))
def test_round_trip(made: list[Level], titles: list[str]) -> None:
    named = [level.with_start(level.start, title) for level, title in zip(made, titles, strict=False)]
    named += made[len(named) :]
    once = parse(dumps(named))
    assert once == made
    again = parse(dumps(once))
    assert again == once
    assert [level.title for level in again] == [level.title for level in once]


@examples(400)
@given(
    st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 200), st.sampled_from("#@+$*. -_;\n\r\tx")), max_size=6)
)
def test_damaged_text_is_refused_or_round_trips(seed: int, edits: list[tuple[int, str]]) -> None:
    text = list(dumps([random_level(random.Random(seed), high=7), *parse(SIMPLE)]))
    for place, character in edits:
        text[place % len(text)] = character
    try:
        result = parse("".join(text), "damaged")
    except XsbError as error:
        assert error.file == "damaged"  # noqa: PT017
        assert error.problem  # noqa: PT017
    else:
        assert parse(dumps(result)) == result


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("9" * 6000, "9" * 97 + "..."),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("a\tb\x00", "a b\\x00"),
        ("\x9b2J", "\\x9b2J"),
        *[("\N{MAN}\u200d\N{WOMAN} \u0645\u06cc\u200c\u0634\u0648\u062f",) * 2],  # joiners are part of the spelling
    ],
)
def test_titles_can_be_shown_anywhere(title: str, shown: str) -> None:
    [level] = parse(f"; {title}\n{SIMPLE}")
    assert level.title == shown
    assert [again.title for again in parse(dumps([level]))] == [shown]


def test_giant_boards_are_refused_at_once() -> None:
    row = "#" * 5000
    for text in (f"{row}\n#@$.#\n{row}", "\n".join(["#####", "#@$.#", *["#   #"] * 3000, "#####"])):
        with pytest.raises(XsbError, match=r"big\.xsb:1: .* the most is 10000 cells"):
            parse(text, "big.xsb")


@pytest.mark.parametrize("slack", [-1, 10**7, 10**25, 10**5000], ids=["negative", "large", "larger", "vast"])
def test_an_absurd_slack_is_refused(slack: int) -> None:
    with pytest.raises(SokobanError, match="--slack must be from 0 to"):
        PLUGIN.tasks({"levels": "easy", "slack": slack})


def test_every_level_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "same.xsb"
    path.write_text(f"; 2 x\n{SIMPLE}\n; x\n{SIMPLE}\n; x\n{SIMPLE}\n{SIMPLE}", encoding="utf-8")
    assert [task.id for task in PLUGIN.tasks({"levels": path, "slack": 2})] == ["1 2 x", "2 x", "3 x", "4"]


def test_the_search_of_a_large_board_ends_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(level_sets, "cost_to_go", lambda level, state, most: given.append(most) or 1)
    rows = ["#" * 100, "#@" + "$" * 48 + "." * 48 + " #", *["#" + " " * 98 + "#"] * 97, "#" * 100]
    [large], [small] = parse("\n".join(rows)), parse(SIMPLE)
    assert [level_sets.optimal_length(level) for level in (large, small)] == [1, 1]
    assert given[0] < 5000
    assert given[1] == MAX_STATES


_FILES = sorted(Path(os.environ.get("TAPE_TEST_DATA", "nowhere"), "sokoban").glob("*.txt"))
_SOME = [pytest.param(path, marks=pytest.mark.soak) if number else path for number, path in enumerate(_FILES)]
needs_boxoban = pytest.mark.skipif(not _FILES, reason="the public Boxoban levels are not in TAPE_TEST_DATA")


@needs_boxoban
@pytest.mark.parametrize("path", _SOME, ids=lambda path: path.stem)
def test_all_levels_of_boxoban_parse_and_round_trip(path: Path) -> None:
    result = load(path)
    assert [level.title for level in result] == [str(n) for n in range(1000)]
    assert {(level.rows, level.cols) for level in result} == {(10, 10)}
    assert {(len(level.start.boxes), len(level.goals)) for level in result} == {(4, 4)}
    text = dumps(result)
    assert parse(text) == result
    assert text.split() == path.read_text(encoding="utf-8").split()


@needs_boxoban
@parts(2)
@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_the_oracle_solves_the_first_of_boxoban(path: Path, part: slice) -> None:
    for level in load(path)[:10][part]:
        moves = solve(level, max_states=500_000)
        assert moves is not None
        assert is_solved(level, replay(level, moves)[-1])
