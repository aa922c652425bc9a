"""A trip as an environment of the engine: every action books one option for the next open slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from envs.travelplanner.cost import MONEY, charge
from envs.travelplanner.domain import TripDomain
from envs.travelplanner.evaluate import Evaluation, broken_so_far, evaluate
from envs.travelplanner.menu import Objective
from envs.travelplanner.offers import OfferWorld
from envs.travelplanner.official import DayPlan, itinerary, to_json
from envs.travelplanner.prompts import prompt_format
from envs.travelplanner.query import TripQuery
from envs.travelplanner.trip import Trip, TripState
from tape.budget import Budget, Resources
from tape.protocols import Action, Environment, Observation
from tape.protocols.prompt_format import PromptFormat

if TYPE_CHECKING:
    from tape.methods.sdp.adapter import Adapter
    from tape.methods.sdp.target import Target

SPARE_STEPS = 24
"""Steps beyond one for each slot: for what is refused."""


def budget_of(query: TripQuery, *, judged: bool = False) -> Budget:
    """The hard caps of a query: steps, and its money to the cent, if that is not only judged at the end."""
    steps = {"steps": 1 + 2 * len(query.cities) + 4 * query.days + 2 + SPARE_STEPS}
    return Budget(steps if judged else {**steps, MONEY: query.budget})


class TripEnvironment(Environment):
    """One trip of TravelPlanner.

    Args:
        query: The query.
        world: The offers.
        objective: See :class:`envs.travelplanner.domain.TripDomain`.
        least: Cents of the cheapest itinerary, for the measures.
        judged: See :class:`envs.travelplanner.trip.Trip`.
    """

    domain: TripDomain

    def __init__(
        self,
        query: TripQuery,
        world: OfferWorld,
        objective: Objective = "cheapest",
        least: int | None = None,
        *,
        judged: bool = False,
    ) -> None:
        self.trip = Trip(query, world, judged=judged)
        self.domain = TripDomain(self.trip, objective)
        self.budget = budget_of(query, judged=judged)
        self._least = least
        self._state = TripState(spent=0)

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        return prompt_format(self.domain, name)

    def sdp(self) -> Adapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from envs.travelplanner.sdp import TripAdapter

        return TripAdapter(self.domain)

    def reset(self, seed: int) -> Observation:
        """Nothing is booked; nothing is random either."""
        del seed
        self._state = TripState(spent=0)
        return self._observation()

    def _observation(self) -> Observation:
        return Observation(self.domain.render(self._state), self._state)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Book; what is not possible or cannot be afforded is refused with a reason, which takes a step."""
        reason = self.trip.refusal(self._state, action)
        here = self._state
        if reason is not None:
            self._state = replace(here, note=f"refused: {reason}")
            return self._observation(), charge(0)
        price = self.trip.price(here, action)
        self._state = self.trip.booked(here, action)
        return self._observation(), charge(price)

    def plan(self) -> list[DayPlan] | None:
        """The itinerary in the public format; None before every slot that offers something is filled."""
        complete = len(self._state.booked) >= len(self.trip.slots) - 2
        return itinerary(self.trip, self._state) if complete else None

    def answered_value(self) -> list[DayPlan] | None:
        """The itinerary, if it is complete."""
        return self.plan()

    def line(self) -> str:
        """The itinerary as a line of a file of plans."""
        return to_json(self.trip, self._state)

    def evaluation(self) -> Evaluation:
        """The benchmark's verdicts on what is booked."""
        return evaluate(self.plan(), self.trip.query, self.trip.world)

    def success(self) -> bool:
        """Whether the itinerary has been rendered and passes everything."""
        return self.ended() and self.evaluation().final_pass

    def ended(self) -> bool:
        """Whether the itinerary has been rendered: nothing can be changed any more."""
        return self.trip.slot(self._state) is None

    def measures(self) -> Mapping[str, float]:
        """The benchmark's metrics of this one itinerary, what it costs, and how it is rated."""
        evaluation = self.evaluation()
        measured = {
            "delivered": float(evaluation.delivered),
            "commonsense_macro": float(evaluation.commonsense_pass),
            "commonsense_micro": sum(evaluation.commonsense.values()) / len(evaluation.commonsense),
            "hard_macro": float(evaluation.hard_pass),
            "hard_held": float(sum(evaluation.hard.values())),
            "hard_asked": float(len(evaluation.hard)),
            "final_pass": float(evaluation.final_pass),
        }
        if evaluation.delivered:
            rated = [option.rating for _, option in self.trip.chosen(self._state) if option.rating]
            measured["rating"] = sum(rated) / len(rated) if rated else 0.0
            measured["cost_usd"] = self.trip.total(self._state) / 100
            if self._least:
                measured["cost_over_least"] = self.trip.total(self._state) / self._least
        return measured

    def truth(self, target: Target) -> bool | None:
        """Whether a predicate of a chain really holds, by the evaluator: its slots are filled, nothing is broken."""
        from envs.travelplanner.sdp import slots_in

        if target.goal:
            return self.success()
        numbers = [self.trip.slots.index(slot) for slot in slots_in(self.trip, target)]
        if not numbers or max(numbers) >= len(self._state.booked):
            return False
        whole = target.kind == "budget"
        plan = itinerary(self.trip, self._state)
        if whole:
            return self.evaluation().final_pass
        return not broken_so_far(plan, self.trip.query, self.trip.world)
