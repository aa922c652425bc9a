"""The ``chat`` prompt format: trips for general instruction-tuned models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from envs.travelplanner.cost import dollars
from envs.travelplanner.domain import as_state
from envs.travelplanner.offers import Restaurant, Stay
from envs.travelplanner.prompts.common import TripFormat
from envs.travelplanner.slots import CHECK, RENDER, Slot
from envs.travelplanner.state import TripState
from envs.travelplanner.trip import Option
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import OfferedPath, offered_text

RULES = """You plan a trip by booking one option for each slot, in the order of the slots. An action is
"SLOT: OPTION", with an option exactly as it is listed. All prices are for the whole party, of a stay for all its
nights. Bookings cannot be undone, and the budget may not be exceeded. No restaurant and no sight is visited twice.
Self-driving goes with neither flights nor taxis on the same trip. Each required cuisine has to be eaten at least once.
The last two actions are "budget: check" and "itinerary: render"."""

PLAN_TOKENS, ACT_TOKENS = 2500, 300
SHOWN = 12
"""Options of a slot that are listed where all slots are."""


class _Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    plan: list[str] = Field(max_length=60)


class _Act(BaseModel):
    model_config = ConfigDict(extra="forbid")
    thought: str
    action: str


@lru_cache(maxsize=256)
def _fixed(action: str) -> type[BaseModel]:
    """A thought, and an action that is given."""
    fields: dict[str, Any] = {"thought": (str, ...), "action": (Literal[action], ...)}
    return create_model("Fixed", __config__=ConfigDict(extra="forbid"), **fields)


class ChatTripFormat(TripFormat):
    """Implements :class:`tape.protocols.prompt_format.PromptFormat` with chat messages."""

    def _task(self) -> str:
        query = self._trip.query
        wanted = query.constraints
        asked = [wanted.transportation, wanted.room_type, wanted.house_rule and f"{wanted.house_rule} allowed"]
        asked.append(f"cuisines: {', '.join(wanted.cuisines)}" if wanted.cuisines else None)
        told = "; ".join(one for one in asked if one) or "none"
        route = " - ".join((query.origin, *query.cities, query.origin))
        people = f"{query.people} people" if query.people > 1 else "1 person"
        return (
            f"Trip: {route}, {query.days} days from {query.start}, {people}, budget {dollars(query.budget)}.\n"
            f"Wishes: {told}."
        )

    def _so_far(self, state: TripState) -> str:
        lines = [f"{slot.name}: {name}" for slot, name in zip(self._trip.slots, state.booked, strict=False)]
        spent = self._trip.total(state)
        lines.append(f"spent {dollars(spent)}, left {dollars(max(0, self._trip.query.budget - spent))}")
        return "\n".join([*lines, state.note] if state.note else lines)

    def _messages(self, state: TripState, ask: str) -> tuple[Message, ...]:
        parts = [self._task(), f"Booked so far:\n{self._so_far(state)}", ask]
        return (Message("system", RULES), Message("user", "\n\n".join(parts)))

    def _listed(self, options: Sequence[Option]) -> str:
        return "\n".join(f"- {option.name} ({self._told(option)})" for option in options)

    @staticmethod
    def _told(option: Option) -> str:
        facts = [dollars(option.cost)]
        if isinstance(option.offer, Restaurant):
            facts += [", ".join(sorted(option.offer.cuisines))]
        if isinstance(option.offer, Stay):
            facts += [option.offer.room_type]
        facts += [f"rated {option.rating:g}"] if option.rating else []
        return "; ".join(facts)

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for all actions that are left."""
        del remaining
        here, groups = as_state(state), []
        for group, slots in self._open_groups(here).items():
            names = ", ".join(slot.name for slot in slots)
            offered = self._listed(self._domain.menu(slots[0])[:SHOWN]) or {"budget": f"- {CHECK}"}.get(
                group, f"- {RENDER}"
            )
            groups.append(f"{names}:\n{offered}")
        listed = "\n".join(groups)
        ask = f'Open slots in order, with options:\n{listed}\nAnswer as JSON: {{"plan": ["SLOT: OPTION", ...]}}'
        return Request(self._messages(here, ask), PLAN_TOKENS, constraint=JsonSchema(_Plan), role="plan")

    def _open_groups(self, state: TripState) -> dict[str, list[Slot]]:
        found: dict[str, list[Slot]] = {}
        for slot in self._trip.slots[len(state.booked) :]:
            found.setdefault(slot.group, []).append(slot)
        return found

    def read_plan(self, state: State, text: str) -> Plan:
        """The actions; of a malformed answer none."""
        del state
        try:
            return Plan(tuple(_Plan.model_validate_json(text).plan))
        except ValidationError:
            return Plan((), valid=False)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Whether an itinerary is good is computed; the model can only agree."""
        value = 1.0 if self._domain.covered(state) else -1.0
        prompt = (Message("user", "The itinerary has been checked. Answer with the word done."),)
        return Request(prompt, 3, constraint=Choice(("done",)), role="score"), {"done": value}

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_state(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and the next booking."""
        del remaining
        here = as_state(state)
        hint = "\nA plan for what is left:\n" + "\n".join(plan) if plan else ""
        form = 'Answer as JSON: {"thought": "...", "action": "SLOT: OPTION"}'
        if action is not None:
            ask = f"The next action is {action}.{hint}\n{form}"
        else:
            slot = self._trip.slot(here)
            named = {choice.partition(": ")[2] for choice in self.choices(here)}
            options = [] if slot is None else [one for one in self._trip.options(slot) if one.name in named]
            offered = self._listed(options) or "\n".join(f"- {name}" for name in sorted(named)) or "- nothing"
            ask = f"The next slot is {slot.name if slot else 'none'}. Its options:\n{offered}{hint}\n{form}"
        schema = _Act if action is None else _fixed(action)
        return Request(self._messages(here, ask), ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        try:
            read = _Act.model_validate_json(text)
        except ValidationError as error:
            raise InvalidOutputError(f"no action: {error.errors()[0]['msg']}") from None
        return read.thought, read.action.strip()

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans is best within the budget?\n{listed}\nAnswer with its number."
        options = tuple(str(i) for i in range(1, len(paths) + 1))
        return Request(self._messages(as_state(state), ask), 3, constraint=Choice(options), role="select")
