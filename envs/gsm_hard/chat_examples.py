"""Worked examples of word problems for general models: in our own words, none of a generated or public problem."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.protocols.prompt_format import asked
from tape.tools.calls import from_mapping
from tape.tools.domain import ToolDomain
from tape.tools.prompts.chat import ChatToolFormat
from tape.tools.state import ToolState

_LEFT = {"steps": 9}

_SEATS = "A hall has 34 rows of 28 seats. 59 seats are broken. How many people can sit down?"
_SEATS_THOUGHT = "All seats are 34 times 28; from them the 59 broken ones are taken away."
_SEATS_CALLS = (("multiply", {"a": 34, "b": 28}), ("subtract", {"a": "#1", "b": 59}))

_TANK = "Of the 5,400 litres in a tank 3% run out. How many litres are left?"
_TANK_THOUGHT = "What runs out is 5400 times 3 divided by 100; it is taken from the 5400 litres."
_TANK_CALLS = (
    ("multiply", {"a": 5400, "b": 3}),
    ("divide", {"a": "#1", "b": 100}),
    ("subtract", {"a": 5400, "b": "#2"}),
)
_WRONG_CALLS = (("multiply", {"a": 34, "b": 28}), ("add", {"a": "#1", "b": 59}))


def chat_format(domain: ToolDomain) -> ChatToolFormat:
    """The ``chat`` prompt format with examples that use the tools at hand; others where kinds are missing."""
    kinds = {"add", "subtract", "multiply", "divide"}
    if not kinds <= set(domain.toolbox.kinds):
        return ChatToolFormat(domain)
    return ChatToolFormat(domain, _examples(domain))


def _examples(domain: ToolDomain) -> Mapping[str, Sequence[tuple[str, str]]]:
    # The examples are asked as the real questions are: by a format of their own, without examples.
    seats, tank = (ChatToolFormat(ToolDomain(text, domain.toolbox), {}) for text in (_SEATS, _TANK))
    half = _after(domain, _SEATS_CALLS[:1], ["952"])
    done = _after(domain, _SEATS_CALLS, ["952", "893"])
    ends = [replace(_after(domain, calls, ["0", "0"]), answer="#2") for calls in (_SEATS_CALLS, _WRONG_CALLS)]
    act = {"thought": "Of the 952 seats the 59 broken ones are taken away.", "call": _call(domain, *_SEATS_CALLS[1])}
    return {
        "plan": (
            (asked(seats.plan_request(ToolState(), _LEFT)), _plan(domain, _SEATS_THOUGHT, _SEATS_CALLS)),
            (asked(tank.plan_request(ToolState(), _LEFT)), _plan(domain, _TANK_THOUGHT, _TANK_CALLS)),
        ),
        "act": ((asked(seats.act_request(half, _LEFT, None, ())), json.dumps(act)),),
        "score": tuple(
            (asked(seats.score_request(end)[0]), verdict) for end, verdict in zip(ends, ("right", "wrong"), strict=True)
        ),
        "answer": ((asked(seats.answer_request(done)), json.dumps({"answer": "#2"})),),
    }


def _name(domain: ToolDomain, kind: str) -> str:
    """The tool of a kind that is neither the cheapest nor the dearest, where there are as many."""
    tools = domain.toolbox.of_kind(kind)
    return tools[len(tools) // 2].name


def _call(domain: ToolDomain, kind: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": _name(domain, kind), "arguments": dict(arguments)}


def _plan(domain: ToolDomain, thought: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    written = [_call(domain, kind, arguments) for kind, arguments in calls]
    return json.dumps({"thought": thought, "calls": written, "answer": f"#{len(calls)}"})


def _after(domain: ToolDomain, calls: Sequence[tuple[str, Mapping[str, Any]]], results: Sequence[str]) -> ToolState:
    state = ToolState()
    for (kind, arguments), result in zip(calls, results, strict=True):
        state = state.with_call(from_mapping(_name(domain, kind), arguments), result)
    return state
