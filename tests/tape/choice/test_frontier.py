"""`select(..., frontier=...)` and `choice.why.more` against brute force, in every form that plans are given in."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import networkx as nx
import pytest

from tape import Choice, ConfigError, select, select_in
from tape.errors import GraphError
from tests.tape.choice import brute
from tests.tape.choice.brute import Found
from tests.tape.choice.instances import Graph, Lists, graph, lists

PLANS = [["search", "read", "write"], ["ask_expert", "write"], ["write"]]
COST = {
    "web_search": {"usd": "$0.004", "seconds": "2 s"},
    "deep_search": {"usd": "3 cents", "seconds": "20 s"},
    "read": {"usd": "$0.002", "seconds": "3 s"},
    "ask_expert": {"usd": "$0.08", "seconds": "1 h"},
    "write": {"usd": "$0.01", "seconds": "5 s"},
}
VALUE = {"web_search": 0.3, "deep_search": 0.6, "read": 0.2, "ask_expert": 1.0, "write": 0.1}
SEARCHES = {"search": ["web_search", "deep_search"]}


def chosen(budget: Any, **changes: Any) -> Choice:
    asked = {"cost": COST, "value": VALUE, "variants": SEARCHES, **changes}
    return select(PLANS, budget=budget, **asked)


# --- against brute force --------------------------------------------------------------------------


def criteria_of(rng: random.Random, kinds: list[str], *, valued: bool) -> tuple[str, ...] | None:
    """Two or three criteria in any order; None where there are not so many."""
    names = [*kinds, *["value"] * valued]
    return tuple(rng.sample(names, rng.randint(2, min(3, len(names))))) if len(names) > 1 else None


def vector(names: tuple[str, ...], value: Fraction, spent: Any) -> tuple[Any, ...]:
    return tuple(-value if name == "value" else spent.get(name, Decimal(0)) for name in names)


def non_dominated(names: tuple[str, ...], every: list[Found]) -> list[tuple[Any, ...]]:
    distinct = sorted({vector(names, -item.loss, item.spent) for item in every})
    return [
        item
        for item in distinct
        if not any(other != item and all(a <= b for a, b in zip(other, item, strict=True)) for other in distinct)
    ]


def same_frontier(choice: Choice, names: tuple[str, ...], every: list[Found]) -> None:
    """The frontier has each non-dominated combination once, in order, by a plan that has it."""
    known = {(tuple(item.steps), vector(names, -item.loss, item.spent)) for item in every}
    got = [(tuple(item.plan or ()), vector(names, Fraction(repr(item.value)), item.spent)) for item in choice.frontier]
    assert [amounts for _, amounts in got] == non_dominated(names, every)
    assert set(got) <= known
    assert all(item.frontier == () and item.alternatives == () for item in choice.frontier)


def same_next_cap(choice: Choice, kind: str, every: list[Found]) -> None:
    """The next cap is the least amount of any better plan among those that fit but for this budget."""
    now = None if choice.value is None else Fraction(repr(choice.value))
    better = [item for item in every if now is None or -item.loss > now]
    least = min((item.spent.get(kind, Decimal(0)) for item in better), default=None)
    more = choice.why.more.get(kind)
    assert (more and more.cap) == least
    if more is not None and least is not None:
        within = [-item.loss for item in better if item.spent.get(kind, Decimal(0)) <= least]
        assert more.value == float(max(within))
        assert any(item.steps == more.plan for item in better)


def check_lists(seed: int) -> str:
    given, rng = lists(seed), random.Random(seed)
    steps = {variant for plan in given.plans for step in plan for variant in given.variants.get(step, [step])}
    kinds = sorted({kind for step in steps for kind in given.cost[step]})
    some = any(group.loss for group in brute.ranked_lists(given, {}))
    names = criteria_of(rng, kinds, valued=some) or ()
    ask = {"cost": given.cost, "value": given.value, "variants": given.variants or None, "budget": given.caps}
    choice = select(given.plans, frontier=names, **ask)  # type: ignore[arg-type]
    if names:
        same_frontier(choice, names, brute.ranked_lists(given, without(given, *names)))
    for kind in given.caps:
        same_next_cap(choice, kind, brute.ranked_lists(given, without(given, kind)))
    return f"lists, {len(names)} criteria"


def without(given: Lists | Graph, *kinds: str) -> dict[str, Decimal]:
    return {kind: cap for kind, cap in given.caps.items() if kind not in kinds}


def check_graph(seed: int) -> str:
    given, rng = graph(seed), random.Random(seed)
    ends = brute.ends_of(given)
    if ends is None or brute.endless(given, ends, given.caps):
        return "graph: no end"
    kinds = sorted({kind for edge in given.edges for kind in edge.cost})
    valued = any(brute.earned(given, edge) for edge in given.edges)
    names = criteria_of(rng, kinds, valued=valued) or ()
    form = given.plan_graph()
    if "value" in names and brute.endless(given, ends, without(given, *names)):
        with pytest.raises(GraphError, match=r"the circle .* has no end.*horizon="):
            select_in(form, start=given.start, budget=given.caps, frontier=names)
        return "graph: endless without the budgets of the criteria"
    choice = select_in(form, start=given.start, budget=given.caps, frontier=names)
    if "value" in names:
        same_frontier(choice, names, brute.ranked_graph(given, ends, without(given, *names)))
    elif names:
        same_frontier(choice, names, brute.ranked_graph(given, ends, without(given, *names), simple=True))
    for kind in given.caps:
        if not brute.endless(given, ends, without(given, kind)):
            same_next_cap(choice, kind, brute.ranked_graph(given, ends, without(given, kind)))
    return f"graph, {len(names)} criteria"


@pytest.mark.parametrize(
    ("seeds", "least"),
    [(range(80), 0), pytest.param(range(200_000, 205_500), 10_000, marks=pytest.mark.soak)],
    ids=["80", "10,000"],
)
def test_brute_force_agrees(seeds: range, least: int, record_property: Callable[[str, object], None]) -> None:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        for check in (check_lists, check_graph):
            try:
                kinds[check(seed)] += 1
            except brute.TooManyError:
                kinds["too many paths to try"] += 1
            except BaseException as error:
                raise AssertionError(f"{check.__name__}({seed})") from error
    for name, count in sorted(kinds.items()):
        record_property(name, count)
    assert {f"{what}, {n} criteria" for what in ("lists", "graph") for n in (2, 3)} < set(kinds)
    assert sum(count for name, count in kinds.items() if name != "too many paths to try") >= least


# --- what people see ------------------------------------------------------------------------------


def test_the_curve() -> None:
    choice = chosen({"usd": "$0.02"}, frontier=("usd", "value"))
    assert [(item.plan, item.value, str(item.spent["usd"]), str(item.left["usd"])) for item in choice.frontier] == [
        (["write"], 0.1, "0.01", "0.01"),
        (["web_search", "read", "write"], 0.6, "0.016", "0.004"),
        (["deep_search", "read", "write"], 0.9, "0.042", "-0.022"),
        (["ask_expert", "write"], 1.1, "0.09", "-0.07"),
    ]
    assert choice.plan == ["web_search", "read", "write"]
    other = chosen({"usd": "$0.02", "seconds": "25 s"}, frontier=("value", "usd"))  # what is no criterion stays hard
    assert [item.value for item in other.frontier] == [0.6, 0.1]
    assert chosen({"usd": "$0.02"}).frontier == ()
    assert [item.value for item in chosen({"usd": "$0.001"}, frontier=("usd", "value")).frontier] == [
        0.1,
        0.6,
        0.9,
        1.1,
    ]
    assert len(chosen(None, frontier=("usd", "seconds")).frontier) == 1
    assert chosen({"seconds": 1}, frontier=("usd", "value")).frontier == ()


def test_more_criteria_take_an_epsilon() -> None:
    cost = {step: {**amounts, "tokens": i} for i, (step, amounts) in enumerate(COST.items())}
    names = ("usd", "seconds", "tokens", "value")
    assert len(chosen(None, cost=cost, frontier=names, epsilon=0.1).frontier) == 4
    assert [choice.value for choice in chosen(None, cost=cost, frontier=names, epsilon=1000).frontier] == [1.1]
    with pytest.raises(ConfigError, match=r"4 criteria.* epsilon=0\.05"):
        chosen(None, cost=cost, frontier=names)


def test_one_more_cent() -> None:
    why = chosen({"usd": "$0.02"}).why
    assert str(why) == (
        "usd stood in the way of ['ask_expert', 'write'], worth 1.1 instead of 0.6: it takes $0.09 ($0.02 given).\n"
        "With usd at $0.042 ($0.022 more), ['deep_search', 'read', 'write'] would be worth 0.9 instead of 0.6."
    )
    assert (str(why.more["usd"].cap), str(why.more["usd"].by)) == ("0.042", "0.022")
    assert str(why.more["usd"]) in str(why)
    named = chosen({"usd": "$0.05"}).why  # the next plan is the one that is named already
    assert named.more["usd"].plan == ["ask_expert", "write"]
    assert "\n" not in str(named)
    assert chosen({"usd": "$0.05", "seconds": "2 min"}).why.more == {}  # neither of the two alone
    assert chosen({"usd": "$1"}).why.more == chosen(None).why.more == {}
    none = chosen({"usd": "$0.001"}).why
    assert str(none.more["usd"]) == "With usd at $0.01 ($0.009 more), ['write'] would fit."
    assert str(none.more["usd"]) not in str(none)  # which says the same in other words
    copied = pickle.loads(pickle.dumps(why))
    assert copied == why
    assert str(copied) == str(why)


def test_a_circle_that_earns_for_ever_has_a_next_cap() -> None:
    flow = nx.MultiDiGraph()
    flow.add_edge("a", "a", action="dig", cost={"steps": 1}, value=1)
    flow.add_edge("a", "end", action="stop", cost={"steps": 1})
    flow.nodes["end"]["goal"] = True
    choice = select_in(flow, start="a", budget={"steps": 3})
    assert choice.plan == ["dig", "dig", "stop"]
    assert (choice.why.more["steps"].cap, choice.why.more["steps"].value) == (4, 3)
    assert "With steps at 4 steps (1 step more), ['dig', 'dig', 'dig', 'stop'] would be worth 3" in str(choice.why)
    with pytest.raises(GraphError, match=r"has no end.* horizon="):
        select_in(flow, start="a", budget={"steps": 3}, frontier=("steps", "value"))
    result = select_in(flow, start="a", budget={"steps": 3}, horizon=5, frontier=("steps", "value"))
    assert [item.value for item in result.frontier] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("frontier", "changes", "message"),
    [
        ("usd", {}, "expected criteria"),
        ({"usd", "value"}, {}, "expected criteria"),
        (("usd",), {}, "one criterion has no frontier"),
        (("usd", "usd"), {}, "names 'usd' twice"),
        (("usd", "second"), {}, "which no known cost of these plans does \\(did you mean 'seconds'"),
        (("usd", "tokens"), {}, "there is seconds, usd, value"),
        (("usd", "value"), {"value": None}, "no plan is worth anything; give value="),
        (("usd", "value"), {"epsilon": -0.1}, "epsilon=-0.1: expected a number of at least 0"),
        (("usd", "value"), {"epsilon": True}, "epsilon=True"),
        (("usd", "value"), {"cost": {step: {"usd": 1, "value": 1} for step in COST}}, "rename the resource"),
    ],
)
def test_malformed_criteria(frontier: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen(None, frontier=frontier, **changes)


def test_too_many_to_choose_from() -> None:
    steps = [f"s{i}" for i in range(10)]
    asked: dict[str, Any] = {
        "cost": {name: {"usd": 2 ** int(name[1:]) if name in steps else 0} for name in [*steps, "skip"]},
        "value": {name: 2 ** int(name[1:]) for name in steps},
        "variants": {name: [name, "skip"] for name in steps},
    }
    with pytest.raises(ConfigError, match=r"more than 1,000 plans; thin it with a larger epsilon than 0"):
        select([steps], **asked, frontier=("usd", "value"))
    assert len(select([steps], **asked, frontier=("usd", "value"), epsilon=0.5).frontier) < 30
