"""The ``chat`` prompt format of any world: its rules in words, JSON schemas from its models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from pydantic import BaseModel, Field, ValidationError, create_model

from tape.budget import in_units
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.protocols.answers import items_of
from tape.protocols.prompt_format import (
    Examples,
    OfferedPath,
    PromptFormat,
    asked,
    number_request,
    offered_text,
    states_along,
    turns,
)
from tape.tools.prompts.common import LONGEST_THOUGHT, fixed_model, json_object
from tape.tools.results import LONGEST_TEXT, cut, filler
from tape.world import example
from tape.world.actions import Actions, ActionType
from tape.world.domain import WorldDomain
from tape.world.errors import InvalidActionError
from tape.world.schema import SchemaAnswer, sample
from tape.world.state import StateType, WorldState, as_state, first

VERSION = "2"
"""Changes whenever a text below does; part of an episode's key."""

LONGEST_ACTION = 200
"""Tokens of an action whose arguments are open."""

LONGEST_QUOTE = 200
"""Characters that are quoted of what was seen."""

_SCORES = {"solved": 1.0, "possible": 0.0, "hopeless": -1.0}


class WorldFormat(PromptFormat):
    """Chat messages for general models."""

    def __init__(self, domain: WorldDomain, rules: str, longest_plan: int, examples: Examples | None = None) -> None:
        self._domain, self._rules, self._longest_plan = domain, rules, longest_plan
        self._examples = worked() if examples is None else examples

    @cached_property
    def system(self) -> str:
        """What stands before every question: rules, actions, and what the fields of a state mean."""
        actions = "\n".join(_listed(item) for item in self._actions.types.values())
        described = self._domain.states.descriptions()
        written = json.dumps(self._sample_action(), ensure_ascii=False)
        parts = [self._rules, f"The actions:\n{actions}\nAs JSON an action is written as in {written}"]
        parts += ["In the JSON of a state:\n" + "\n".join(described)] if described else []
        return "\n\n".join(parts)

    @property
    def _actions(self) -> Actions:
        return self._domain.actions

    def _sample_action(self) -> Mapping[str, Any]:
        """An action as models write it: the one with the most to write."""
        kind = max(self._actions.types.values(), key=lambda item: len(item.schema["properties"]))
        return {"name": kind.name, "arguments": sample(kind.schema)}

    @cached_property
    def _act(self) -> type[SchemaAnswer]:
        thought = (str, Field(max_length=LONGEST_THOUGHT))
        return create_model("Act", __base__=SchemaAnswer, thought=thought, action=(self._actions.written, ...))

    @cached_property
    def _outcome(self) -> type[SchemaAnswer]:
        predicted: Any = self._domain.states.predicted
        return create_model("Outcome", __base__=SchemaAnswer, state=(predicted | None, ...))

    @cached_property
    def _valid_outcome(self) -> type[SchemaAnswer]:
        return create_model("ValidOutcome", __base__=SchemaAnswer, state=(self._domain.states.predicted, ...))

    @cached_property
    def _seen_outcome(self) -> type[SchemaAnswer]:
        quote = (str, Field(max_length=LONGEST_QUOTE))
        return create_model(
            "SeenOutcome", __base__=SchemaAnswer, quote=quote, state=(self._domain.states.predicted, ...)
        )

    @cached_property
    def _rollouts(self) -> dict[int, type[SchemaAnswer]]:
        return {}

    def _rollout(self, count: int) -> type[SchemaAnswer]:
        """As many states as actions, no more and no fewer."""
        if count not in self._rollouts:
            predicted: Any = self._domain.states.predicted
            states = (list[predicted | None], Field(min_length=count, max_length=count))
            self._rollouts[count] = create_model("Rollout", __base__=SchemaAnswer, states=states)
        return self._rollouts[count]

    @cached_property
    def _action_tokens(self) -> int:
        """Tokens of an action: a token has a byte at least."""
        listed = self._actions.all
        return LONGEST_ACTION if listed is None else 40 + max(len(action.encode()) for action in listed)

    def _messages(
        self, role: str, state: State, ask: str, remaining: Mapping[str, int] | None = None, *, note: bool = False
    ) -> tuple[Message, ...]:
        here = as_state(state)
        parts = [f"Task: {self._domain.task}"] if self._domain.task else []
        parts.append(f"State: {here.text}")
        if note and here.note:
            parts.append(f"The last action: {here.note}")
        if remaining:
            left = ", ".join(in_units(kind, count) for kind, count in remaining.items())
            parts.append(f"Left of the budget: {left}")
        return turns(self.system, self._examples.get(role, ()), "\n\n".join([*parts, ask]))

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought, then for the actions that are still to be taken."""
        ask = (
            "Write a plan that reaches the goal from this state within what is left of the budget, with as few actions "
            "as possible. Think first, in one or two sentences: what is missing, and what does each action need? "
            'Answer as JSON with the fields "thought" and "actions", a list of actions.'
        )
        longest = max(1, min(self._longest_plan, remaining.get("steps", self._longest_plan)))
        return Request(
            self._messages("plan", state, ask, remaining, note=True),
            LONGEST_THOUGHT + 40 + self._action_tokens * longest,
            # What is longer than the steps left may hold the beginning of a path that is not.
            constraint=JsonSchema(self._actions.plan(self._longest_plan)),
            role="plan",
        )

    def read_plan(self, state: State, text: str) -> Plan:
        """The actions; of a malformed plan those at its beginning that can be read."""
        del state
        actions, whole = items_of(text, "actions")
        read: list[Action] = []
        for item in actions[: self._longest_plan]:
            try:
                read.append(self._read(item))
            except InvalidOutputError:
                return Plan(tuple(read), valid=False)
        return Plan(tuple(read), valid=whole and 1 <= len(actions) <= self._longest_plan)

    def _read(self, item: Any) -> Action:
        """An action from its JSON, or from its text."""
        try:
            if isinstance(item, str):
                return self._actions.canonical(item)
            if isinstance(item, dict) and isinstance(item.get("arguments"), dict):
                return self._actions.text(str(item.get("name")), item["arguments"])
        except InvalidActionError as error:
            raise InvalidOutputError(f"no action: {error}") from None
        written = json.dumps(self._sample_action())
        raise InvalidOutputError(f"no action: expected one like {written}, got {str(item)[:80]!r}")

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """Ask for all states along a plan at once."""
        listed = "\n".join(f"{number}. {action}" for number, action in enumerate(actions, 1))
        if not actions:
            return None
        count = f"{len(actions)} state{'s' if len(actions) > 1 else ''} in all"
        ask = (
            f"Suppose that these actions are taken from this state, one after the other:\n{listed}\n"
            f"{self._likeliest()}Write the state after each, {count}; null for one that the rules do not allow, and "
            'for all after it. Answer as JSON with the field "states", a list.'
        )
        return Request(
            self._messages("rollout", state, ask),
            40 + self._state_tokens(state) * len(actions),
            constraint=JsonSchema(self._rollout(len(actions))),
            role="rollout",
        )

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """States up to the first that is null or cannot be read; more states than actions are left out."""
        items, whole = items_of(text, "states")
        if not whole and not items:
            raise InvalidOutputError("no rollout: expected a JSON object with a list of states")
        return [
            *states_along(
                as_state(state),
                items[: len(actions)],
                lambda here, item: None if item is None else self._state(here, item),
            )
        ]

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for the state after one action."""
        null = "The rules allow it. " if valid else "Write null if the rules do not allow it. "
        ask = (
            f"Suppose that the action {action} is taken in this state. {self._likeliest()}"
            f"Write the state after it. {null}"
            'Answer as JSON with the field "state".'
        )
        schema = self._valid_outcome if valid else self._outcome
        prompt = self._messages("next", state, ask)
        return Request(prompt, 40 + self._state_tokens(state), constraint=JsonSchema(schema), role="next")

    def read_next(self, state: State, text: str) -> WorldState | None:
        """A state, or None for null."""
        data = json_object(text)
        if "state" not in data:
            raise InvalidOutputError("no outcome: the answer has no state")
        return None if data["state"] is None else self._state(as_state(state), data["state"])

    def _state(self, before: WorldState, item: Any) -> WorldState:
        states = self._domain.states
        try:
            written = states.predicted.model_validate_json(json.dumps(item))
        except (ValidationError, RecursionError) as error:
            reason = first(error) if isinstance(error, ValidationError) else "nested too deep"
            raise InvalidOutputError(f"no {states.name}: {reason}") from None
        return WorldState(states.after(before.text, written))

    def _likeliest(self) -> str:
        return "" if self._domain.deterministic else "Chance plays a part: say what is most likely. "

    def _state_tokens(self, state: State) -> int:
        """Tokens of a predicted state, with room for one that is longer than the present one."""
        return 48 + len(as_state(state).text.encode())

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask for one word."""
        ask = (
            "Judge this state. Answer with one word: solved if the goal is reached, hopeless if no sequence of actions "
            "can ever reach it, possible otherwise."
        )
        prompt = self._messages("score", state, ask)
        return Request(prompt, 4, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages("", state, question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and an action; with ``action`` only the thought is free."""
        hint = "\nA plan for what is left, to be kept to while it fits the state:\n" + "\n".join(plan) if plan else ""
        if action is None:
            schema: type[Any] = self._act
            ask = "Think in one sentence: what is missing still, and what does that need? Then choose the next action."
            ask += f'{hint}\nAnswer as JSON with the fields "thought" and "action".'
        else:
            schema = fixed_model(action)
            ask = f"The next action is {action}.{hint}\nSay in one sentence why. "
            ask += 'Answer as JSON with the fields "thought" and "action".'
        return Request(
            # The example is of a free choice.
            self._messages("act" if action is None else "", state, ask, remaining, note=True),
            LONGEST_THOUGHT + 40 + self._action_tokens,
            constraint=JsonSchema(schema),
            role="act",
        )

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        data = json_object(text)
        thought = data.get("thought", "")
        return cut(thought if isinstance(thought, str) else "", 4 * LONGEST_THOUGHT), self._read(data.get("action"))

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans reaches the goal within what is left of the budget?\n{listed}"
        ask += "\nAnswer with its number."
        return number_request(self._messages("select", state, ask, remaining, note=True), paths)

    def project_request(self, state: State) -> Request | None:
        """Ask what a text that was observed says about the state; None where the state itself was seen."""
        here = as_state(state)
        return self._reading(here.text, here.action, here.seen) if here.seen else None

    def _reading(self, before: str, action: Action, seen: str) -> Request:
        ask = (
            f"This is what was known. Then the action {action} was taken, and this was seen:\n"
            f"{cut(seen, LONGEST_TEXT)}\n\nQuote the words that tell what has changed, then write the state as it is "
            'now, by the rules and by what was seen. Answer as JSON with the fields "quote" and "state".'
        )
        here = WorldState(before)
        tokens = LONGEST_QUOTE + 40 + self._state_tokens(here)
        return Request(self._messages("project", here, ask), tokens, constraint=JsonSchema(self._seen_outcome))

    def read_project(self, state: State, text: str) -> WorldState:
        """The state that the model has read out of what was seen."""
        read = self.read_next(state, text)
        if read is None:
            raise InvalidOutputError("no state: a state was seen, and the answer is null")
        return WorldState(read.text, as_state(state).note)

    def unread(self, state: State) -> WorldState:
        """What was known before, with what was seen as a note."""
        here = as_state(state)
        return WorldState(here.text, here.note or cut(here.seen, LONGEST_TEXT))

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A reading of the longest text that is shown; None in worlds whose states are seen."""
        if not self._domain.reads:
            return None
        return self._reading(as_state(state).text, action, filler(LONGEST_TEXT))


def _listed(item: ActionType) -> str:
    """An action for prompts: its arguments, what it does, what it costs."""
    fixed = item.fixed()
    costs = [in_units(kind, count) for kind, count in fixed.items() if count is not None]
    costs += [f"{kind} that nobody knows" for kind, count in fixed.items() if count is None]
    costs += [f"{name} that depend on the state" for name, amount in item.amounts.items() if callable(amount)]
    return f"{item.listed()} Costs at most {', '.join(costs)}." if costs else item.listed()


@cache
def worked() -> Examples:
    """A worked example of each role, from a world of their own that is described with each."""
    states, kinds = StateType(example.Garden), [_kind(example.Fill), _kind(example.Pour)]
    domain = WorldDomain(states, Actions(kinds), deterministic=True)
    shown = WorldFormat(domain, example.RULES, 6, examples={})
    full, empty, done = (WorldState(states.write(state)) for state in (example.START, example.EMPTY, example.DONE))
    [pour] = example.ACTIONS
    left = {"steps": 4}
    seen = WorldState(full.text, seen=example.SEEN, action=pour)
    rolled = shown.rollout_request(full, [pour, pour])
    read = shown.project_request(seen)
    assert rolled is not None
    assert read is not None
    after = example.AFTER
    asked: dict[str, list[tuple[Request, object]]] = {
        "plan": [(shown.plan_request(empty, left), example.PLAN)],
        "rollout": [(rolled, {"states": [after, None]})],
        "next": [
            (shown.next_request(full, pour), {"state": after}),
            (shown.next_request(empty, pour), {"state": None}),
        ],
        "score": [(shown.score_request(done)[0], "solved"), (shown.score_request(empty)[0], "possible")],
        "act": [(shown.act_request(full, left, None, ()), example.ACT)],
        "project": [(read, example.READ)],
    }
    return {
        role: [_pair(shown.system, *pair, begins=i == 0) for i, pair in enumerate(of)] for role, of in asked.items()
    }


def _kind(model: type[BaseModel]) -> ActionType:
    return ActionType(model, lambda state, _: state, draws=False, amounts={"steps": 1})


def _pair(rules: str, request: Request, answer: object, *, begins: bool) -> tuple[str, str]:
    """A question about the other world and its answer; its rules come the first time."""
    head = f"First an example, of another world.\n{rules}" if begins else "Once more of that world."
    written = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return f"{head}\n\n{asked(request)}", written
