"""The ``declared`` prompt format: a model only picks one of the listed options.

Plans need no model: the request's constraint admits the one text that :mod:`envs.travelplanner.domain`
writes. So agents that plan need no language model here, and the solver's choice is all that counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envs.travelplanner.domain import as_state, first_complete
from envs.travelplanner.prompts.common import TripFormat
from tape.errors import InvalidOutputError
from tape.lm.base import Forced, OneOf, Request
from tape.protocols import Action, Plan, State

_TOKENS = 4000
_GIVE_UP = "nothing can be booked"


class DeclaredTripFormat(TripFormat):
    """Prompts for :mod:`envs.travelplanner.declared_lm`."""

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """The declared plan is the only answer."""
        del remaining
        plan = first_complete(self._domain, as_state(state))
        return Request("plan", _TOKENS, constraint=Forced("\n".join(plan) or _GIVE_UP), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """One action a line."""
        del state
        return Plan(()) if text == _GIVE_UP else Plan(tuple(text.split("\n")))

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """An itinerary without the required cuisines is hopeless, every other one done."""
        value = 1.0 if self._domain.covered(state) else -1.0
        return Request("score", 1, constraint=OneOf(("done",)), role="score"), {"done": value}

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """The action of the plan, or a choice among what the five filters leave."""
        del remaining
        if action is not None:
            return Request(f"act: {action}", 100, constraint=Forced(action), role="act")
        options = list(dict.fromkeys([*plan[:1], *self.choices(state)])) or [_GIVE_UP]
        return Request("act", 100, constraint=OneOf(tuple(options)), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The text is the action."""
        del state
        if text == _GIVE_UP:
            raise InvalidOutputError("no option is left")
        return "", text
