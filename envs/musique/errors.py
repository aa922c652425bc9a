"""The errors of the question answering package."""

from __future__ import annotations

from envs.data_files import DataFileError
from tape.errors import TapeError


class MusiqueError(TapeError, ValueError):
    """Anything wrong with a question, a corpus or a request about one."""


class QuestionFileError(DataFileError, MusiqueError):
    """A file of questions or passages that cannot be read; its places are lines."""
