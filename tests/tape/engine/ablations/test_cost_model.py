"""C_theta: costs that the model predicts, and their effect on plans."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.engine.ablations.cost_model import LmCostModel
from tape.engine.result import EpisodeResult
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, tool
from tape.trace import ActedEvent, LedgerEvent, TraceWriter
from tests.tape.engine.roles import Weighing, context, options


def predicted(lm: ScriptedLM, *actions: str, kinds: Sequence[str] = ("usd",)) -> list[Resources]:
    return asyncio.run(LmCostModel(context(lm)).predict([("here", action) for action in actions], kinds))


def test_a_predicted_cost_is_the_expected_one_rounded_up() -> None:
    lm = Weighing(lambda request, count: [0.5, *[0.0] * (count - 2), 0.5])
    assert predicted(lm, "80", "1") == [Resources({"steps": 1, "usd": 40}), Resources({"steps": 1, "usd": 1})]
    assert options(lm.requests[0])[::8] == ("$0", "$0.00008")
    assert options(lm.requests[1]) == ("$0", "$0.000001")


@settings(max_examples=40)
@given(st.integers(0, 10**7), st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_no_prediction_is_above_the_declared_worst_case(worst: int, weights: list[float]) -> None:
    lm = Weighing(lambda request, count: weights[:count])
    [cost] = predicted(lm, str(worst))
    assert 0 <= (cost["usd"] or 0) <= worst
    if len(lm.requests) == 1 and not any(weights[: len(options(lm.requests[0]))]):
        assert cost["usd"] == worst


def test_only_what_is_capped_and_open_is_asked_about_once() -> None:
    lm = Weighing(lambda request, count: [1.0, *[0.0] * (count - 1)])
    model = LmCostModel(context(lm))
    pairs = [("here", "0"), ("here", "5"), ("here", "5"), ("there", "5")]
    first = asyncio.run(model.predict(pairs, ("usd",)))
    assert [cost["usd"] for cost in first] == [0, 0, 0, 0]
    assert [cost["steps"] for cost in first] == [1] * 4
    assert len(lm.requests) == 2  # nothing of what costs nothing, and no pair twice
    assert asyncio.run(model.predict(pairs, ("usd",))) == first
    assert len(lm.requests) == 2


def test_an_unreadable_cost_leaves_the_worst_case_and_counts() -> None:
    lm = Weighing(lambda request, count: [0.0] * count)
    roles = context(lm)
    [cost] = asyncio.run(LmCostModel(roles).predict([("here", "7")], ("usd", "steps")))
    assert cost == Resources({"steps": 1, "usd": 7})
    assert roles.malformed == 2


CENT = 10_000  # micro-dollars


@dataclass(frozen=True)
class Drawn:
    """A cost model: $0.05 at most, whatever it really is."""

    cents: Sequence[int]

    def worst(self) -> Resources:
        return Resources({"usd": 5 * CENT})

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        del result, rng
        return Resources({"usd": self.cents[int(arguments["part"]) % len(self.cents)] * CENT})


def look_up(cents: Sequence[int]) -> Tool:
    @tool(cost=Drawn(cents))
    def look(part: int) -> str:
        """Look a part up."""
        return f"part {part}"

    return look


def looking(cents: Sequence[int], cost: str, **switches: Any) -> tuple[EpisodeResult, TraceWriter]:
    """Three calls of a tool that declares $0.05 and really costs something else, under $0.12."""
    plan = [{"tool": "look", "arguments": {"part": part}} for part in range(3)]

    def reply(request: Request, sample: int) -> str:
        del sample
        if request.role == "select":
            return max(options(request), key=len)
        if request.role != "plan":
            return {"cost": cost, "score": "right"}[request.role]
        upcoming = re.search(r"next result will be #(\d+)", str(request.prompt))
        assert upcoming is not None, request
        return json.dumps({"calls": plan[int(upcoming[1]) - 1 :], "answer": "#3"})

    trace = TraceWriter("test", None)
    agent = TapeAgent(ScriptedLM(reply), num_plans=1, max_replans=3, **switches)
    env = ToolEnvironment("look up", [look_up(cents)], judge=lambda answer: answer == "part 2")
    return agent.run(env, budget=Budget.of(usd="$0.12"), trace=trace), trace


def test_plans_that_the_worst_case_rules_out_are_followed_where_costs_are_predicted() -> None:
    refused, _ = looking([1], "$0.00625")
    assert (refused.end_state, refused.steps) == ("infeasible", 0)
    found, _ = looking([1], "$0.00625", costs="lm")
    assert (found.end_state, found.used["usd"]) == ("success", 3 * CENT)
    assert found.lm_calls["cost"] >= 3


def test_what_no_longer_fits_at_its_worst_is_planned_again_and_not_executed() -> None:
    result, _ = looking([5], "$0.00625", costs="lm")
    assert result.end_state == "infeasible"  # $0.02 are left, and every call may take $0.05
    assert result.steps == 2
    assert result.used["usd"] == 10 * CENT
    assert result.replans == 1
    assert result.detail.endswith(", by predicted costs")


@settings(max_examples=12)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.sampled_from(["$0", "$0.0125", "$0.05"]))
def test_whatever_is_predicted_nothing_is_executed_that_does_not_fit_at_its_worst(cents: list[int], cost: str) -> None:
    result, trace = looking(cents, cost, costs="lm")
    assert result.used.get("usd", 0) <= 12 * CENT
    assert not result.budget_violations
    left = 12 * CENT
    for event in trace.events:
        if isinstance(event, LedgerEvent) and event.purpose.startswith("step:look"):
            if event.what == "reserve":
                assert (event.amounts.get("usd") or 0) == 5 * CENT <= left
            elif event.what == "settle":
                left -= event.amounts.get("usd") or 0
    assert sum(isinstance(event, ActedEvent) for event in trace.events) == result.steps


@pytest.mark.parametrize("costs", ["declared", "lm"])
def test_a_path_that_the_model_takes_without_looking_at_its_costs_is_begun(costs: str) -> None:
    result, _ = looking([1], "$0.05", selector="lm", costs=costs, on_infeasible="partial", resample=0)
    assert (result.success, result.steps, result.budget_violations) == (True, 4, [])
