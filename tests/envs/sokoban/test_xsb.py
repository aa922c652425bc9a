from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban import level_sets
from envs.sokoban.errors import SokobanError, XsbError
from envs.sokoban.oracle import MAX_STATES, solve
from envs.sokoban.plugin import PLUGIN
from envs.sokoban.state import Level, State, is_solved, replay
from envs.sokoban.xsb import draw, dumps, load, parse, write
from tests.envs.sokoban.helpers import levels, random_level
from tests.profiles import examples, parts

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
