"""Rules between steps: the best plan that keeps them is found, wrong ones are named, and what they exclude is said."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import networkx as nx
import pytest

from tape import select, select_in
from tape.choice import AtLeast, AtMost, Before, Excludes, Requires
from tape.errors import ConfigError
from tests.figures import record
from tests.tape.commandline import Tape

STEPS = "abcd"


def keeps(plan: Sequence[str], rule: Any) -> bool:
    """Whether a plan keeps a rule, by its definition."""
    match rule:
        case Requires(step, other):
            return step not in plan or other in plan
        case Excludes(step, other):
            return step not in plan or other not in plan
        case Before(first, step):
            return all(first in plan[:n] for n, taken in enumerate(plan) if taken == step)
        case AtMost(count, of):
            return sum(taken in of for taken in plan) <= count
        case AtLeast(count, of):
            return sum(taken in of for taken in plan) >= count
    raise AssertionError(rule)


def some_rules(rng: random.Random, most: int) -> list[Any]:
    pairs = [Requires, Excludes, Before]
    made: list[Any] = []
    for _ in range(rng.randint(1, most)):
        if rng.random() < 0.6:
            made.append(rng.choice(pairs)(*rng.sample(STEPS, 2)))
        else:
            made.append(rng.choice([AtMost, AtLeast])(rng.randint(0, 2), rng.sample(STEPS, rng.randint(1, 2))))
    return made


def walks(graph: Any, node: int, end: int) -> Iterator[list[str]]:
    if node == end:
        yield []
    for _, head, data in graph.edges(node, data=True):
        for rest in walks(graph, head, end):
            yield [data["action"], *rest]


def agrees(choose: Callable[..., Any], plans: Sequence[list[str]], rng: random.Random) -> bool:
    """Compare a choice with looking at all plans; returns whether there was one."""
    worth, price = ({step: rng.randint(1, 9) for step in STEPS} for _ in range(2))
    rules, cap = some_rules(rng, 4), rng.randint(4, 25)
    fitting = [plan for plan in plans if sum(price[step] for step in plan) <= cap]
    kept = [sum(worth[step] for step in plan) for plan in fitting if all(keeps(plan, rule) for rule in rules)]
    cost = {step: {"usd": usd} for step, usd in price.items()}
    choice = choose(cost=cost, value=worth, budget={"usd": cap}, rules=rules, proof=True, k=1)
    assert (choice.value, choice.proof is not None) == (max(kept, default=None), True), (plans, rules, cap)
    if choice.plan is not None:
        assert all(keeps(choice.plan, rule) for rule in rules)
        best = max(sum(worth[step] for step in plan) for plan in fitting)
        assert ("excluded the better plan" in choice.why.text) == (best > choice.value)
    return bool(kept)


def one_of_lists(rng: random.Random) -> bool:
    plans = [[*STEPS], *(rng.choices(STEPS, k=rng.randint(0, 5)) for _ in range(6))]
    return agrees(lambda **given: select(plans, **given), plans, rng)


def one_of_graphs(rng: random.Random) -> bool:
    graph = nx.MultiDiGraph()
    for node in range(5):
        for action in STEPS:
            graph.add_edge(node, min(5, node + rng.randint(1, 2)), action=action)
    return agrees(lambda **given: select_in(graph, start=0, goals=5, **given), [*walks(graph, 0, 5)], rng)


@pytest.mark.parametrize("make", [one_of_lists, one_of_graphs])
def test_the_best_plan_that_keeps_the_rules_is_found(make: Callable[[random.Random], bool]) -> None:
    found = [make(random.Random(seed)) for seed in (*range(60), 104)]
    assert {*found} == {True, False} or make is one_of_graphs


@pytest.mark.soak
@pytest.mark.parametrize("make", [one_of_lists, one_of_graphs])
def test_many_are_found(make: Callable[[random.Random], bool]) -> None:
    seeds = range(100, 5_100)
    feasible = sum(make(random.Random(seed)) for seed in seeds)
    record("proofs", f"rules, {make.__name__}", problems=len(seeds), with_a_plan=feasible, proven=len(seeds), wrong=0)


REFUNDS = [["refund"], ["check", "refund"], ["check"]]


def test_what_a_rule_excludes_is_said() -> None:
    choice = select(REFUNDS, value=[0.9, 0.8, 0.1], rules=[Before("check", "refund")])
    assert choice.plan == ["check", "refund"]
    assert "The rule Before(check, refund) excluded the better plan ['refund'], worth 0.9." in str(choice.why)


def test_the_rules_that_no_plan_keeps_are_named() -> None:
    rules = [Before("check", "refund"), AtLeast(2, of=["refund"]), AtMost(1, of=["refund"])]
    why = select(REFUNDS, value=[1, 1, 1], rules=rules).why
    assert str(why).startswith("No plan fits. No plan keeps AtLeast(2, of refund).")
    rules = [AtLeast(1, of=["refund"]), AtMost(0, of=["check"]), Requires("refund", "check")]
    why = select(REFUNDS, value=[1, 1, 1], rules=rules).why
    pair = "AtMost(0, of check) and Requires(refund, check)"
    assert str(why).startswith(
        f"No plan fits. No plan keeps {pair} together. The rule Requires(refund, check) excluded"
    )
    rules = [Before("check", "refund"), AtMost(0, of=["check"]), AtLeast(1, of=["refund"])]
    why = select(REFUNDS[1:2], value=[1], rules=rules[:2]).why
    assert str(why).startswith("No plan fits. No plan keeps AtMost(0, of check).")
    plans = [["refund"], ["check", "refund"]]
    why = select(plans, value=[1, 1], rules=rules[:2]).why
    assert str(why).startswith("No plan fits. No plan keeps Before(check, refund) and AtMost(0, of check) together.")


def test_a_plan_that_would_fit_without_the_rules_is_named() -> None:
    cost = {"check": {"usd": 5}, "refund": {"usd": 1}}
    choice = select(REFUNDS[:2], cost=cost, value=[1, 1], budget={"usd": 2}, rules=[Requires("refund", "check")])
    assert choice.plan is None
    assert "excluded ['refund'], which would fit." in str(choice.why)


def test_variants_go_by_both_names() -> None:
    given: dict[str, Any] = {"variants": {"search": ["cheap", "dear"]}, "value": {"dear": 3, "cheap": 1, "ask": 2.5}}
    plans = [["search", "ask"], ["search"]]
    assert select(plans, rules=[Excludes("dear", "ask")], **given).plan == ["cheap", "ask"]
    assert select(plans, rules=[Excludes("search", "ask")], **given).plan == ["dear"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (Before("a", "b"), "expected a list of rules"),
        (["before"], "is no rule"),
        ([Before("check", "refnud")], "'refnud', which is no step.*refund"),
        ([AtMost(-1, of=["check"])], "at least 0"),
        ([AtMost(True, of=["check"])], "at least 0"),
        ([AtLeast(1, of="check")], "of= is a list of steps"),
        ([{"before": ["check"]}], "is no rule"),
        ([{"at_most": 2}], "is no rule"),
        ([{}], "is no rule"),
    ],
)
def test_wrong_rules_are_refused(rules: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        select(REFUNDS, value=[1, 1, 1], rules=rules)


def test_a_file_has_rules(tmp_path: Any, tape: Tape) -> None:
    file = tmp_path / "plans.toml"
    file.write_text(
        'plans = [["refund"], ["check", "refund"]]\nvalue = [0.9, 0.8]\n'
        'rules = [{ before = ["check", "refund"] }, { at_most = 1, of = ["refund"] }]\n'
    )
    assert tape("plan", file).out.splitlines()[:3] == ["check", "refund", "worth 0.8; takes nothing"]


LEVELS = {
    "draft": {"usd": 1, "quality": 0.9}, "check": {"usd": 1, "quality": 0.9}, "send": {"usd": 1},
    "guess": {"usd": 0, "quality": 0.5},
}  # fmt: skip


def test_floors_are_of_the_product_or_of_the_least_step() -> None:
    plans = [["draft", "check", "send"], ["draft", "guess"], ["draft", "send"]]
    given: dict[str, Any] = {"cost": LEVELS, "value": [3, 2, 1], "budget": {"usd": 5}, "proof": True}
    choice = select(plans, at_least={"quality": 0.81}, **given)
    assert (choice.plan, choice.reached, [*choice.spent]) == (["draft", "check", "send"], {"quality": 0.81}, ["usd"])
    choice = select(plans, at_least={"quality": 0.82}, **given)
    assert (choice.plan, choice.reached) == (["draft", "send"], {"quality": 0.9})
    assert "The rule quality at least 0.82 excluded the better plan" in str(choice.why)
    assert select(plans, worst_at_least={"quality": 0.9}, **given).reached == {"quality": 0.9}
    none = select(plans[1:2], worst_at_least={"quality": 0.6}, **given | {"value": None})
    assert str(none.why).startswith("No plan fits. No plan keeps quality at least 0.6 in each step.")


@pytest.mark.parametrize("seed", range(20))
def test_floors_are_exact(seed: int) -> None:
    rng = random.Random(seed)
    levels = {step: rng.choice([0.9, 0.99, 0.8, 0.7, 1.0]) for step in STEPS}
    plans = [rng.choices(STEPS, k=rng.randint(1, 5)) for _ in range(6)]
    products = [prod([Fraction(repr(levels[step])) for step in plan], start=Fraction(1)) for plan in plans]
    floor = float(rng.choice(products))  # the product of one of them, so that the least digit decides
    fitting = [len(plan) for plan, product in zip(plans, products, strict=True) if product >= Fraction(f"{floor:.15g}")]
    cost = {step: {"quality": level} for step, level in levels.items()}
    choice = select(plans, cost=cost, value=[*map(len, plans)], at_least={"quality": floor})
    assert choice.value == max(fitting, default=None)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"at_least": {"quality": 0}}, "a floor is above 0"),
        ({"at_least": {"quality": 1.5}}, "a floor is above 0"),
        ({"at_least": 0.8}, "expected floors by name"),
        ({"worst_at_least": {"speed": 0.5}}, "no step has a level 'speed'"),
        ({"at_least": {"usd": 0.5}}, "a level is above 0 and at most 1"),
    ],
)
def test_wrong_floors_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        select([["draft"]], cost={"draft": {"usd": 2, "quality": 0.9}}, **given)
