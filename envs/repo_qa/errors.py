"""The errors of questions about sources."""

from __future__ import annotations

from tape.errors import TapeError


class RepoQaError(TapeError, ValueError):
    """Anything wrong with a package, a folder of sources or a request for questions about one."""


class SkippedFilesWarning(UserWarning):
    """Some source files could not be read and are not part of the corpus."""
