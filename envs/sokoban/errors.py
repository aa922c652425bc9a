"""The errors of the Sokoban package."""

from __future__ import annotations

from envs.sokoban.state import Level, State
from tape.errors import TapeError


class SokobanError(TapeError, ValueError):
    """Anything wrong with a level, a state or a request about one."""


class XsbError(SokobanError):
    """A level that cannot be read, or cannot be played.

    Attributes:
        file: The file, or a name for the text or level where there is no file.
        line: Line number from 1; None where the whole file or level is meant.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, line: int | None, problem: str) -> None:
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem

    def __reduce__(self) -> tuple[type[XsbError], tuple[str, int | None, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.line, self.problem)


class OracleLimitError(SokobanError):
    """The oracle stopped at its state limit: nothing is known about the question that was asked."""

    def __init__(self, level: Level, state: State, max_states: int) -> None:
        boxes = " ".join(map(level.coordinate, state.boxes))
        super().__init__(
            f"{level.rows}x{level.cols} board, player {level.coordinate(state.player)}, boxes {boxes}: no answer "
            f"within {max_states} states, which proves nothing either way; raise max_states"
        )
        self.level = level
        self.state = state
        self.max_states = max_states

    def __reduce__(self) -> tuple[type[OracleLimitError], tuple[Level, State, int]]:
        return type(self), (self.level, self.state, self.max_states)
