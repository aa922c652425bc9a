"""The public reference format: files of queries, and the database's CSV files.

*Queries*: CSV or JSON Lines with the columns ``org``, ``dest``, ``days``, ``visiting_city_number``, ``date`` (a list of
dates), ``people_number``, ``local_constraint`` (``house rule``, ``cuisine``, ``room type``, ``transportation``),
``budget``, ``level``, ``query``, and ``annotated_plan`` or ``reference_information``. Lists and mappings are JSON or
Python literals. Where several cities are visited, ``dest`` is their state; which ones, and in which order, is taken
from the annotated plan, else from the descriptions of the reference information, else it is an error.

*Database*, a folder with
``flights/clean_Flights_2022.csv`` (``Flight Number, Price, DepTime, ArrTime, FlightDate, OriginCityName,
DestCityName``),
``accommodations/clean_accommodations_2022.csv`` (``NAME, price, room type, house_rules, minimum nights, maximum
occupancy, review rate number, city``),
``restaurants/clean_restaurant_2022.csv`` (``Name, Average Cost, Cuisines, Aggregate Rating, City``),
``attractions/attractions.csv`` (``Name, City``),
``googleDistanceMatrix/distance.csv`` (``origin, destination, duration, distance``) and
``background/citySet_with_states.txt`` (city, tab, state). Further columns are ignored. As in the public tools a road
that takes days is none, a self-driven car costs 5 cents and a taxi 1 dollar a kilometre, rounded down to dollars, and
rows with an empty cell are left out. A file may also lie in the folder itself.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from envs.travelplanner.cost import cents
from envs.travelplanner.errors import DataError, TravelError
from envs.travelplanner.offers import SELF_DRIVING, TAXI, Attraction, Flight, Ground, Restaurant, Stay, World
from envs.travelplanner.query import SHAPES, Constraints, Query

FILES: Mapping[str, tuple[str, ...]] = {
    "flights/clean_Flights_2022.csv": (
        "Flight Number",
        "Price",
        "DepTime",
        "ArrTime",
        "FlightDate",
        "OriginCityName",
        "DestCityName",
    ),
    "accommodations/clean_accommodations_2022.csv": (
        "NAME",
        "price",
        "room type",
        "house_rules",
        "minimum nights",
        "maximum occupancy",
        "review rate number",
        "city",
    ),
    "restaurants/clean_restaurant_2022.csv": ("Name", "Average Cost", "Cuisines", "Aggregate Rating", "City"),
    "attractions/attractions.csv": ("Name", "City"),
    "googleDistanceMatrix/distance.csv": ("origin", "destination", "duration", "distance"),
}
STATES = "background/citySet_with_states.txt"
COLUMNS = ("org", "dest", "days", "date", "people_number", "local_constraint", "budget")


def load(queries: Path, database: Path) -> list[tuple[Query, World]]:
    """Queries with the world they share.

    Raises:
        DataError: Names the file, and the column, line or value.
    """
    found = load_queries(queries)
    ways = {(a, b, query.date_of(day)) for query in found for a, b, day in query.legs()}
    world = load_world(database, ways)
    return [(query, world) for query in found]


# --- the database ---------------------------------------------------------------------------------


def load_world(folder: Path, ways: Collection[tuple[str, str, str]] | None = None) -> World:
    """The offers of a database folder.

    Args:
        folder: The folder.
        ways: Origin, destination and date of the flights to keep, since the public file has millions; all by default.

    Raises:
        DataError: A file or column is missing, or a value cannot be read.
    """
    flights, stays, restaurants, attractions, roads = (_rows(folder, name) for name in FILES)
    states = _states(folder)
    files = [_find(folder, name) for name in (*FILES, STATES)]
    sums = []
    for path in files:
        with path.open("rb") as file:
            sums.append(hashlib.file_digest(file, "sha256").hexdigest())
    digest = hashlib.sha256(" ".join(sums).encode()).hexdigest()[:16]
    return World(
        flights=tuple(
            Flight(
                row["Flight Number"],
                row["OriginCityName"],
                row["DestCityName"],
                row["FlightDate"],
                row.money("Price"),
                row["DepTime"],
                row["ArrTime"],
            )
            for row in flights
            if ways is None or (row["OriginCityName"], row["DestCityName"], row["FlightDate"]) in ways
        ),
        grounds=tuple(ground for row in roads for ground in _grounds(row)),
        stays=tuple(
            Stay(
                row["NAME"],
                row["city"],
                row.money("price"),
                row["room type"],
                row["house_rules"],
                int(row.number("minimum nights")),
                max(1, int(row.number("maximum occupancy"))),
                float(row.number("review rate number")),
            )
            for row in stays
        ),
        restaurants=tuple(
            Restaurant(
                row["Name"],
                row["City"],
                row.money("Average Cost"),
                frozenset(one.strip() for one in row["Cuisines"].split(",") if one.strip()),
                float(row.number("Aggregate Rating")),
            )
            for row in restaurants
        ),
        attractions=tuple(Attraction(row["Name"], row["City"]) for row in attractions),
        states=states,
        digest=digest,
    )


class _Row:
    """A row whose cells are read with the place in a message."""

    def __init__(self, file: Path, line: int, cells: Mapping[str, str]) -> None:
        self._file, self._line, self._cells = file, line, cells

    def __getitem__(self, column: str) -> str:
        return self._cells[column].strip()

    def number(self, column: str) -> Decimal:
        try:
            found = Decimal(self[column])
        except ArithmeticError:
            raise self.error(column, "is no number") from None
        if not found.is_finite():
            raise self.error(column, "is no finite number")
        return found

    def money(self, column: str) -> int:
        try:
            return cents(self[column])
        except TravelError as error:
            raise self.error(column, str(error)) from None

    def error(self, column: str, problem: str) -> DataError:
        return DataError(str(self._file), f"line {self._line}, column {column!r}: {self[column]!r} {problem}")


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / Path(name).name):
        if path.is_file():
            return path
    raise DataError(str(folder), f"there is no {name}; unpack the public database there, with its folders")


def _rows(folder: Path, name: str) -> Iterator[_Row]:
    path, wanted = _find(folder, name), FILES[name]
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        _require(path, reader.fieldnames or (), wanted)
        for cells in reader:
            if all((cells[column] or "").strip() for column in wanted):
                yield _Row(path, reader.line_num, cells)


def _require(path: Path, there: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [column for column in wanted if column not in there]:
        raise DataError(str(path), f"columns are missing: {', '.join(missing)}; there is: {', '.join(there) or 'none'}")


def _grounds(row: _Row) -> list[Ground]:
    if "day" in row["duration"]:
        return []
    match = re.fullmatch(r"([\d,.]+)\s*(km|m)", row["distance"])
    if match is None:
        raise row.error("distance", "is no distance like '1,234 km'")
    try:
        kilometres = Decimal(match[1].replace(",", ""))
    except ArithmeticError:
        raise row.error("distance", "is no distance like '1,234 km'") from None
    if match[2] == "m":
        kilometres /= 1000
    told = {"duration": row["duration"], "distance": row["distance"]}
    car, taxi = int(kilometres * Decimal("0.05")) * 100, int(kilometres) * 100
    where = (row["origin"], row["destination"])
    return [Ground(SELF_DRIVING, *where, car, **told), Ground(TAXI, *where, taxi, **told)]


def _states(folder: Path) -> dict[str, str]:
    path, found = _find(folder, STATES), {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        city, tab, state = line.partition("\t")
        if line.strip():
            if not tab:
                raise DataError(str(path), f"line {number}: expected a city, a tab and its state, got {line!r}")
            found[city.strip()] = state.strip()
    return found


# --- queries --------------------------------------------------------------------------------------


def load_queries(path: Path) -> list[Query]:
    """The queries of a CSV or JSON Lines file.

    Raises:
        DataError: A column is missing, or a value cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from error
    if path.suffix == ".csv":
        reader = csv.DictReader(text.splitlines(keepends=True))
        _require(path, reader.fieldnames or (), COLUMNS)
        records: list[tuple[int, Mapping[str, Any]]] = [(reader.line_num, row) for row in reader]
    else:
        records = [(i, _object(path, i, line)) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
        for number, record in records:
            if missing := [column for column in COLUMNS if column not in record]:
                raise DataError(str(path), f"line {number}: columns are missing: {', '.join(missing)}")
    return [_query(path, number, record, index) for index, (number, record) in enumerate(records)]


def _object(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DataError(str(path), f"line {number}: no JSON: {error}") from None
    if not isinstance(found, dict):
        raise DataError(str(path), f"line {number}: a query is a JSON object")
    return found


def _query(path: Path, line: int, record: Mapping[str, Any], index: int) -> Query:
    where = f"line {line}"
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
    except (TravelError, ValueError, TypeError) as error:
        raise DataError(str(path), f"{where}: {error}") from None


def _value(given: Any) -> Any:
    """A list or mapping, as it is or as text: JSON or a Python literal."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
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
