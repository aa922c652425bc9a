"""INTENT-like: the plan of the least risk, and its first action alone."""

from __future__ import annotations

import pytest

from experiments.comparators.annotated import AnnotatedPlan
from experiments.comparators.intent import safest
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.plugins import load
from tape.tools import ToolEnvironment, tool
from tests.tape.tools.helpers import asked as asked_now


def annotated(action: str, usd: int, success: float) -> AnnotatedPlan:
    return AnnotatedPlan([action], [{"usd": usd}], [""], success)


def test_the_likeliest_plan_is_taken_that_fits_at_its_cost_over_its_chance() -> None:
    dear, cheap = annotated("a", 8, 0.9), annotated("b", 2, 0.4)
    assert safest([dear, cheap], {"usd": 10}) is dear  # 8.9 of 10
    assert safest([dear, cheap], {"usd": 8}) is cheap  # 8.9 of 8, and 5 of 8
    assert safest([dear, cheap], {"usd": 1}) is cheap  # neither fits; 5 times what is left, and 8.9 times
    assert safest([cheap, dear], {}) is dear
    assert safest([annotated("c", 1, 1.0), cheap], {"usd": 0}).actions == ["c"]


def test_it_plans_again_before_each_action() -> None:
    asked: list[str] = []

    @tool(usd="0.01")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def model(request: Request, sample: int) -> str:
        asked.append(request.role)
        if request.role != "plan":
            return "right"
        return "answer(r1)" if "r1 = " in asked_now(request) else "r1 = add(1, 2)\nanswer(r1)"

    agent = load("tape.agents", "experiments.comparators.intent:IntentAgent")(ScriptedLM(model))
    result = agent.run(ToolEnvironment("Add 1 and 2.", [add], budget="$0.01, 3 steps"))
    assert (result.end_state, result.answer, result.steps) == ("success", 3, 2)
    assert asked.count("plan") == 2 * agent.config.num_plans


@pytest.mark.parametrize(
    "name", ["experiments.comparators.intent:IntentAgent", "experiments.comparators.vinelm:VineLmAgent"]
)
def test_a_call_that_a_person_refuses_again_and_again_ends_the_episode(name: str) -> None:
    @tool(usd="0.01", destructive=True)
    def delete() -> str:
        """Delete all."""
        raise AssertionError("it was refused")

    def model(request: Request, sample: int) -> str:
        return "gone = delete()\nanswer(gone)"

    agent = load("tape.agents", name)(ScriptedLM(model))
    result = agent.run(ToolEnvironment("Delete.", [delete], budget="$0.01, 3 steps"), approve=lambda _: False)
    assert not result.success
    assert result.steps == 0
