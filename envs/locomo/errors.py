"""The errors of the package."""

from __future__ import annotations

from tape.errors import TapeError


class LocomoError(TapeError, ValueError):
    """Anything wrong with a conversation, a question or an option."""


class DialogueFileError(LocomoError):
    """A file of conversations that cannot be read.

    Attributes:
        file: The file.
        record: Where in the file, for instance ``conversation 2, question 7``, both from 1; empty where the whole
            file is meant.
        field: The field of that record; empty where the whole record is meant.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, record: str, field: str, problem: str) -> None:
        where = [file, *([record] if record else []), *([f"field {field!r}"] if field else [])]
        super().__init__(f"{': '.join(where)}: {problem}")
        self.file, self.record, self.field, self.problem = file, record, field, problem

    def __reduce__(self) -> tuple[type[DialogueFileError], tuple[str, str, str, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.record, self.field, self.problem)
