"""Data files of environments: TOML tables whose entries are checked field by field, with errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

from tape.errors import DataError, TapeError
from tape.protocols.search import LONGEST_TEXT
from tape.reading import json_lines, read_json, read_text, short
from tape.toml_reading import parse_toml

Folder = Traversable | Path
"""A folder of data files: of an installed package (``importlib.resources.files``) or of the file system."""


class DataFileError(TapeError, ValueError):
    """A file that cannot be used.

    Attributes:
        file: The file.
        place: The number of a line, or where in words; None or empty where the whole file is meant.
        field: The field there; None or empty where the whole place is meant.
        problem: What is wrong and what to do about it.
    """

    def __init__(self, file: str, place: int | str | None, field: str | None, problem: str) -> None:
        where = f"{file}:{place}" if isinstance(place, int) else ": ".join(filter(None, (file, place)))
        super().__init__(f"{where}: field {field!r}: {problem}" if field else f"{where}: {problem}")
        self.file, self.place, self.field, self.problem = file, place, field, problem

    def __reduce__(self) -> tuple[type[Self], tuple[str, int | str | None, str | None, str]]:
        # Exceptions are rebuilt from `args`, which holds the message alone; workers send them around.
        return type(self), (self.file, self.place, self.field, self.problem)


@dataclass(frozen=True)
class TableEntry:
    """One table of a data file.

    Attributes:
        file: The file, for errors.
        name: Name of the table; empty for the file's own.
        fields: What it holds.
    """

    file: str
    name: str
    fields: Mapping[str, Any]

    def error(self, field: str, problem: str) -> DataFileError:
        """What to raise about a field; about the whole entry where the field is empty."""
        return DataFileError(self.file, self.name and f"entry {self.name!r}", field, problem)

    def only(self, *known: str) -> Self:
        """The entry; refuse fields other than these, which would be ignored.

        Raises:
            DataFileError: There is one.
        """
        for field in self.fields:
            if field not in known:
                raise self.error(field, f"is unknown; there is: {', '.join(known)}")
        return self

    def text(self, field: str) -> str:
        """A text that is not empty.

        Raises:
            DataFileError: It is missing or something else.
        """
        return self._text(field, self._get(field))

    def texts(self, field: str, least: int = 1) -> tuple[str, ...]:
        """A list of texts, in order and each different.

        Raises:
            DataFileError: It is missing or something else.
        """
        value = self._get(field)
        if not isinstance(value, list):
            raise self.error(field, f"is {value!r:.40}; give a list of texts")
        texts = tuple(self._text(field, text) for text in value)
        self._check_count(field, texts, "text", least)
        return texts

    def words(self, field: str, least: int = 1) -> tuple[str, ...]:
        """The words of a text, in order and each different.

        Raises:
            DataFileError: It is missing or something else.
        """
        value = self._get(field)
        if not isinstance(value, str):
            raise self.error(field, f"is {value!r:.40}; give words in one text")
        words = tuple(value.split())
        self._check_count(field, words, "word", least)
        return words

    def flag(self, field: str) -> bool:
        """True or false; false where it is left out.

        Raises:
            DataFileError: It is something else.
        """
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise self.error(field, f"is {value!r:.40}; give true or false, or leave it out")
        return value

    def number(self, field: str, low: float, high: float) -> float:
        """A number.

        Raises:
            DataFileError: It is missing or something else.
        """
        value = self._get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.error(field, f"is {value!r:.40}; give a number from {low:g} to {high:g}")
        return float(value)

    def table(self, field: str) -> TableEntry:
        """A table inside this one, as an entry of its own.

        Raises:
            DataFileError: It is missing or something else.
        """
        value = self._get(field)
        if not isinstance(value, dict):
            raise self.error(field, f"is {value!r:.40}; give a table")
        return TableEntry(self.file, f"{self.name}.{field}" if self.name else field, value)

    def tables(self) -> Iterator[TableEntry]:
        """All that it holds, each a table, in order.

        Raises:
            DataFileError: Something is no table.
        """
        return map(self.table, self.fields)

    def _check_count(self, field: str, texts: tuple[str, ...], what: str, least: int) -> None:
        if len(set(texts)) < len(texts):
            twice = next(item for item in texts if texts.count(item) > 1)
            raise self.error(field, f"has the {what} {twice!r} twice; leave one out")
        if len(texts) < least:
            raise self.error(field, f"has {len(texts)} {what}s; give {least} or more")

    def _get(self, field: str) -> Any:
        if field not in self.fields:
            raise self.error(field, "is missing")
        return self.fields[field]

    def _text(self, field: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.error(field, f"has {value!r:.40}; give a text that is not empty")
        return value


def read_toml(folder: Folder, name: str) -> TableEntry:
    """Read a data file.

    Raises:
        DataFileError: It cannot be read or is no TOML.
    """
    file = folder / name
    try:
        text = read_text(file) if isinstance(file, Path) else file.read_text(encoding="utf-8")
        return TableEntry(str(file), "", parse_toml(text, str(file)))
    except OSError as error:
        raise DataFileError(str(file), "", "", f"cannot be read ({error.strerror}); is the package complete?") from None
    except DataError as error:
        line, problem = located_problem(error, str(file))
        raise DataFileError(str(file), "", "", problem if line is None else f"line {line}: {problem}") from None
    except UnicodeDecodeError as error:
        raise DataFileError(str(file), "", "", f"is no UTF-8 text ({error})") from None


def located_problem(error: DataError, file: str) -> tuple[int | None, str]:
    """Split an error of :mod:`tape.reading` into line and problem, for errors that have fields of their own.

    Returns:
        The line, or None, and what is wrong.
    """
    rest = str(error).removeprefix(file)
    if line := re.match(r":(\d+): ", rest):
        return int(line[1]), rest[line.end() :]
    inside = re.search(r" (?:in|at) line (\d+)(?:,|\Z)", rest)
    return (int(inside[1]) if inside else None), rest.lstrip(": ")


@dataclass(frozen=True)
class JsonRecord:
    """A JSON object of a file.

    Attributes:
        file: The file.
        place: The number of its line, or its place in words.
        fields: Its fields.
        within: What stands before the names of its fields in errors, such as ``paragraphs[0].``.
    """

    file: str
    place: int | str
    fields: Mapping[str, Any]
    within: str = ""

    @classmethod
    def of(cls, value: object, file: str, place: int | str, remedy: str, within: str = "") -> Self:
        """A record of a value.

        Raises:
            DataFileError: It is no object.
        """
        if isinstance(value, dict):
            return cls(file, place, value, within)
        raise cls(file, place, {}, within).wrong("", f"is {short(value)}; {remedy}")

    def wrong(self, field: str, problem: str) -> DataFileError:
        """The error about a field."""
        return DataFileError(self.file, self.place, f"{self.within}{field}".rstrip("."), problem)

    def got(self, field: str) -> str:
        """The value of a field as an error describes it."""
        return f"is {short(self.fields[field])}" if field in self.fields else "is missing"

    def text(self, field: str, default: str | None = None) -> str:
        """A text that is not empty; the default where there is one and the field is missing or null.

        Raises:
            DataFileError: It is missing, empty or something else.
        """
        value = self.fields.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, f"{self.got(field)}; give a text that is not empty")
        return value

    def question(self) -> str:
        """The field ``question``, of bounded length.

        Raises:
            DataFileError: It is missing, empty, too long or something else.
        """
        text = self.text("question")
        if len(text) > LONGEST_TEXT:
            raise self.wrong("question", f"has {len(text)} characters; give at most {LONGEST_TEXT}")
        return text

    def flag(self, field: str) -> bool:
        """A truth value; true where it is missing.

        Raises:
            DataFileError: It is something else.
        """
        value = self.fields.get(field, True)
        if not isinstance(value, bool):
            raise self.wrong(field, f"is {short(value)}; give true or false, or leave it out")
        return value

    def items(self, field: str, *, needed: bool = False) -> list[Any]:
        """A list; empty where it is missing and not needed.

        Raises:
            DataFileError: It is something else.
        """
        value = self.fields.get(field, None if needed else [])
        if not isinstance(value, list):
            raise self.wrong(field, f"{self.got(field)}; give a list")
        return value


def records_of_lines(path: Path) -> Iterator[JsonRecord]:
    """The objects of a JSON Lines file, by line; blank lines are skipped.

    Raises:
        DataFileError: The file cannot be read, or a line is no JSON object.
    """
    try:
        for number, fields in json_lines(path):
            yield JsonRecord.of(fields, str(path), number, "give one JSON object a line")
    except DataError as problem:
        line, text = located_problem(problem, str(path))
        raise DataFileError(str(path), line, "", f"{text}; give one JSON object a line") from None


def array_of(path: Path, what: str) -> list[Any]:
    """The items of a JSON file that holds one array.

    Args:
        path: The file.
        what: The items, for the error.

    Raises:
        DataFileError: The file cannot be read, or holds no array with at least one item.
    """
    try:
        items = read_json(path)
    except DataError as problem:
        line, text = located_problem(problem, str(path))
        raise DataFileError(
            str(path), f"line {line}" if line else "", "", f"{text}; give one JSON array of {what}"
        ) from None
    if not isinstance(items, list) or not items:
        raise DataFileError(str(path), "", "", f"holds no array of {what}; give [{{...}}, ...] with at least one")
    return items
