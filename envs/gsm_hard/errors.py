"""The errors of the arithmetic package."""

from __future__ import annotations

from tape.errors import TapeError


class GsmHardError(TapeError, ValueError):
    """Anything wrong with a problem, a call or a request about one."""


class ArithmeticToolError(GsmHardError):
    """A calculation that has no finite real result; the message names the operation and its numbers."""


class TooManyNumbersError(GsmHardError):
    """A text with more numbers than a compact text has places for."""


class ArgumentError(GsmHardError):
    """An argument of a call that is no number of the text, no constant and no earlier result."""


class DataError(GsmHardError):
    """A file of problems that cannot be read.

    Attributes:
        file: The file.
        line: Line number from 1; None where the whole file is meant.
        field: The field, or an empty string where the whole line is meant.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, line: int | None, field: str, problem: str) -> None:
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: field {field!r}: {problem}" if field else f"{where}: {problem}")
        self.file, self.line, self.field, self.problem = file, line, field, problem

    def __reduce__(self) -> tuple[type[DataError], tuple[str, int | None, str, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.line, self.field, self.problem)
