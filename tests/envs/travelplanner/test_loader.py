"""The public reference format, on files that these tests write."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.database import FILES, STATES, load, load_world
from envs.travelplanner.environment import TripEnvironment
from envs.travelplanner.plugin import PLUGIN
from envs.travelplanner.queries import load_queries
from envs.travelplanner.trip import Trip
from tape.agents.tape import TapeAgent

CITIES = {"Home": "Homeland", "Aton": "Stateland", "Bton": "Stateland"}


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_database(folder: Path) -> None:
    """A database of two cities with a few offers each."""
    flights, stays, places, sights, roads = FILES
    flown = [("Home", "Aton", "2022-03-16"), ("Aton", "Home", "2022-03-18"), ("Bton", "Home", "2022-03-20")]
    columns = ("", "Flight Number", "Price", "DepTime", "ArrTime", "FlightDate", "OriginCityName", "DestCityName")
    rows: list[tuple[object, ...]] = [
        (i, f"F{i}", 100 + i, "05:38", "07:46", date, a, b) for i, (a, b, date) in enumerate(flown)
    ]
    write(folder, flights, [dict(zip(columns, row, strict=True)) for row in rows])
    stay = {"price": 80.0, "house_rules": "No pets & No smoking", "minimum nights": 1.0, "maximum occupancy": 2}
    kinds = [(city, kind) for city in ("Aton", "Bton") for kind in ("Private room", "Entire home/apt")]
    named = [{"NAME": f"Room, the {kind} one", **stay, "room type": kind, "city": city} for city, kind in kinds]
    write(folder, stays, [{**room, "review rate number": 4.0} for room in named])
    eaten = [{"Name": f"Place {i}", "Average Cost": 10 + i, "City": c} for c in ("Aton", "Bton") for i in range(12)]
    write(folder, places, [{**place, "Cuisines": "Cafe, Indian", "Aggregate Rating": 4.1} for place in eaten])
    write(folder, sights, [{"Name": f"Sight {i}", "City": c} for c in ("Aton", "Bton") for i in range(5)])
    ways = (
        ("Home", "Aton", "4 hours", "1,234 km"),
        ("Aton", "Home", "1 day 4 hours", "2,234 km"),
        ("Aton", "Bton", "1 hour", "99.9 km"),
        ("Bton", "Home", "", ""),
    )
    columns = ("origin", "destination", "duration", "distance")
    write(folder, roads, [dict(zip(columns, way, strict=True)) for way in ways])
    (folder / STATES).parent.mkdir(parents=True, exist_ok=True)
    (folder / STATES).write_text("".join(f"{c}\t{s}\n" for c, s in CITIES.items()), encoding="utf-8")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "database")
    return tmp_path / "database"


WISHES = {"house rule": None, "cuisine": ["Indian"], "room type": "private room", "transportation": None}


def record(days: int = 3, **changes: Any) -> dict[str, Any]:
    shown = {
        "org": "Home", "dest": "Aton" if days == 3 else "Stateland", "days": days,
        "visiting_city_number": {3: 1, 5: 2, 7: 3}.get(days), "date": "['2022-03-16', '2022-03-17', '2022-03-18']",
        "people_number": 2, "local_constraint": str(WISHES), "budget": 1400, "level": "hard",
        "query": "Please plan a trip.", "annotated_plan": "", "reference_information": "",
    }  # fmt: skip
    return {**shown, **changes}


def test_queries_and_offers_are_read_and_can_be_played(tmp_path: Path, database: Path) -> None:
    write(tmp_path, "queries.csv", [record()])
    with (database / list(FILES)[2]).open("a", encoding="utf-8") as file:
        file.write("No Kitchen,9,Aton,,4.0\n")  # a row with an empty cell is left out
    [(query, world)] = load(tmp_path / "queries.csv", database)
    assert (query.origin, query.cities, query.start, query.budget) == ("Home", ("Aton",), "2022-03-16", 140_000)
    assert query.constraints.cuisines == ("Indian",)
    assert query.constraints.room_type == "private room"
    [car, taxi] = world.grounds_between("Home", "Aton")
    assert (car.price, taxi.price) == (6100, 123_400)  # 61.7 and 1,234 dollars, rounded down
    assert world.grounds_between("Aton", "Home") == (), "a road of days is none"
    assert [ride.price for ride in world.grounds_between("Aton", "Bton")] == [400, 9900]
    assert {flight.name for flight in world.flights} == {"F0", "F1"}, "of the flights no more than queries can take"
    assert {flight.name for flight in load_world(database).flights} == {"F0", "F1", "F2"}
    assert world.states == CITIES
    assert len(world.stays_in("Aton")) == 2
    assert "No Kitchen" not in world.restaurants_in("Aton")
    env = TripEnvironment(query, world)
    result = TapeAgent("declared:first", num_plans=1, execution="forced").run(env)
    assert result.end_state == "success"
    least = cheapest(Trip(query, world))
    # Two flights for two, a room for two nights, the nine cheapest meals for two.
    assert least == env.trip.total(env._state) == 100 * (2 * (100 + 101) + 160 + 2 * (9 * 10 + sum(range(9))))


PLANNED = [{"org": "Home"}, [{"current_city": "from Home to Aton"}, {"current_city": "from Aton(Stateland) to Bton"}]]
DESCRIBED = ["Attractions in Aton", "Restaurants in Bton", "Flight from Home to Aton on 2022-03-16"]
REFERENCE = [{"Description": text, "Content": "..."} for text in DESCRIBED]


@pytest.mark.parametrize(("source", "value"), [("annotated_plan", PLANNED), ("reference_information", REFERENCE)])
@pytest.mark.parametrize("literal", [str, json.dumps])
def test_the_visited_cities_are_taken_from_the_plan_or_the_reference(
    tmp_path: Path, source: str, value: Any, literal: Any
) -> None:
    write(tmp_path, "queries.csv", [record(5, **{source: literal(value)})])
    [query] = load_queries(tmp_path / "queries.csv")
    assert (query.cities, query.destination) == (("Aton", "Bton"), "Stateland")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"days": 4}, "4 days"), ({"days": 5, "visiting_city_number": 2}, "which 2 cities"),
        ({"budget": "much"}, "no number of dollars"), ({"budget": "1e999990"}, "no whole number of cents"),
        ({"people_number": 0}, "0 people"), ({"date": "[]"}, "a date"), ({"date": "['soon']"}, "no date"),
        ({"date": "['9999-12-31']"}, "is no date"), ({"date": [["x"]]}, "is no date"),
        ({"org": {"a": 1}}, "org is an object"), ({"local_constraint": "{'room type': 'castle'}"}, "castle"),
        ({"local_constraint": {"cuisine": "Chinese"}}, "cuisine of local_constraint has to be a list"),
        ({"local_constraint": {"cuisine": [[1]]}}, "cuisine of local_constraint has to be a list"),
        ({"local_constraint": "{'room type': '\\ud800'}"}, "neither JSON nor a literal"),
        ({"local_constraint": "{[]: 1}"}, "neither JSON nor a literal"),
        ({"local_constraint": "__import__('os').system('true')"}, "neither JSON nor a literal"),
        ({"local_constraint": "{1: 1e999}"}, "neither JSON nor a literal"),
        ({"local_constraint": "-" * 50_000 + "1"}, "neither JSON nor a literal"),
        ({"local_constraint": "[" * 100_000}, "neither JSON nor a literal"),
    ],
)  # fmt: skip
def test_wrong_values_of_a_query_are_named_with_their_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    (tmp_path / "queries.jsonl").write_text(f"{json.dumps(record())}\n{json.dumps(record(**changes))}\n")
    with pytest.raises(DataFileError, match=rf"queries\.jsonl: line 2.*{message}"):
        load_queries(tmp_path / "queries.jsonl")
    if all(isinstance(value, str | int) for value in changes.values()):
        write(tmp_path, "queries.csv", [record(), record(**changes)])
        with pytest.raises(DataFileError, match=rf"queries\.csv: line 3.*{message}"):
            load_queries(tmp_path / "queries.csv")


def test_missing_columns_files_and_values_are_named(tmp_path: Path, database: Path) -> None:
    write(tmp_path, "queries.csv", [{"org": "Home", "dest": "Aton"}])
    with pytest.raises(DataFileError, match="columns are missing: days"):
        load_queries(tmp_path / "queries.csv")
    write(tmp_path, "queries.csv", [record()])
    with (tmp_path / "queries.csv").open("a", encoding="utf-8") as file:
        file.write("Home,Aton\n")
    with pytest.raises(DataFileError, match="line 3: there is no days, date"):
        load_queries(tmp_path / "queries.csv")
    stays = database / list(FILES)[1]
    text = stays.read_text(encoding="utf-8")
    stays.write_text(text.replace("house_rules", "rules", 1), encoding="utf-8")
    with pytest.raises(DataFileError, match="columns are missing: house_rules"):
        load_world(database)
    stays.write_text(text.replace("80.0", "cheap", 1), encoding="utf-8")
    with pytest.raises(DataFileError, match=r"line 2, column 'price': 'cheap'"):
        load_world(database)
    stays.unlink()
    with pytest.raises(DataFileError, match=r"there is no accommodations/clean_accommodations_2022.csv"):
        load_world(database)


def test_cells_may_be_as_long_as_in_the_public_files(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    write(tmp_path, "queries.csv", [record(query="why " * 100_000)])
    [query] = load_queries(tmp_path / "queries.csv")
    assert len(query.text) == 400_000
    assert csv.field_size_limit() == before, "the limit of others is as it was"


@pytest.mark.parametrize("name", ["queries.csv", "queries.jsonl"])
@pytest.mark.parametrize("odd", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_odd_ends_of_lines_end_no_query(tmp_path: Path, name: str, odd: str) -> None:
    wishes = {"house rule": "pets", "cuisine": None, "room type": None, "transportation": None}
    given = record(query=f"first{odd}second", date=["2022-03-16"], local_constraint=wishes)
    write(tmp_path, "queries.csv", [given])
    if name == "queries.jsonl":
        # Only what JSON requires is escaped.
        (tmp_path / name).write_text(json.dumps(given, ensure_ascii=False) + "\r\n\n", encoding="utf-8", newline="")
    [query] = load_queries(tmp_path / name)
    assert query.text == f"first{odd}second"
    assert (query.constraints.house_rule, query.constraints.cuisines) == ("pets", ())


@pytest.mark.parametrize("name", ["queries.csv", "queries.jsonl"])
def test_a_file_of_queries_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    rows = [record(query="x" * 20_000), record(), record(org="Zürich")]
    write(tmp_path, "queries.csv", rows[::2])
    if name == "queries.jsonl":
        (tmp_path / name).write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    file = tmp_path / name
    file.write_bytes(file.read_text(encoding="utf-8").encode("latin-1"))
    with pytest.raises(DataFileError, match=rf"{name}: line 3.* UTF-8"):
        load_queries(file)


def test_a_cell_that_swallows_the_rest_of_a_table_is_an_error(database: Path) -> None:
    places = database / list(FILES)[2]
    with places.open("a", encoding="utf-8") as file:
        file.write('"Open quote' + "and so on\n" * 20_000)
    with pytest.raises(DataFileError, match=r"clean_restaurant_2022.csv: line \d+: .*limit.*quotes closed"):
        load_world(database)


def test_the_command_line_reads_both(tmp_path: Path, database: Path) -> None:
    write(tmp_path, "queries.csv", [record(), record(budget=10)])
    options = {"data": str(tmp_path / "queries.csv"), "database": str(database), "objective": "cheapest"}
    tasks = PLUGIN.tasks({**options, "tightness": "medium"})
    assert len({task.digest for task in tasks}) == 2
    assert tasks[0].level_set == "queries"
    with pytest.raises(ValueError, match="both --data FILE and --database"):
        PLUGIN.tasks({**options, "database": None, "tightness": "medium"})


def test_a_route_is_looked_for_in_the_beginning_of_a_text_alone(tmp_path: Path) -> None:
    """The search takes time that grows with the square of the length."""
    path = tmp_path / "queries.jsonl"
    plan = [
        {"current_city": "from " * 400_000},
        {"current_city": "from Home to Aton"},
        {"current_city": "from Aton to B"},
    ]
    path.write_text(json.dumps(record(5, annotated_plan=plan)) + "\n", encoding="utf-8")
    [query] = load_queries(path)
    assert query.cities == ("Aton", "B")


@pytest.mark.parametrize("value", ["1e999999", "-1e999999", "nan", "9" * 5000])
@pytest.mark.parametrize("column", ["minimum nights", "maximum occupancy", "review rate number", "price"])
def test_absurd_numbers_of_a_table_are_refused(database: Path, column: str, value: str) -> None:
    path = database / "accommodations/clean_accommodations_2022.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[1][column] = value
    write(database, "accommodations/clean_accommodations_2022.csv", rows)
    with pytest.raises(DataFileError, match=rf"2022\.csv: line 3, column '{column}'"):
        load_world(database)
