"""Records of public JSON files, read field by field, with errors that name file, place, field and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from envs.data_files import DataFileError, located_problem
from tape.errors import DataError
from tape.protocols.search import LONGEST_TEXT
from tape.reading import json_lines, read_json, short


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
