"""Trips for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.database import load
from envs.travelplanner.environment import TripEnvironment, budget_of
from envs.travelplanner.generator import RATIOS, problem_set
from envs.travelplanner.offers import OfferWorld
from envs.travelplanner.query import TripQuery
from envs.travelplanner.trip import Trip
from tape.errors import ConfigError
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.reading import short

DEFAULT_COUNT = 18


class TravelPlannerPlugin(EnvironmentPlugin):
    """Trips of TravelPlanner."""

    name = "travelplanner"
    prompt_version: Mapping[str, str] = MappingProxyType({"declared": "1", "chat": "2"})
    roles = ("plan", "act")
    cases = "envs.travelplanner.role_cases"
    model = "declared:first"
    reads = False
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--database``, ``--problems``, ``--count``, ``--tightness``, ``--objective``, ``--rules``."""
        parser.add_argument("--data", type=str, help="a CSV or JSON Lines file of queries in the public format")
        parser.add_argument("--database", type=str, help="the folder of the public database's CSV files")
        parser.add_argument("--problems", default="dev", help="our own queries: the name of a set (default: dev)")
        parser.add_argument(
            "--count", type=int, default=DEFAULT_COUNT, help="our own queries: how many (default: %(default)s)"
        )
        parser.add_argument(
            "--tightness", choices=tuple(RATIOS), default="medium", help="budgets of our own queries (default: medium)"
        )
        parser.add_argument(
            "--objective",
            choices=("cheapest", "best"),
            default="cheapest",
            help="the preferred feasible itinerary: the cheapest, or the best rated (default: cheapest)",
        )
        parser.add_argument(
            "--rules",
            choices=("enforced", "judged"),
            default="enforced",
            help="what becomes of a booking that breaks a constraint or the budget. enforced: it is refused; judged: "
            "it is made, and the whole is judged at the end, as in the benchmark (default: enforced)",
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per query."""
        data, database = options.get("data"), options.get("database")
        objective, tightness = options["objective"], options["tightness"]
        judged = options.get("rules") == "judged"
        if bool(data) != bool(database):
            raise ConfigError("queries in the public format need both --data FILE and --database FOLDER")
        if data and database:
            level_set, made = Path(data).stem, load(Path(data), Path(database))
        else:
            if not 1 <= options["count"] <= 100_000:
                raise ConfigError(f"--count is from 1 to 100,000, got {short(options['count'])}")
            level_set = f"trips-{options['problems']}-{tightness}"
            made = list(problem_set(options["problems"], options["count"], tightness))
        return [
            Task(
                id=query.id,
                level_set=level_set,
                budget=budget_of(query, judged=judged),
                digest=_digest(query, world, objective),
                facts={"query": query, "world": world, "objective": objective, "judged": judged},
            )
            for query, world in made
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        facts = dict(task.facts)
        return TripEnvironment(**facts, least=cheapest(Trip(facts["query"], facts["world"])))


def _digest(query: TripQuery, world: OfferWorld, objective: str) -> str:
    """Identifies a query with its offers, in published results too: the class is called as it was in these."""
    asked = repr(query).replace("TripQuery(", "Query(", 1)
    return hashlib.sha256(f"{asked} {world.digest or _content(world)} {objective}".encode()).hexdigest()[:16]


def _content(world: OfferWorld) -> str:
    places = [(p.name, p.city, p.price, sorted(p.cuisines), p.rating) for p in world.restaurants]
    return repr((world.flights, world.grounds, world.stays, places, world.attractions, sorted(world.states.items())))


PLUGIN = TravelPlannerPlugin()
