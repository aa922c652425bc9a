"""Worked examples of questions of several hops for general models: about things that no corpus has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.protocols.prompt_format import asked
from tape.tools.calls import from_mapping
from tape.tools.domain import ToolDomain
from tape.tools.prompts.chat import ChatToolFormat
from tape.tools.prompts.chat_text import read_example
from tape.tools.state import ToolState

KIND = "search"

LONGEST_QUERY = 120
"""Characters of a query."""

_LEFT = {"steps": 9}

_BRIDGE = "In which country was the designer of the Osprey Bridge born?"
_BRIDGE_THOUGHT = "First the designer of the Osprey Bridge is looked up, then the country where that person was born."
_BRIDGE_QUERIES = ("designer of Osprey Bridge", "country of birth of #1")

_ROAD = "Which river flows through the town where the author of The Salt Road went to school?"
_ROAD_THOUGHT = "First the author of The Salt Road, then the town of that person's school, then the river there."
_ROAD_QUERIES = ("author of The Salt Road", "town where #1 went to school", "river through #2")
_WRONG_QUERIES = ("designer of Osprey Bridge", "country of Osprey Bridge")

_READ: Sequence[tuple[str, str]] = (
    read_example(
        "designer of Osprey Bridge",
        "Osprey Bridge crosses the Minch in two spans. Ingrid Lund drew its plans in 1931. Heron Bridge: It is a "
        "railway bridge. It was designed by Paul Sauer.",
        "Ingrid Lund drew its plans in 1931.",
        "Ingrid Lund",
    ),
    read_example(
        "country of birth of Ingrid Lund",
        "Heron Bridge is a railway bridge. Paul Sauer was born in Austria.",
        "",
        "",
    ),
)


def chat_format(domain: ToolDomain) -> ChatToolFormat:
    """The ``chat`` prompt format with examples that use the retrievers at hand."""
    if KIND not in domain.toolbox.kinds:
        return ChatToolFormat(domain, {"read": _READ}, LONGEST_QUERY)
    return ChatToolFormat(domain, _examples(domain), LONGEST_QUERY)


def _examples(domain: ToolDomain) -> Mapping[str, Sequence[tuple[str, str]]]:
    # The examples are asked as the real questions are: by a format of their own, without examples.
    bridge, road = (ChatToolFormat(ToolDomain(text, domain.toolbox), {}, LONGEST_QUERY) for text in (_BRIDGE, _ROAD))
    half, done = (_after(domain, _BRIDGE_QUERIES[:k], ("Ingrid Lund", "Norway")[:k]) for k in (1, 2))
    ends = [replace(_after(domain, queries, ("", "")), answer="#2") for queries in (_BRIDGE_QUERIES, _WRONG_QUERIES)]
    act = {
        "thought": "The designer is Ingrid Lund; now her country is looked up.",
        "call": _call(domain, _BRIDGE_QUERIES[1]),
    }
    return {
        "plan": (
            (asked(road.plan_request(ToolState(), _LEFT)), _plan(domain, _ROAD_THOUGHT, _ROAD_QUERIES)),
            (asked(bridge.plan_request(ToolState(), _LEFT)), _plan(domain, _BRIDGE_THOUGHT, _BRIDGE_QUERIES)),
        ),
        "act": ((asked(bridge.act_request(half, _LEFT, None, ())), json.dumps(act)),),
        "score": tuple(
            (asked(bridge.score_request(end)[0]), verdict)
            for end, verdict in zip(ends, ("right", "wrong"), strict=True)
        ),
        "read": _READ,
        "answer": ((asked(bridge.answer_request(done)), json.dumps({"answer": "#2"})),),
    }


def _call(domain: ToolDomain, query: str) -> dict[str, Any]:
    """A call of the retriever that is neither the cheapest nor the dearest."""
    tools = domain.toolbox.of_kind(KIND)
    return {"tool": tools[len(tools) // 2].name, "arguments": {"query": query}}


def _plan(domain: ToolDomain, thought: str, queries: Sequence[str]) -> str:
    calls = [_call(domain, query) for query in queries]
    return json.dumps({"thought": thought, "calls": calls, "answer": f"#{len(queries)}"})


def _after(domain: ToolDomain, queries: Sequence[str], results: Sequence[str]) -> ToolState:
    state = ToolState()
    for query, result in zip(queries, results, strict=True):
        made = _call(domain, query)
        state = state.with_call(from_mapping(made["tool"], made["arguments"]), json.dumps(result))
    return state
