"""What the prompt formats of trips share."""

from __future__ import annotations

from collections.abc import Sequence

from envs.travelplanner.domain import TripDomain, as_state
from envs.travelplanner.filtering import filtered
from envs.travelplanner.slots import CHECK, RENDER
from envs.travelplanner.state import TripState
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.protocols import Action, State


class TripFormat:
    """Implements the part of :class:`tape.protocols.prompt_format.PromptFormat` that is the same for all models.

    Args:
        domain: The trip.
    """

    def __init__(self, domain: TripDomain) -> None:
        self._domain, self._trip = domain, domain.trip

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """None: no model predicts what bookings lead to."""
        del state, actions
        return None

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Never asked for."""
        del state, actions, text
        raise ConfigError("bookings declare what they lead to; no model predicts it")

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Never asked for."""
        del state, action, valid
        raise ConfigError("bookings declare what they lead to; no model predicts it")

    def read_next(self, state: State, text: str) -> State | None:
        """Never asked for."""
        del state, text
        raise ConfigError("bookings declare what they lead to; no model predicts it")

    def read_intention(self, thought: str) -> Action | None:
        """None: what a thought about a trip intends is not read."""
        del thought
        return None

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
