"""The public database: a folder of CSV files.

There are
``flights/clean_Flights_2022.csv`` (``Flight Number, Price, DepTime, ArrTime, FlightDate, OriginCityName,
DestCityName``),
``accommodations/clean_accommodations_2022.csv`` (``NAME, price, room type, house_rules, minimum nights, maximum
occupancy, review rate number, city``),
``restaurants/clean_restaurant_2022.csv`` (``Name, Average Cost, Cuisines, Aggregate Rating, City``),
``attractions/attractions.csv`` (``Name, City``),
``googleDistanceMatrix/distance.csv`` (``origin, destination, duration, distance``) and
``background/citySet_with_states.txt`` (city, tab, state). Further columns are ignored. As in the public tools a road
that takes days is none, a self-driven car costs 5 cents and a taxi 1 dollar a kilometre, rounded down to dollars, and
rows with an empty field are left out. A file may also lie in the folder itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from envs.data_files import DataFileError, located_problem
from envs.travelplanner.cost import cents
from envs.travelplanner.errors import TravelError
from envs.travelplanner.offers import SELF_DRIVING, TAXI, Attraction, Flight, Ground, OfferWorld, Restaurant, Stay
from envs.travelplanner.queries import load_queries, named, rows
from envs.travelplanner.query import TripQuery
from tape.errors import DataError as ReadingError
from tape.reading import read_text, short

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
MOST = 1_000_000
"""Largest number of nights, guests, points or kilometres."""
STATES = "background/citySet_with_states.txt"


def load_world(folder: Path, ways: Collection[tuple[str, str, str]] | None = None) -> OfferWorld:
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
        with named(path), path.open("rb") as file:
            sums.append(hashlib.file_digest(file, "sha256").hexdigest())
    digest = hashlib.sha256(" ".join(sums).encode()).hexdigest()[:16]
    return OfferWorld(
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
                frozenset(word.strip() for word in row["Cuisines"].split(",") if word.strip()),
                float(row.number("Aggregate Rating")),
            )
            for row in restaurants
        ),
        attractions=tuple(Attraction(row["Name"], row["City"]) for row in attractions),
        states=states,
        digest=digest,
    )


class _Row:
    """A row; errors of its fields name the place."""

    def __init__(self, file: Path, line: int, values: Mapping[str, str]) -> None:
        self._file, self._line, self._values = file, line, values

    def __getitem__(self, column: str) -> str:
        return self._values[column]

    def number(self, column: str) -> Decimal:
        try:
            amount = Decimal(self[column])
        except ArithmeticError:
            raise self.error(column, "is no number") from None
        if not amount.is_finite() or abs(amount) > MOST:
            raise self.error(column, f"is no number up to {MOST}")
        return amount

    def money(self, column: str) -> int:
        try:
            return cents(self[column])
        except TravelError as error:
            raise self.error(column, f"cannot be paid: {error}") from None

    def error(self, column: str, problem: str) -> DataFileError:
        return DataFileError(
            str(self._file), None, None, f"line {self._line}, column {column!r}: {short(self[column])} {problem}"
        )


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / Path(name).name):
        if path.is_file():
            return path
    raise DataFileError(
        str(folder), None, None, f"there is no {name}; unpack the public database there, with its folders"
    )


def _rows(folder: Path, name: str) -> Iterator[_Row]:
    path, wanted = _find(folder, name), FILES[name]
    for line, values in rows(path, wanted):
        filled = {column: value for column in wanted if (value := (values[column] or "").strip())}
        if len(filled) == len(wanted):
            yield _Row(path, line, filled)


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
    if kilometres > MOST:
        raise row.error("distance", f"is more than {MOST} km")
    if match[2] == "m":
        kilometres /= 1000
    stated = {"duration": row["duration"], "distance": row["distance"]}
    car, taxi = int(kilometres * Decimal("0.05")) * 100, int(kilometres) * 100
    where = (row["origin"], row["destination"])
    return [Ground(SELF_DRIVING, *where, car, **stated), Ground(TAXI, *where, taxi, **stated)]


def _states(folder: Path) -> dict[str, str]:
    path, texts = _find(folder, STATES), {}
    try:
        text = read_text(path)
    except ReadingError as error:
        raise DataFileError(str(path), None, None, located_problem(error, str(path))[1]) from None
    for number, line in enumerate(text.split("\n"), 1):
        city, tab, state = line.partition("\t")
        if line.strip():
            if not tab:
                raise DataFileError(
                    str(path), None, None, f"line {number}: expected a city, a tab and its state, got {line[:80]!r}"
                )
            texts[city.strip()] = state.strip()
    return texts


def load(queries: Path, database: Path) -> list[tuple[TripQuery, OfferWorld]]:
    """The queries of a file in the public format (:mod:`.queries`) with the world they share.

    Raises:
        DataError: Names the file, and the column, line or value.
    """
    trip_queries = load_queries(queries)
    world = load_world(database, {(a, b, query.date_of(day)) for query in trip_queries for a, b, day in query.legs()})
    return [(query, world) for query in trip_queries]
