"""The errors of the question answering package."""

from __future__ import annotations

from tape.errors import TapeError


class MusiqueError(TapeError, ValueError):
    """Anything wrong with a question, a corpus or a request about one."""


class QuestionFileError(MusiqueError):
    """A file of questions or passages that cannot be read.

    Attributes:
        file: The file.
        line: Line number from 1; None where the whole file is meant.
        field: The field of that line; None where the whole line is meant.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, line: int | None, field: str | None, problem: str) -> None:
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {problem}" if field is None else f"{where}: field {field!r}: {problem}")
        self.file, self.line, self.field, self.problem = file, line, field, problem

    def __reduce__(self) -> tuple[type[QuestionFileError], tuple[str, int | None, str | None, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.line, self.field, self.problem)


class TooManyEntitiesError(MusiqueError):
    """A text names more entities than there are slots for."""
