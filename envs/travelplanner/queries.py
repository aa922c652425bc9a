"""The public files of queries.

CSV or JSON Lines with the columns ``org``, ``dest``, ``days``, ``visiting_city_number``, ``date`` (a list of
dates), ``people_number``, ``local_constraint`` (``house rule``, ``cuisine``, ``room type``, ``transportation``),
``budget``, ``level``, ``query``, and ``annotated_plan`` or ``reference_information``. Lists and mappings are JSON or
Python literals. Where several cities are visited, ``dest`` is their state; which ones, and in which order, is taken
from the annotated plan, else from the descriptions of the reference information, else it is an error.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.travelplanner.cost import cents
from envs.travelplanner.errors import DataError, TravelError
from envs.travelplanner.files import rows, text_of, wide_cells
from envs.travelplanner.query import SHAPES, Constraints, Query

COLUMNS = ("org", "dest", "days", "date", "people_number", "local_constraint", "budget")


def load_queries(path: Path) -> list[Query]:
    """The queries of a CSV or JSON Lines file.

    Raises:
        DataError: A column is missing, or a value cannot be read.
    """
    if path.suffix.lower() == ".csv":
        with wide_cells():
            records: list[tuple[int, Mapping[str, Any]]] = list(rows(path, COLUMNS))
    else:
        # A record ends at "\n" alone: JSON may hold the other characters that str.splitlines takes for ends.
        lines = enumerate(text_of(path).split("\n"), 1)
        records = [(number, _object(path, number, line)) for number, line in lines if line.strip()]
    return [_query(path, number, record, index) for index, (number, record) in enumerate(records)]


def _object(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(str(path), f"line {number}: no JSON: {error}; write one query a line") from None
    if not isinstance(found, dict):
        raise DataError(str(path), f"line {number}: a query is a JSON object")
    return found


def _query(path: Path, line: int, record: Mapping[str, Any], index: int) -> Query:
    where = f"line {line}"
    if missing := [column for column in COLUMNS if record.get(column) is None]:
        raise DataError(str(path), f"{where}: there is no {', '.join(missing)}; every query needs these columns")
    try:
        local = _value(record["local_constraint"])
        dates = _value(record["date"])
        if not isinstance(local, Mapping) or not isinstance(dates, list) or not dates:
            raise TravelError("local_constraint has to be a mapping, and date a list with a date")
        cuisines = local.get("cuisine") or ()
        days = int(record["days"])
        return Query(
            id=f"{path.stem}-{index}",
            origin=str(record["org"]),
            destination=str(record["dest"]),
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
            level=record.get("level") or "easy",
            text=str(record.get("query") or ""),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(str(path), f"{where}: {error}") from None


def _value(given: Any) -> Any:
    """A list or mapping, as it is or as text: JSON or a Python literal."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(given)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise TravelError(f"{given[:80]!r} is neither JSON nor a literal") from None


def _cities(record: Mapping[str, Any], days: int) -> tuple[str, ...]:
    """The visited cities in order."""
    if days not in SHAPES:
        raise TravelError(f"{days} days; trips have {', '.join(map(str, SHAPES))}")
    if days == 3:
        return (str(record["dest"]),)
    count = int(record.get("visiting_city_number") or SHAPES[days])
    for source in ("annotated_plan", "reference_information"):
        if record.get(source):
            texts = [str(text) for text in _texts(_value(record[source]))]
            found = _route(texts, str(record["org"]), count)
            if len(found) == count:
                return found
    raise TravelError(
        f"which {count} cities are visited is said neither by annotated_plan nor by reference_information"
    )


def _texts(value: Any) -> Iterator[str]:
    """Where a plan or a description says where one is."""
    if isinstance(value, Mapping):
        for name in ("current_city", "Description"):
            if isinstance(value.get(name), str):
                yield value[name]
        return
    if isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from _texts(one)


def _route(texts: Sequence[str], origin: str, count: int) -> tuple[str, ...]:
    found: list[str] = []
    for text in texts:
        match = re.search(r"from (.+?) to (.+?)(?: on |,|$)", text)
        named = (
            [match[1], match[2]] if match else re.findall(r"(?:Attractions|Restaurants|Accommodations) in (.+)$", text)
        )
        for city in named:
            plain = re.sub(r"\(.*?\)", "", city).strip()
            if plain != origin and plain not in found:
                found.append(plain)
    return tuple(found[:count])
