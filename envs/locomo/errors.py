"""The errors of the package."""

from __future__ import annotations

from envs.data_files import DataFileError
from tape.errors import TapeError


class LocomoError(TapeError, ValueError):
    """Anything wrong with a conversation, a question or an option."""


class DialogueFileError(DataFileError, LocomoError):
    """A file of conversations that cannot be read; a place is, for instance, ``conversation 2, question 7``, from 1."""
