"""Errors about pages and tasks of the recorded web."""

from __future__ import annotations

from envs.data_files import DataFileError


class WebFileError(DataFileError):
    """A file of tasks or of pages cannot be used."""
