"""Days, weeks and months of all time zones begin at the same moments in both stores."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest

psycopg = pytest.importorskip("psycopg")

from psycopg.types.json import Jsonb  # noqa: E402

from tape.budget import Cap, Held, HoldRequest, Period  # noqa: E402
from tape.budget.stores.file import FileStore  # noqa: E402
from tape.budget.stores.postgres import PostgresStore  # noqa: E402
from tests.tape.gateway.helpers import record  # noqa: E402

ABBREVIATED = ("CET", "EET", "EST", "GMT", "HST", "MET", "MST", "UCT", "UTC", "WET", "Zulu")
"""Zones whose names PostgreSQL knows as abbreviations too, by one of the lists that come with it."""
FIRST, LAST = date(2024, 1, 1), date(2041, 1, 1)
_ASKED = """
select array_agg(extract(epoch from begun(jsonb_populate_record(null::cap, %s), at)) order by number)
from unnest(%s::timestamptz[]) with ordinality as one (at, number)
"""


def changes(zone: ZoneInfo) -> Iterator[datetime]:
    """When the zone's clocks are set, to the second."""
    at, end, step = datetime(FIRST.year, 1, 1, tzinfo=UTC), datetime(LAST.year, 1, 1, tzinfo=UTC), timedelta(days=7)
    while at < end:
        if at.astimezone(zone).utcoffset() != (at + step).astimezone(zone).utcoffset():
            low, high = at, at + step
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                if low.astimezone(zone).utcoffset() == middle.astimezone(zone).utcoffset():
                    low = middle
                else:
                    high = middle
            yield high.replace(microsecond=0)
        at += step


def moments(zone: str, rng: random.Random, drawn: int) -> list[datetime]:
    """Around all changes of the zone's clocks, around midnights there, and some that are drawn."""
    times, there, day = [], ZoneInfo(zone), timedelta(days=1)
    for at in changes(there):
        times += [at + timedelta(hours=h, seconds=s) for h in (-25, -3, -1, 0, 1, 2, 25) for s in (-1, 0, 1)]
    for _ in range(drawn):
        local = FIRST + day * rng.randrange((LAST - FIRST).days)
        midnight = datetime(local.year, local.month, local.day, tzinfo=there).astimezone(UTC)
        times += [midnight - timedelta(seconds=1), midnight, midnight + timedelta(seconds=rng.randrange(86_400))]
    return times


def differences(connection: Any, zone: str, at: list[datetime], periods: list[Period]) -> Iterator[str]:
    for period in periods:
        cap = Jsonb({"unit": period.unit, "zone": period.zone, "day": period.day})
        [theirs] = connection.execute(_ASKED, (cap, at)).fetchone()
        for moment, begun in zip(at, theirs, strict=True):
            if (ours := period.begun(moment)) is None or ours.timestamp() != float(begun):
                there = datetime.fromtimestamp(float(begun), UTC)
                yield f"{period} at {moment}: {ours} in a file, {there} in PostgreSQL"


def swept(url: str, zones: list[str], drawn: int, days: tuple[int, ...]) -> tuple[list[str], int]:
    texts: list[str] = []
    asked, rng = 0, random.Random(1)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set search_path = tape_ledger, pg_catalog")
        for zone in zones:
            at = moments(zone, rng, drawn)
            periods = [Period("day", zone), Period("week", zone), *(Period("month", zone, day) for day in days)]
            texts += differences(connection, zone, at, periods)
            asked += len(at) * len(periods)
    return texts, asked


def test_a_sample_of_zones_begins_alike(database: str) -> None:
    drawn = random.Random(2).sample(sorted(available_timezones() - {*ABBREVIATED}), 12)
    zones = [*ABBREVIATED, "Africa/Casablanca", "Australia/Lord_Howe", "America/Havana", *drawn]
    texts, asked = swept(database, zones, 10, (1, 31))
    assert texts == []
    assert asked > 10_000


@pytest.mark.soak
def test_all_zones_begin_alike(database: str, record_property: Callable[[str, object], None]) -> None:
    zones = sorted(available_timezones())
    texts, asked = swept(database, zones, 150, (1, 15, 29, 31))
    record("zones", {"zones": len(zones), "beginnings compared": asked, "differences": texts[:100]})
    record_property("sweep", f"{len(zones)} zones, {asked} beginnings of days, weeks and months from 2024 to 2040")
    assert texts == []


@pytest.mark.parametrize("abbreviations", ["Default", "Australia", "India"])
@pytest.mark.parametrize("zone", ["CET", "EST", "Zulu"])
def test_a_name_is_a_zone_whatever_abbreviations_a_server_has(
    zone: str, abbreviations: str, database: str, tmp_path: Path
) -> None:
    name = database.rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"alter database {name} set timezone_abbreviations = '{abbreviations}'")
    at = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)  # the second of July in Brussels, in summer time alone
    stores = FileStore(tmp_path / "budget.ledger", lambda: at), PostgresStore(database, at)
    for store in stores:
        store.set_cap(Cap("org", "usd", 100, Period("day", zone)), "anna", "")
        assert store.reserve(HoldRequest("a", "org", {"usd": 1})) == Held("a")
    first, second = ([balance.begun for balance in store.balances()] for store in stores)
    assert first == second == [Period("day", zone).begun(at)]
    for store in stores:
        store.close()
