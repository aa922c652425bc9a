"""The ``chat`` prompt format: trips for general instruction-tuned models."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.travelplanner.cost import dollars
from envs.travelplanner.domain import TripDomain, as_state
from envs.travelplanner.offers import Flight, Restaurant, Stay
from envs.travelplanner.prompts.common import TripFormat
from envs.travelplanner.prompts.example import ACT, BOOKED, EXAMPLE, PLAN
from envs.travelplanner.slots import CHECK, RENDER, WAYS, Slot
from envs.travelplanner.trip import TripOption, TripState, conflicting
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.protocols.answers import fields_of
from tape.protocols.prompt_format import Examples, asked, turns
from tape.reading import parsed

RULES = """You plan a trip by booking one option for each slot, in the order of the slots, always one of the options
that are listed, by the name it has there. All prices are for the whole party, of a stay for all its nights. Bookings
cannot be undone, and all of them together may not cost more than the budget. No restaurant and no sight is visited
twice. Self-driving goes with neither flights nor taxis on the same trip: who drives out has to be able to drive on and
back. Each required cuisine has to be eaten at least once. Last, the budget is checked and the itinerary rendered."""

LONGEST_THOUGHT = 200
"""Characters of a thought."""

_TOKENS_A_SLOT, _REST = 48, 60
"""Tokens of a slot and the longest name of an option, on a line of its own as some decoders write it."""

ACT_TOKENS = LONGEST_THOUGHT + 2 * _TOKENS_A_SLOT
SHOWN, LINES = 12, 70
"""Options of a slot that are listed at most where all slots are, and of all slots together about."""

_UNSAFE = re.compile(r"[^A-Za-z0-9]+")
_STRICT = ConfigDict(extra="forbid")
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))


class _Act(BaseModel):
    model_config = _STRICT
    thought: str
    action: str


@lru_cache(maxsize=256)
def _one_of(actions: tuple[str, ...]) -> type[BaseModel]:
    """A thought, and one of some actions."""
    fields: dict[str, Any] = {"thought": _THOUGHT, "action": (Literal[actions], ...)}
    return create_model("Book", __config__=_STRICT, **fields)


@lru_cache(maxsize=64)
def _plan_of(offered: tuple[tuple[str, tuple[str, ...]], ...]) -> type[BaseModel]:
    """A thought, and one of the options of every slot."""
    fields: dict[str, Any] = {name: (Literal[options], ...) for name, options in offered}
    return create_model("Trip", __config__=_STRICT, thought=_THOUGHT, **fields)


def field_name(slot: Slot) -> str:
    """What a slot is called in a plan: some endpoints take no blanks in names of fields."""
    return _UNSAFE.sub("_", slot.name).strip("_")


class ChatTripFormat(TripFormat):
    """Chat messages for general models.

    Args:
        domain: The trip.
        examples: Worked examples by role, questions and answers; by default those of :func:`worked`.
    """

    def __init__(self, domain: TripDomain, examples: Examples | None = None) -> None:
        super().__init__(domain)
        self._examples = worked() if examples is None else examples

    def _task(self) -> str:
        query = self._trip.query
        wanted = query.constraints
        asked = [wanted.transportation, wanted.room_type, wanted.house_rule and f"{wanted.house_rule} allowed"]
        asked.append(f"cuisines: {', '.join(wanted.cuisines)}" if wanted.cuisines else None)
        wishes = "; ".join(name for name in asked if name) or "none"
        route = " - ".join((query.origin, *query.cities, query.origin))
        people = f"{query.people} people" if query.people > 1 else "1 person"
        return (
            f"Trip: {route}, {query.days} days from {query.start}, {people}, budget {dollars(query.budget)}.\n"
            f"Wishes: {wishes}."
        )

    def _so_far(self, state: TripState) -> str:
        lines = [f"{slot.name}: {name}" for slot, name in zip(self._trip.slots, state.booked, strict=False)]
        spent = self._trip.total(state)
        lines.append(f"spent {dollars(spent)}, left {dollars(max(0, self._trip.query.budget - spent))}")
        return "\n".join([*lines, state.note] if state.note else lines)

    def _messages(self, state: TripState, ask: str, role: str = "") -> tuple[Message, ...]:
        parts = [self._task(), f"Booked so far:\n{self._so_far(state)}", ask]
        return turns(RULES, self._examples.get(role, ()), "\n\n".join(parts))

    def _listed(self, options: Sequence[TripOption]) -> str:
        return "\n".join(f"- {option.name} ({self._facts(option)})" for option in options)

    @staticmethod
    def _facts(option: TripOption) -> str:
        facts = [dollars(option.cost)]
        if isinstance(option.offer, Flight):
            facts += ["flight"]
        if isinstance(option.offer, Restaurant):
            facts += [", ".join(sorted(option.offer.cuisines))]
        if isinstance(option.offer, Stay):
            facts += [option.offer.room_type]
        facts += [f"rated {option.rating:g}"] if option.rating else []
        return "; ".join(facts)

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for one option of every open slot."""
        del remaining
        here, lists, offered = as_state(state), [], []
        groups = self._open_groups(here)
        for slots in groups.values():
            names = [field_name(slot) for slot in slots]
            options = self._shown(here, slots, max(3, LINES // len(groups)))
            lists.append(f"{', '.join(names)}:\n{self._listed(options) or '- nothing is left'}")
            # Where nothing is left every name is refused; the answer still needs one.
            offered += [(name, tuple(option.name for option in options) or ("nothing",)) for name in names]
        ask = (
            "Open slots in order, with their options:\n" + "\n".join(lists) + "\n\n"
            "Choose an option for every slot: think first, in one sentence, how to travel and what may be spent; then "
            "name the options. Each restaurant and each sight once; where one is named again, the cheapest that is not "
            'named is taken in its place. Answer as JSON with the field "thought" and one field a slot.'
        )
        return Request(
            self._messages(here, ask, "plan"),
            LONGEST_THOUGHT + _REST + _TOKENS_A_SLOT * len(offered),
            constraint=JsonSchema(_plan_of(tuple(offered))),
            role="plan",
        )

    def _open_groups(self, state: TripState) -> dict[str, list[Slot]]:
        """The slots that are still to be booked, by group; of the checks at the end nothing is asked."""
        slots: dict[str, list[Slot]] = {}
        for slot in self._trip.slots[len(state.booked) :]:
            if slot.kind not in ("budget", "render"):
                slots.setdefault(slot.group, []).append(slot)
        return slots

    def _shown(self, state: TripState, slots: Sequence[Slot], most: int = SHOWN) -> list[TripOption]:
        """The options of a group that are listed: the cheapest, and the cheapest of each mode and each cuisine."""
        used = set(self._trip.in_group(state, slots[0]))
        left = [
            option
            for option in self._domain.menu(slots[0])
            if self._trip.judged or (option.name not in used and not conflicting(state.mode, option.mode))
        ]
        count = max(len(slots) + 2, min(SHOWN, most))
        kept = {option.index for option in left[:count]}
        covered = 0
        modes = set()
        for option in left:
            if option.cuisines & ~covered or (slots[0].kind in WAYS and option.mode not in modes):
                kept.add(option.index)
                covered |= option.cuisines
                modes.add(option.mode)
        return [option for option in left if option.index in kept]

    def read_plan(self, state: State, text: str) -> Plan:
        """The actions, up to the first slot that has no option; one that is named twice is replaced."""
        here, (fields, whole) = as_state(state), fields_of(text)
        named = {group: set(self._trip.in_group(here, slots[0])) for group, slots in self._open_groups(here).items()}
        actions: list[Action] = []
        for slot in self._trip.slots[len(here.booked) :]:
            if slot.kind in ("budget", "render"):
                actions.append(f"{slot.name}: {CHECK if slot.kind == 'budget' else RENDER}")
                continue
            named_option = fields.get(field_name(slot))
            if not isinstance(named_option, str) or not named_option.strip():
                return Plan(tuple(actions), valid=False)
            option = named_option.strip()
            if option in named[slot.group] and not self._trip.judged:
                others = [each.name for each in self._domain.menu(slot) if each.name not in named[slot.group]]
                option = (others or [option])[0]
            named[slot.group].add(option)
            actions.append(f"{slot.name}: {option}")
        return Plan(tuple(actions), valid=whole)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Whether an itinerary is good is computed; the model can only agree."""
        value = 1.0 if self._domain.covered(state) else -1.0
        prompt = (Message("user", "The itinerary has been checked. Answer with the word done."),)
        return Request(prompt, 3, constraint=OneOf(("done",)), role="score"), {"done": value}

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
        form = 'Answer as JSON with the fields "thought", one sentence, and "action".'
        if action is not None:
            ask = f"The next action is {action}.{hint}\nSay in one sentence why. {form}"
            offered: tuple[str, ...] = (action,)
        else:
            slot = self._trip.slot(here)
            # What no filter leaves is refused, which is how the agent learns of it.
            offered = tuple(self.choices(here) or self._anything(slot))
            names = {choice.partition(": ")[2] for choice in offered}
            known = {option.name: self._facts(option) for option in (self._trip.options(slot) if slot else ())}
            listed_options = [f"- {name} ({facts})" for name, facts in known.items() if name in names]
            listed = "\n".join([*listed_options, *(f"- {name}" for name in sorted(names - known.keys()))])
            ask = (
                f"The next slot is {slot.name if slot else 'none'}. Its options:\n{listed}{hint}\nWhich one leaves a "
                f"way on, money and meals for what is wanted? The action is the slot, a colon and the name. {form}"
            )
        schema = _one_of(offered)
        return Request(self._messages(here, ask, "act"), ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def _anything(self, slot: Slot | None) -> list[Action]:
        if slot is None:
            return ["none"]
        return [f"{slot.name}: {option.name}" for option in self._trip.options(slot)[:SHOWN]] or [f"{slot.name}: none"]

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        read = parsed(_Act, text, "no action")
        return read.thought, read.action.strip()


@cache
def worked() -> Examples:
    """A worked example of a plan and of an action: the end of a trip that no set has."""
    shown = ChatTripFormat(TripDomain(EXAMPLE, "cheapest"), examples={})
    state = TripState(spent=0)
    for action in BOOKED:
        state = EXAMPLE.booked(state, action)
    plan, act = shown.plan_request(state, {}), shown.act_request(state, {}, None, ())
    return {"plan": ((asked(plan), json.dumps(PLAN)),), "act": ((asked(act), json.dumps(ACT)),)}
