"""VineLM-like: the likeliest plan that fits, chosen anew after each action among what follows it."""

from __future__ import annotations

import pytest

from experiments.comparators.annotated import AnnotatedPlan
from experiments.comparators.vinelm import likeliest
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.plugins import load
from tape.tools import ToolEnvironment, tool
from tests.tape.tools import helpers


def annotated(actions: str, usd: int, success: float) -> AnnotatedPlan:
    return AnnotatedPlan(list(actions), [{"usd": usd}] * len(actions), list(actions), success)


def test_the_likeliest_of_the_plans_that_fit_is_taken() -> None:
    dear, cheap = annotated("ab", 4, 0.9), annotated("ac", 1, 0.4)
    assert likeliest([dear, cheap], {"usd": 8}) is dear
    assert likeliest([dear, cheap], {"usd": 7}) is cheap
    assert likeliest([dear, cheap], {"usd": 1}) is None
    assert likeliest([dear, cheap], {}) is dear
    assert likeliest([dear, annotated("ad", 3, 0.9)], {"usd": 8}).actions == ["a", "d"]  # type: ignore[union-attr]


def test_the_rest_of_a_plan_costs_what_is_left_of_it() -> None:
    rest = annotated("abc", 2, 0.5).rest()
    assert (rest.actions, rest.keys, rest.share({"usd": 8})) == (["b", "c"], ["b", "c"], 0.5)


@pytest.mark.parametrize(("failures", "sampled"), [(0, 1), (1, 2)])
def test_it_samples_again_only_where_the_state_is_not_the_predicted_one(failures: int, sampled: int) -> None:
    asked: list[str] = []
    left = [failures]

    @tool(usd="0.01")
    def add(a: int, b: int) -> int:
        """Add."""
        left[0] -= 1
        if left[0] >= 0:
            raise ValueError("out of order")
        return a + b

    def model(request: Request, sample: int) -> str:
        asked.append(request.role)
        if request.role != "plan":
            return "right"
        first = "add(2, 1)" if "out of order" in helpers.asked(request) else "add(1, 2)"  # what failed is not repeated
        return f"{first}\nanswer(add(2, 2))"

    agent = load("tape.agents", "experiments.comparators.vinelm:VineLmAgent")(ScriptedLM(model), num_plans=2)
    played = agent.run(ToolEnvironment("Add 2 and 2.", [add], budget="$0.04, 6 steps"))
    assert (played.success, played.answer) == (True, 4)
    assert (asked.count("plan") // 2, played.mismatches) == (sampled, failures)
