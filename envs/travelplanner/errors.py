"""The errors of the trip package."""

from __future__ import annotations

from tape.errors import TapeError


class TravelError(TapeError, ValueError):
    """Anything wrong with a query, an offer or a request about one."""


class DataError(TravelError):
    """A file of queries or offers that cannot be read.

    Attributes:
        file: The file.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file, self.problem = file, problem

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.problem)
