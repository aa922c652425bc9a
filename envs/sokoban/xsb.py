"""The XSB text format of Sokoban levels: reading and writing collections.

====  ======================  ====  =================
char  cell                    char  cell
====  ======================  ====  =================
``#`` wall                    ``.`` goal
``@`` player                  ``+`` player on a goal
``$`` box                     ``*`` box on a goal
====  ======================  ====  =================

A space, ``-`` or ``_`` is floor, or the void around the board. Levels are separated by blank lines.
A line that starts with ``;`` is the title of the next board if it stands directly before it, or
before it with only blank lines between and not directly below another board; any other ``;`` line is
a comment. Short rows are padded and the void around a board is trimmed. Of a title, white space is
collapsed, what cannot be printed is shown as an escape, and at most :data:`MOST_TITLE` characters are kept.

Every level that is read could be played: one player, enclosed by walls, as many boxes as goals, and
no box or goal that the player can never reach (a box already on a goal may be anywhere). Solved
levels are allowed. Whether a level can be *solved* is not asked here, see
:func:`envs.sokoban.level_sets.optimal_length`.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from envs.data_files import located_problem
from envs.sokoban.errors import XsbError
from envs.sokoban.state import Level, State
from tape.errors import DataError
from tape.reading import read_text

MOST_CELLS = 10_000
"""Most cells of a board, its void included; the largest of well-known collections have 2,000."""
MOST_LEVELS = 100_000
"""Most levels of a collection."""
MOST_TITLE = 100
"""Most characters of a title."""

_FLOOR = " -_"
_CELLS = "#@+$*." + _FLOOR


def parse(text: str, source: str = "<text>") -> list[Level]:
    """Read all levels of a text.

    Returns:
        The levels in their order; at least one.

    Raises:
        XsbError: The text is not XSB, or a level could not be played; carries file, line and problem.
    """
    levels: list[Level] = []
    board: list[tuple[int, str]] = []
    title = ""
    below_board = False  # the line above belongs to a board, or to a comment that hangs on one

    def finish() -> None:
        nonlocal title
        if board:
            if len(levels) == MOST_LEVELS:
                problem = f"more than {MOST_LEVELS} levels; divide the collection"
                raise XsbError(source, board[0][0], problem)
            levels.append(_level(board, title, source))
            board.clear()
            title = ""

    # Not splitlines(): it also breaks at form feeds and the like, and line numbers would be off.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.removesuffix("\r")
        if line.startswith(";"):
            below_board = below_board or bool(board)
            finish()
            title = _title(line[1:])
        elif not line.strip(" "):
            finish()
            if below_board:
                title = ""
            below_board = False
        else:
            _check_characters(line, number, source)
            below_board = False
            board.append((number, line))
    finish()
    if not levels:
        problem = "there is no level in it; a level is drawn with the characters # @ + $ * . and space"
        raise XsbError(source, None, problem)
    return levels


def load(path: str | PathLike[str]) -> list[Level]:
    """Read all levels of a UTF-8 file.

    Raises:
        XsbError: The file cannot be read, or see :func:`parse`.
    """
    if not Path(path).exists():
        raise XsbError(str(path), None, "there is no such file")
    try:
        text = read_text(Path(path))
    except DataError as error:
        line, problem = located_problem(error, str(path))
        raise XsbError(str(path), line, f"{problem}; give a text file in UTF-8") from None
    return parse(text, str(path))


def draw(level: Level, state: State | None = None) -> str:
    """Draw one state of a level (its start by default) as rows of XSB characters, without a title."""
    player, boxes = level.start if state is None else state
    rows = []
    for row in range(level.rows):
        cells = range(row * level.cols, (row + 1) * level.cols)
        line = "".join(_character(level, cell, player, boxes) for cell in cells).rstrip()
        # An empty line would end the board: a row of void keeps one visible floor character.
        rows.append(line or "-")
    return "\n".join(rows)


def dumps(levels: Iterable[Level]) -> str:
    """Write levels as text that :func:`parse` reads back as equal levels, titles included.

    That holds for every level that :func:`parse` can return. Titles are as they are read.
    """
    blocks = []
    for level in levels:
        title = _title(level.title)
        blocks.append((f"; {title}\n" if title else "") + f"{draw(level)}\n")
    return "\n".join(blocks)


def write(path: str | PathLike[str], levels: Iterable[Level]) -> None:
    """Write levels to a UTF-8 file with Unix line ends.

    Raises:
        OSError: The file cannot be written.
    """
    Path(path).write_text(dumps(levels), encoding="utf-8", newline="\n")


def _character(level: Level, cell: int, player: int, boxes: tuple[int, ...]) -> str:
    if cell in level.walls:
        return "#"
    goal = cell in level.goals
    if cell == player:
        return "+" if goal else "@"
    if cell in boxes:
        return "*" if goal else "$"
    return "." if goal else " "


def _title(text: str) -> str:
    """A title that can be shown and written anywhere."""
    shown = "".join(
        # Joiners are no characters of their own, but Persian, Hindi and many emoji are spelt with them.
        each if each.isprintable() or each in "\u200c\u200d" else each.encode("unicode_escape").decode()
        for each in " ".join(text.split())
    )
    return shown if len(shown) <= MOST_TITLE else f"{shown[: MOST_TITLE - 3]}..."


def _check_characters(line: str, number: int, source: str) -> None:
    for column, character in enumerate(line, start=1):
        if character == "\t":
            raise XsbError(source, number, f"tab in column {column}; tabs have no fixed width, use spaces")
        if character not in _CELLS:
            problem = f"unknown character {character!r} in column {column}; a board has only # @ + $ * . - _ and space"
            raise XsbError(source, number, problem)


def _level(board: list[tuple[int, str]], title: str, source: str) -> Level:
    numbers, lines = _trim(board)
    cols = max(map(len, lines))
    if len(lines) * cols > MOST_CELLS:
        problem = f"the level that starts here has {len(lines)} rows of {cols} cells; the most is {MOST_CELLS} cells"
        raise XsbError(source, board[0][0], problem)
    walls, goals, boxes, players = set(), [], [], []
    for row, line in enumerate(lines):
        for col, character in enumerate(line):
            cell = row * cols + col
            if character == "#":
                walls.add(cell)
            if character in ".+*":
                goals.append(cell)
            if character in "$*":
                boxes.append(cell)
            if character in "@+":
                players.append(cell)
    first = board[0][0]
    if not players:
        raise XsbError(source, first, "the level that starts here has no player; mark it with @, or + on a goal")
    if len(players) > 1:
        problem = f"a second player; the first is on line {numbers[players[0] // cols]}, keep one"
        raise XsbError(source, numbers[players[1] // cols], problem)
    if not boxes:
        raise XsbError(source, first, "the level that starts here has no boxes; mark them with $, or * on a goal")
    if len(boxes) != len(goals):
        more = "more boxes than goals cannot be solved" if len(boxes) > len(goals) else "fewer boxes than goals"
        problem = f"the level that starts here has {len(boxes)} boxes and {len(goals)} goals ({more}); make them equal"
        raise XsbError(source, first, problem)
    start = State(players[0], tuple(boxes))
    level = Level(len(lines), cols, frozenset(walls), tuple(goals), start, title, (source, first))
    _check_reach(level, numbers, source)
    return level


def _trim(board: list[tuple[int, str]]) -> tuple[list[int], list[str]]:
    """Cut the void around a board, so that how far a level is indented makes no difference."""
    rows = [(number, line.replace("-", " ").replace("_", " ").rstrip()) for number, line in board]
    while rows and not rows[0][1]:
        rows.pop(0)
    while rows and not rows[-1][1]:
        rows.pop()
    if not rows:
        rows = [(board[0][0], " ")]
    indent = min((len(line) - len(line.lstrip()) for _, line in rows if line), default=0)
    return [number for number, _ in rows], [line[indent:] for _, line in rows]


def _check_reach(level: Level, numbers: list[int], source: str) -> None:
    floor = set(level.floor)
    for cell in level.floor:
        row, col = divmod(cell, level.cols)
        if row in (0, level.rows - 1) or col in (0, level.cols - 1):
            where = f"in column {col + 1} (counted without indentation)"
            raise XsbError(source, numbers[row], f"the player can walk off the board {where}; close the wall")
    for cell in level.start.boxes:
        if cell not in floor and cell not in level.goals:
            problem = "a box off its goal that the player can never reach, so the level cannot be solved; open the wall"
            raise XsbError(source, numbers[cell // level.cols], problem)
    for cell in level.goals:
        if cell not in floor and cell not in level.start.boxes:
            problem = "a goal that no box can ever reach, so the level cannot be solved; open the wall or move the goal"
            raise XsbError(source, numbers[cell // level.cols], problem)
