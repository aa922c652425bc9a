"""Reading foreign files: every problem is a :class:`DataFileError` with file and line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from envs.data_files import DataFileError

MOST_FIELD = 2**26
"""Characters of a field; the public files of queries hold all that was found about a trip in a single one."""


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Raise an error that names the file, and the line that is not text."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise DataFileError(
                str(path), None, None, "cannot be read: it is a folder, a pipe or a device; name a file"
            )
        yield
    except OSError as error:
        raise DataFileError(
            str(path), None, None, f"cannot be read: {error.strerror}; check the path and its permissions"
        ) from error
    except UnicodeDecodeError:
        raise DataFileError(
            str(path), None, None, f"{_undecodable(path)}is not UTF-8; save the file as UTF-8"
        ) from None


def _undecodable(path: Path) -> str:
    """The first line that is not UTF-8; the error itself only knows its place in what was read at once."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"line {number} "
    return ""


def rows(path: Path, wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, str | None]]]:
    """The rows of a CSV file, each with its last line; fields that a short row lacks are None.

    Raises:
        DataError: It cannot be read, is not UTF-8 or no CSV, or a wanted column is missing.
    """
    with named(path), path.open(encoding="utf-8-sig", newline="") as file:
        reader: csv.DictReader[str] = csv.DictReader(file)
        try:
            require(path, reader.fieldnames or (), wanted)
            for cells in reader:
                yield reader.line_num, cells
        except csv.Error as error:
            problem = f"line {reader.reader.line_num}: {error}; is it CSV, with its quotes closed?"
            raise DataFileError(str(path), None, None, problem) from None


@contextmanager
def wide_cells() -> Iterator[None]:
    """Allow fields of up to :data:`MOST_FIELD` characters; the csv module keeps one limit for the whole process."""
    before = csv.field_size_limit(MOST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def require(path: Path, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise where columns are missing."""
    if missing := [column for column in wanted if column not in there]:
        shown = ", ".join(there)[:500]
        shown = shown if shown.isprintable() else repr(shown)
        raise DataFileError(
            str(path), None, None, f"columns are missing: {', '.join(missing)}; there is: {shown or 'none'}"
        )
