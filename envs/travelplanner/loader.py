"""The public reference format: queries (:mod:`.queries`) with the database's offers (:mod:`.database`)."""

from __future__ import annotations

from pathlib import Path

from envs.travelplanner.database import load_world
from envs.travelplanner.offers import World
from envs.travelplanner.queries import load_queries
from envs.travelplanner.query import Query


def load(queries: Path, database: Path) -> list[tuple[Query, World]]:
    """Queries with the world they share.

    Raises:
        DataError: Names the file, and the column, line or value.
    """
    found = load_queries(queries)
    ways = {(a, b, query.date_of(day)) for query in found for a, b, day in query.legs()}
    world = load_world(database, ways)
    return [(query, world) for query in found]
