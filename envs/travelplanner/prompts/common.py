"""What the prompt formats of trips share."""

from __future__ import annotations

from envs.travelplanner.domain import TripDomain, as_state
from envs.travelplanner.menu import filtered
from envs.travelplanner.slots import CHECK, RENDER
from envs.travelplanner.trip import TripState
from tape.protocols import Action, State
from tape.protocols.prompt_format import PromptFormat


class TripFormat(PromptFormat):
    """What is the same for all models."""

    def __init__(self, domain: TripDomain) -> None:
        self._domain, self._trip = domain, domain.trip

    def choices(self, state: State) -> list[Action]:
        """The actions that the five filters leave for the next slot, cheapest first; may be none."""
        here: TripState = as_state(state)
        slot = self._trip.slot(here)
        if slot is None:
            return []
        if slot.kind in ("budget", "render"):
            return [f"{slot.name}: {CHECK if slot.kind == 'budget' else RENDER}"]
        left = None if here.spent is None else self._trip.query.budget - here.spent
        return [f"{slot.name}: {option.name}" for option in filtered(self._trip, here, slot, left).options]
