"""The level sets that ship with the package, and any other collection by its path."""

from __future__ import annotations

from importlib import resources
from os import PathLike
from pathlib import Path

from envs.sokoban import xsb
from envs.sokoban.errors import SokobanError, XsbError
from envs.sokoban.oracle import MAX_STATES, cost_to_go
from envs.sokoban.state import Level

_MOST_WORK = 2_000_000_000
"""States times cells times boxes: some minutes on any board."""

_NAMES = ("easy", "hard", "xhard", "hard-dev", "hard-test", "easy-fresh", "hard-fresh")

TEST_SETS = ("hard-test", "easy-fresh", "hard-fresh")
"""For comparing agents and for nothing else: no agent, prompt or model is ever chosen by how it does on these."""


def names() -> tuple[str, ...]:
    """The names of the shipped sets; ``envs/sokoban/make_levels.py`` describes what is in them."""
    return _NAMES


def load_set(name_or_path: str | PathLike[str]) -> list[Level]:
    """Load a shipped set by name, or an XSB file by path; a name wins over a file called the same.

    Raises:
        SokobanError: It is neither a shipped set nor a file.
        XsbError: The file is not a valid collection (see :func:`envs.sokoban.xsb.parse`).
    """
    if name_or_path in _NAMES:
        file = f"{name_or_path}.xsb"
        text = (resources.files("envs.sokoban") / "levels" / file).read_text(encoding="utf-8")
        return xsb.parse(text, file)
    if not Path(name_or_path).exists():
        raise SokobanError(
            f"{str(name_or_path)!r} is neither a shipped level set ({', '.join(_NAMES)}) nor a file; "
            "give one of these names or the path of an XSB file"
        )
    return xsb.load(name_or_path)


def optimal_length(level: Level, max_states: int = MAX_STATES) -> int:
    """T*, the number of moves of a shortest solution from the start.

    Raises:
        XsbError: The level has no solution; carries the file and line that it was read from.
        OracleLimitError: Nothing was proven within ``max_states`` states.
    """
    # A state of a large board with many boxes takes a thousand times as long as one of an ordinary board.
    most = _MOST_WORK // max(1, level.rows * level.cols * len(level.start.boxes))
    length = cost_to_go(level, level.start, min(max_states, most))
    if length is None:
        file, line = level.origin or (level.title or "(untitled level)", None)
        name = f" {level.title!r}" if level.title else ""
        raise XsbError(file, line, f"the level{name} that starts here has no solution (proven); leave it out")
    return length
