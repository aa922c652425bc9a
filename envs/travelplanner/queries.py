"""The public files of queries.

CSV or JSON Lines with the columns ``org``, ``dest``, ``days``, ``visiting_city_number``, ``date`` (a list of
dates), ``people_number``, ``local_constraint`` (``house rule``, ``cuisine``, ``room type``, ``transportation``),
``budget``, ``level``, ``query``, and ``annotated_plan`` or ``reference_information``. Lists and mappings are JSON or
Python literals. Where several cities are visited, ``dest`` is their state; which ones, and in which order, is taken
from the annotated plan, else from the descriptions of the reference information, else it is an error.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from envs.data_files import DataFileError, located_problem
from envs.travelplanner.cost import cents
from envs.travelplanner.errors import TravelError
from envs.travelplanner.query import SHAPES, Constraints, Level, TripQuery
from tape.errors import DataError as ReadingError
from tape.reading import json_lines, parse_json, short

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


_MOST_ROUTE = 500
"""Characters of a text in which a route is looked for."""
COLUMNS = ("org", "dest", "days", "date", "people_number", "local_constraint", "budget")


def load_queries(path: Path) -> list[TripQuery]:
    """The queries of a CSV or JSON Lines file.

    Raises:
        DataError: A column is missing, or a value cannot be read.
    """
    if path.suffix.lower() == ".csv":
        with wide_cells():
            records: list[tuple[int, Mapping[str, Any]]] = list(rows(path, COLUMNS))
    else:
        try:
            records = [(number, _object(path, number, result)) for number, result in json_lines(path)]
        except ReadingError as error:
            line, problem = located_problem(error, str(path))
            place = f"line {line}: " if line else ""
            raise DataFileError(str(path), None, None, f"{place}{problem}; write one query a line, in JSON") from None
    if not records:
        raise DataFileError(
            str(path), None, None, "there is no query in it; write one a line, in JSON, or a CSV file with columns"
        )
    return [_query(path, number, record, index) for index, (number, record) in enumerate(records)]


def _object(path: Path, number: int, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DataFileError(str(path), None, None, f"line {number}: a query is a JSON object")
    return value


def _query(path: Path, line: int, record: Mapping[str, Any], index: int) -> TripQuery:
    where = f"line {line}"
    if missing := [column for column in COLUMNS if record.get(column) is None]:
        raise DataFileError(
            str(path), None, None, f"{where}: there is no {', '.join(missing)}; every query needs these columns"
        )
    try:
        local = _value(record["local_constraint"])
        dates = _value(record["date"])
        if not isinstance(local, Mapping) or not isinstance(dates, list) or not dates:
            raise TravelError("local_constraint has to be a mapping, and date a list with a date")
        cuisines = local.get("cuisine") or []
        if not isinstance(cuisines, list) or not all(isinstance(cuisine, str) for cuisine in cuisines):
            raise TravelError("the cuisine of local_constraint has to be a list of texts")
        days = int(record["days"])
        return TripQuery(
            id=f"{path.stem}-{index}",
            origin=_text(record, "org"),
            destination=_text(record, "dest"),
            cities=_cities(record, days),
            start=str(dates[0]),
            days=days,
            people=int(record["people_number"]),
            budget=cents(record["budget"]),
            constraints=Constraints(
                transportation=local.get("transportation") or None,
                room_type=local.get("room type") or None,
                house_rule=local.get("house rule") or None,
                cuisines=tuple(cuisines),
            ),
            level=cast(Level, _text(record, "level", "easy")),
            text=_text(record, "query", ""),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataFileError(str(path), None, None, f"{where}: {error}") from None


def _text(record: Mapping[str, Any], column: str, missing: str | None = None) -> str:
    value = record.get(column) or missing
    if not isinstance(value, str):
        raise TravelError(f"{column} is {short(value)}; it has to be a text")
    return value


def _value(given: Any) -> Any:
    """A list or mapping, as it is or as text: JSON or a Python literal."""
    if not isinstance(given, str):
        return given
    try:
        return parse_json(given, "it")
    except ReadingError:
        pass
    try:
        # A literal may hold what JSON may not, so it is read once more as JSON.
        return parse_json(json.dumps(ast.literal_eval(given)), "it")
    except (ReadingError, ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise TravelError(f"{short(given)} is neither JSON nor a literal") from None


def _cities(record: Mapping[str, Any], days: int) -> tuple[str, ...]:
    """The visited cities in order."""
    if days not in SHAPES:
        raise TravelError(f"{days} days; trips have {', '.join(map(str, SHAPES))}")
    if days == 3:
        return (_text(record, "dest"),)
    count = int(record.get("visiting_city_number") or SHAPES[days])
    for source in ("annotated_plan", "reference_information"):
        if record.get(source):
            texts = [text[:_MOST_ROUTE] for text in _texts(_value(record[source]))]
            route = _route(texts, _text(record, "org"), count)
            if len(route) == count:
                return route
    raise TravelError(f"neither annotated_plan nor reference_information names which {count} cities are visited")


def _texts(value: Any) -> Iterator[str]:
    """Where a plan or a description names a city."""
    if isinstance(value, Mapping):
        for name in ("current_city", "Description"):
            if isinstance(value.get(name), str):
                yield value[name]
        return
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)


def _route(texts: Sequence[str], origin: str, count: int) -> tuple[str, ...]:
    names: list[str] = []
    for text in texts:
        match = re.search(r"from (.+?) to (.+?)(?: on |,|$)", text)
        named = (
            [match[1], match[2]] if match else re.findall(r"(?:Attractions|Restaurants|Accommodations) in (.+)$", text)
        )
        for city in named:
            plain = re.sub(r"\(.*?\)", "", city).strip()
            if plain != origin and plain not in names:
                names.append(plain)
    return tuple(names[:count])
