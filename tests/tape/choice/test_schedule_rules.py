"""Rules in schedules: equal to all combinations, and in words where they exclude a better plan or one another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from tape import ConfigError, schedule
from tape.choice import AtLeast, AtMost, Before, Excludes, Requires
from tests.figures import record

NAMES = ("ask", "check", "refund", "write")


def kept(rule: Any, names: Sequence[str]) -> bool:
    """Whether a plan of these variants keeps a rule, by its definition."""
    match rule:
        case Requires(step, other):
            return step not in names or other in names
        case Excludes(step, other):
            return step not in names or other not in names
        case AtMost(count, of):
            return sum(name in of for name in names) <= count
        case AtLeast(count, of):
            return sum(name in of for name in names) >= count
    raise AssertionError(rule)


def drawn(seed: int) -> tuple[dict[str, list[dict[str, Any]]], list[Any], float | None, int]:
    """Steps, rules, a floor on the worst quality, and a budget."""
    rng = random.Random(seed)
    steps = {
        f"step {number}": [
            {"name": name, "usd": rng.randint(0, 5), "value": rng.randint(0, 9), "quality": rng.choice([0.5, 0.8, 1])}
            for name in rng.sample(NAMES, rng.randint(1, 3))
        ]
        for number in range(rng.randint(1, 4))
    }
    there = sorted({variant["name"] for row in steps.values() for variant in row})
    rules: list[Any] = []
    for _ in range(rng.randint(1, 4) if len(there) > 1 else 0):
        first, second = rng.sample(there, 2)
        of = rng.sample(there, rng.randint(1, len(there)))
        count = rng.randint(0, len(steps))
        rules.append(
            rng.choice([Requires(first, second), Excludes(first, second), AtMost(count, of), AtLeast(count, of)])
        )
    return steps, rules, rng.choice([None, None, 0.6]), rng.randint(2, 18)


@pytest.mark.parametrize("seeds", [range(150), pytest.param(range(150, 10_000), marks=pytest.mark.soak)])
def test_the_best_of_all_combinations_is_chosen(seeds: range) -> None:
    for seed in seeds:
        steps, rules, worst, cap = drawn(seed)
        floor = None if worst is None else {"quality": worst}
        choice = schedule(steps, budget={"usd": cap}, rules=rules, worst_at_least=floor)
        plans = [
            sum(variant["value"] for variant in plan)
            for plan in product(*steps.values())
            if sum(variant["usd"] for variant in plan) <= cap
            and all(kept(rule, [variant["name"] for variant in plan]) for rule in rules)
            and all(worst is None or variant["quality"] >= worst for variant in plan)
        ]
        assert choice.value == max(plans, default=None), seed
    record("proofs", "rules of schedules", problems=len(seeds), wrong=0)


def variant(name: str, value: int) -> dict[str, Any]:
    return {"name": name, "value": value, "usd": 1}


STEPS = {"look": [variant("ask", 5), variant("check", 1)], "act": [variant("refund", 5), variant("write", 2)]}


def test_what_rules_excluded_is_said() -> None:
    choice = schedule(STEPS, budget="usd=9", rules=[Excludes("ask", "refund")])
    assert sorted(choice.plan or []) == ["ask", "write"]
    assert "The rule Excludes(ask, refund) excluded the better plan, worth 10." in str(choice.why)
    assert "excluded" not in str(schedule(STEPS, budget="usd=9", rules=[Requires("ask", "refund")]).why)
    assert schedule(STEPS, rules=[{"at_least": 1, "of": ["check"]}]).value == 6


def test_a_contradiction_names_its_rules() -> None:
    rules = [AtMost(1, of=["write"]), Requires("ask", "write"), AtLeast(1, of=["ask"]), AtLeast(1, of=["refund"])]
    choice = schedule(STEPS, budget="usd=9", rules=rules)
    assert choice.plan is None
    assert str(choice.why) == (
        "No plan of these steps keeps Requires(ask, write) and AtLeast(1, of ask) and AtLeast(1, of refund)."
    )
    short = schedule(STEPS, budget="usd=1", rules=[AtLeast(1, of=["ask"])])
    assert "usd is short" in str(short.why)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"rules": [Before("ask", "refund")]}, "the order of a schedule is what after= says"),
        ({"rules": [Excludes("ask", "refunds")]}, "which no variant is called"),
        ({"rules": [AtLeast(3, of=["ask"])]}, "there are 2 steps, and each is done once"),
        ({"worst_at_least": {"quality": 2}}, "a floor is above 0 and at most 1"),
    ],
)
def test_wrong_rules_are_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why.replace("?", r"\?")):
        schedule(STEPS, **asked)


def test_a_level_is_above_0_and_at_most_1() -> None:
    with pytest.raises(ConfigError, match="a variant of 'look' has quality 3"):
        schedule({"look": [{"name": "ask", "quality": 3}]}, worst_at_least={"quality": 0.5})
