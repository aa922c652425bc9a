"""The error of the package; files that cannot be read raise :class:`envs.data_files.DataFileError`."""

from __future__ import annotations

from tape.errors import TapeError


class HotpotError(TapeError, ValueError):
    """Anything wrong with a request about a question, its paragraphs or its retrieval."""
