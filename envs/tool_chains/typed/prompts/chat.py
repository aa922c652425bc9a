"""The ``chat`` prompt format: typed tools for general instruction-tuned models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.tool_chains.typed.domain import TypedState, as_action, as_typed
from envs.tool_chains.typed.prompts.common import LONGEST, LONGEST_REQUEST, TypedFormat
from tape.budget import in_units
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.lm.reading import Reading
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import turns
from tape.tools.calls import answer, parse
from tape.tools.prompts.common import JUDGED_WRONG, fixed_model, json_object
from tape.tools.tool import Tool

RULES = """You make something by calling tools. Each tool takes things of the types left of its arrow, which have to be
at hand, and gives one thing of the type right of it. What a tool takes is used up; what was there from the start is
never used up. Some tools do at once what several others do one after another. Every call costs what is listed; a call
that does not fit into what is left of the budget is not made. What is wanted is handed in last, once. The cheapest way
is the best."""

READING = """You read what somebody asks for, and say which of the listed things it is. Every listed thing is named by
all that tells it apart; the request may use other words for it."""

LONGEST_THOUGHT, MOST_CALLS = 300, 24
"""Characters of a thought; calls in a plan."""

_SCORES = {"right": 1.0, "wrong": JUDGED_WRONG}
_STRICT = ConfigDict(extra="forbid")
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))
_HAND_IN = "hand in: "


@lru_cache(maxsize=64)
def _plan_of(names: tuple[str, ...]) -> type[BaseModel]:
    """A thought, and tools in order."""
    tools: Any = (list[Literal[names]], Field(min_length=1, max_length=MOST_CALLS))  # type: ignore[valid-type]
    return create_model("TypedPlan", __config__=_STRICT, thought=_THOUGHT, tools=tools)


@lru_cache(maxsize=64)
def _act_of(options: tuple[str, ...]) -> type[BaseModel]:
    """A thought, and one of some calls."""
    fields: dict[str, Any] = {"thought": _THOUGHT, "call": (Literal[options], ...)}
    return create_model("TypedAct", __config__=_STRICT, **fields)


class ChatTypedFormat(TypedFormat):
    """Chat messages for general models.

    Tools and prices are the system's turn, which all requests of an episode share until the list changes.
    """

    def _messages(self, state: TypedState, ask: str, remaining: Mapping[str, int] | None = None) -> tuple[Message, ...]:
        listed = "\n".join(_listed(item) for item in self._domain.tools(state))
        there = ", ".join(sorted(self._domain.have)) or "nothing"
        left = ", ".join(in_units(kind, count) for kind, count in (remaining or {}).items())
        parts = [f"Request: {state.request}"] if state.request else []
        parts += [f"Wanted: {state.wanted}"] if state.wanted is not None else []
        parts += [f"There from the start: {there}", f"At hand: {', '.join(state.at_hand) or 'nothing else'}"]
        parts += [f"Closed tools: {', '.join(state.closed)}"] if state.closed else []
        parts += [f"Note: {state.note}"] if state.note else []
        parts += [f"Left of the budget: {left}"] if left else []
        return turns(f"{RULES}\n\nTools:\n{listed}", (), "\n\n".join([*parts, ask]))

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought and the tools that are still to be called, in order."""
        here = as_typed(state)
        ask = (
            "List the tools that are still to be called, in order, until what is wanted is at hand: the cheapest that "
            'fit into the budget. Answer as JSON with the fields "thought", one sentence, and "tools".'
        )
        names = tuple(item.name for item in self._domain.tools(here)) or ("none",)
        tokens = LONGEST_THOUGHT + 20 * MOST_CALLS
        schema = JsonSchema(_plan_of(names))
        return Request(self._messages(here, ask, remaining), tokens, constraint=schema, role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The calls, then what is wanted is handed in."""
        here = as_typed(state)
        by_name = {item.name: item for item in self._domain.tools(here)}
        try:
            names = json_object(text).get("tools")
        except InvalidOutputError:
            return Plan((), valid=False)
        if not isinstance(names, list) or len(names) > MOST_CALLS:
            return Plan((), valid=False)
        actions: list[Action] = []
        for name in names:
            if not isinstance(name, str) or name not in by_name:
                return Plan(tuple(actions), valid=False)
            actions.append(as_action(by_name[name]))
        return Plan((*actions, answer(here.wanted).text)) if here.wanted is not None else Plan(tuple(actions), False)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask whether what is handed in is what was asked for."""
        here = as_typed(state)
        ask = (
            f"Request: {here.request or f'make {here.wanted}'}\n\nHanded in: {here.handed_in or 'nothing'}\n\nIs that "
            "what was asked for? Answer right or wrong."
        )
        return Request(turns(READING, (), ask), 3, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_typed(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and one call."""
        here = as_typed(state)
        hint = "A plan for what is left:\n" + "\n".join(plan) + "\n\n" if plan else ""
        if action is None:
            ask = (
                f"{hint}Make the next call, or hand in what is wanted. Answer as JSON with the fields "
                '"thought", one sentence, and "call".'
            )
            options = [item.name for item in self._domain.tools(here)]
            options += [f"{_HAND_IN}{name}" for name in dict.fromkeys((*here.at_hand, *sorted(self._domain.have)))]
            schema = _act_of(tuple(options) or ("none",))
        else:
            ask = f'{hint}The next action is {action}.\nSay in one sentence what it is for, then repeat it as "action".'
            schema = fixed_model(action)
        prompt = self._messages(here, ask, remaining)
        return Request(prompt, LONGEST_THOUGHT + 60, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        data = json_object(text)
        thought = str(data.get("thought", ""))
        if isinstance(data.get("action"), str):
            return thought, parse(data["action"]).text
        named = data.get("call")
        if not isinstance(named, str):
            raise InvalidOutputError('no call: the field "call" is missing')
        if named.startswith(_HAND_IN):
            return thought, answer(named.removeprefix(_HAND_IN)).text
        tool = next((item for item in self._domain.tools(state) if item.name == named), None)
        if tool is None:
            raise InvalidOutputError(f"no call: there is no tool {named[:80]!r}")
        return thought, as_action(tool)

    def reading(self, state: State, action: Action | None = None) -> Reading | None:
        """Which of the goals is asked for, without a list of them."""
        text = as_typed(state).unread if action is None else LONGEST * self._domain.asks_again
        return Reading(text[:LONGEST_REQUEST], self._goals) if self._goals and text else None

    def _reading(self, request: str) -> Request:
        listed = "\n".join(f"- {goal}" for goal in self._goals)
        ask = (
            f"Things:\n{listed}\n\nRequest: {request[:LONGEST_REQUEST]}\n\n"
            "Which of these things is asked for? Answer with it, word by word."
        )
        return Request(turns(READING, (), ask), 60, constraint=self._choice(), role="project")


def _listed(item: Tool) -> str:
    """A tool on one line."""
    known = {kind: count for kind, count in item.worst.items() if count is not None and kind != "steps"}
    costs = ", ".join(in_units(kind, count) for kind, count in known.items())
    marked = " Destructive." if item.destructive else ""
    return f"- {item.name}: {' + '.join(item.takes) or 'nothing'} -> {item.gives} ({costs or 'free'}){marked}"
