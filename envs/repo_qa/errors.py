"""The errors of questions about sources."""

from __future__ import annotations

from tape.errors import TapeError


class RepoQaError(TapeError, ValueError):
    """Anything wrong with a package, a folder of sources or a request for questions about one."""


class RepoQuestionFileError(RepoQaError):
    """A file of questions that cannot be read.

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

    def __reduce__(self) -> tuple[type[RepoQuestionFileError], tuple[str, int | None, str | None, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.line, self.field, self.problem)


class SkippedFilesWarning(UserWarning):
    """Some source files could not be read and are not part of the corpus."""
