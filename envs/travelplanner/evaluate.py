"""The public benchmark's metrics of an itinerary; independent of everything that plans.

It reads the itinerary's texts, looks every name up in the world anew and does its own arithmetic. Eight commonsense
constraints and up to five hard ones; hard constraints are judged only of itineraries that are complete and within the
sandbox, else they count as broken; what is not delivered breaks all. Stricter than the public evaluator in three points
(ours): a flight has to be on its day, exactly the cities asked for are visited, and a plan has exactly as many days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envs.travelplanner.commonsense import COMMONSENSE
from envs.travelplanner.hard import HARD, asked
from envs.travelplanner.offers import OfferWorld
from envs.travelplanner.query import TripQuery
from envs.travelplanner.reading import ItineraryReading, Plan


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one itinerary.

    Attributes:
        delivered: Whether there is one.
        commonsense: By constraint.
        hard: By constraint, of those that the query has.
        cost: Cents; None where it is unknown.
    """

    delivered: bool
    commonsense: Mapping[str, bool]
    hard: Mapping[str, bool]
    cost: int | None

    @property
    def commonsense_pass(self) -> bool:
        """Whether all commonsense constraints hold."""
        return self.delivered and all(self.commonsense.values())

    @property
    def hard_pass(self) -> bool:
        """Whether all hard constraints hold."""
        return self.delivered and all(self.hard.values())

    @property
    def final_pass(self) -> bool:
        """Whether everything holds."""
        return self.commonsense_pass and self.hard_pass

    def broken(self) -> list[str]:
        """The constraints that do not hold."""
        return [name for name, holds in [*self.commonsense.items(), *self.hard.items()] if not holds]


def evaluate(plan: Plan | None, query: TripQuery, world: OfferWorld) -> Evaluation:
    """Judge an itinerary; None or an empty one is not delivered."""
    wanted = asked(query)
    if not plan:
        return Evaluation(False, dict.fromkeys(COMMONSENSE, False), dict.fromkeys(wanted, False), None)
    read = ItineraryReading(plan, query, world)
    commonsense = {name: check(read) for name, check in COMMONSENSE.items()}
    judged = commonsense["within_sandbox"] and commonsense["complete_information"]
    hard = {name: judged and HARD[name](read) for name in wanted}
    return Evaluation(True, commonsense, hard, read.cost() if commonsense["within_sandbox"] else None)


def broken_so_far(plan: Plan, query: TripQuery, world: OfferWorld) -> list[str]:
    """The constraints that an itinerary with open slots breaks already; what is missing yet breaks none."""
    read = ItineraryReading(plan, query, world)
    own = [name for name in COMMONSENSE if name not in ("complete_information", "reasonable_city_route")]
    wanted = [name for name in asked(query) if name != "cuisine"]
    return [name for name in own if not COMMONSENSE[name](read)] + [name for name in wanted if not HARD[name](read)]
