import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import networkx as nx
import pytest

from tape import Budget, Choice, ConfigError, PlanGraph, Resources, TapeError, schedule, select, select_in
from tape.choice import ranking
from tape.errors import GraphError

PLANS = [["search", "read", "write"], ["ask_expert", "write"], ["write"]]
COST = {
    "search": {"usd": "$0.004", "seconds": "2 s"},
    "deep_search": {"usd": "3 cents", "seconds": "20 s"},
    "read": {"usd": 0.002, "seconds": 3},
    "ask_expert": {"usd": Decimal("0.08"), "seconds": "1 h"},
    "write": {"usd": "0.01 usd", "seconds": "5000 ms"},
}
VALUE = {"search": 0.3, "deep_search": 0.6, "read": 0.2, "ask_expert": 1.0, "write": 0.1}


def chosen(usd: str, **more: Any) -> Choice:
    budget = {"usd": usd, "seconds": "2 min"}
    asked = {"cost": COST, "value": VALUE, "variants": {"search": ["search", "deep_search"]}, "budget": budget, **more}
    return select(PLANS, **asked)


def test_the_best_plan_that_fits_and_the_next_ones() -> None:
    choice = chosen("$0.05")
    assert choice
    assert choice.plan == ["deep_search", "read", "write"]
    assert choice.value == 0.9
    assert choice.spent == {"usd": Decimal("0.042"), "seconds": Decimal(28)}
    assert choice.left == {"usd": Decimal("0.008"), "seconds": Decimal(92)}
    assert [alternative.plan for alternative in choice.alternatives] == [["search", "read", "write"], ["write"]]
    assert [alternative.value for alternative in choice.alternatives] == [0.6, 0.1]
    assert all(alternative.alternatives == () for alternative in choice.alternatives)
    assert str(choice.why) == (
        "usd and seconds stood in the way of ['ask_expert', 'write'], worth 1.1 instead of 0.9: it takes $0.09 "
        "($0.05 given) and 3,605 s (2 min given)."
    )
    assert choice.why.short == ("usd", "seconds")


def test_nothing_fits_and_the_least_that_would_do() -> None:
    choice = chosen("$0.006")
    assert not choice
    assert (choice.plan, choice.value, dict(choice.spent), choice.alternatives) == (None, None, {}, ())
    assert choice.left == {"usd": Decimal("0.006"), "seconds": Decimal(120)}
    assert choice.why.short == ("usd",)
    assert choice.why.least == {"usd": Decimal("0.01"), "seconds": None}
    assert str(choice.why) == (
        "No plan fits. Every path must take one of these steps, each of which alone exceeds a budget:\n"
        "  'write' takes usd: $0.01 ($0.006 given)\n"
        "  'ask_expert' takes usd: $0.08 ($0.006 given), seconds: 3,600 s (2 min given)\n"
        "usd is short: $0.006 given, $0.01 would do ($0.004 more), everything else unchanged.\n"
        "No amount of seconds alone would do."
    )


def test_no_float_is_in_the_way() -> None:
    cost = {"a": 0.1, "b": 0.2}
    assert select([["a", "b"]], cost=cost, budget={"gold": 0.3}).left == {"gold": 0}
    assert select([["a"] * 3], cost=cost, budget={"gold": 0.1 + 0.2}).plan == ["a"] * 3
    assert not select([["a"] * 3], cost=cost, budget={"gold": "0.29999999999999999999999"})
    tiny = {"a": "0.0000000000000000000000000000000001", "b": "1"}
    assert select([["a", "b"], ["b"]], cost=tiny, budget={"gold": 1}, value={"a": 1}).plan == ["b"]
    assert select([["a", "b"]], cost=cost, value={"a": 0.1, "b": 0.2}, budget={"gold": 1}).value == 0.3


def test_functions_for_steps_that_cannot_be_looked_up() -> None:
    plans = [[{"tool": "search", "k": 3}, {"tool": "write"}], [{"tool": "write"}]]
    choice = select(plans, cost=lambda step: {"calls": step.get("k", 1)}, value=lambda step: 1, budget={"calls": 4})
    assert choice.plan == plans[0]
    assert choice.spent == {"calls": 4}
    with pytest.raises(ConfigError, match="cannot be looked up in a dict; give cost= as a function"):
        select(plans, cost={}, budget={"calls": 4})


def test_a_step_may_be_anything() -> None:
    @dataclass(frozen=True)
    class Call:
        tool: str

    a, b = Call("a"), ("b", 3)
    assert select([[a, b]], cost={a: 1, b: 2}, budget={"usd": 3}).plan == [a, b]
    assert select([(a,), ()], cost={a: 9}, budget={"usd": 3}).plan == []  # a plan without steps is one


def test_budgets_and_costs_that_hold_counts_are_read_as_such() -> None:
    cost = {"a": Resources.of(usd="0.02", steps=1)}
    choice = select([["a", "a"]], cost=cost, budget=Budget.of(usd="0.05"))
    assert choice.spent == {"usd": Decimal("0.04"), "steps": 2}
    assert choice.left == {"usd": Decimal("0.01")}
    assert select([["a", "a"]], cost=cost, budget="usd=$0.03").why.least == {"usd": Decimal("0.04")}


def test_what_is_spent_holds_capped_kinds_that_cost_nothing_and_others() -> None:
    choice = select([["a", "b"]], cost={"a": {"usd": 1}, "b": {"seconds": 0}}, budget={"seconds": 5})
    assert choice.spent == {"seconds": 0, "usd": 1}
    assert choice.left == {"seconds": 5}
    assert select([["a"]], cost={"a": {"usd": 1}}).why.text == "Nothing is capped."
    assert select([["a"]]).plan == ["a"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("USD", "usd"), ("dollars", "usd"), ("$", "usd"), ("sec", "seconds"), ("secnds", "seconds"), ("gold", None)],
)
def test_a_budget_that_no_cost_names_is_refused_with_the_nearest_name(name: str, meant: str | None) -> None:
    cost = {"a": {"usd": 901, "seconds": 1}}
    hint = f" (did you mean '{meant}'?)" if meant else ""
    with pytest.raises(ConfigError, match=re.escape(f"the budget '{name}' would cap nothing: no cost names it{hint}.")):
        select([["a"]], cost=cost, budget={name: 5})
    beside = {"a": {**cost["a"], name: 5}}
    if meant:
        with pytest.raises(ConfigError, match=re.escape(f"resource '{name}' is not declared{hint}")):
            select([["a"]], cost=beside, budget={name: 5})
    else:
        assert select([["a"]], cost=beside, budget={name: 5}).plan == ["a"]
    assert select([["a"]], cost={"a": Resources.of(usd=1)}, budget={"seconds": 5}).left == {"seconds": 5}


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        (("USD", "usd"), "usd"), (("usd", "Usd"), "usd"), (("hours", "seconds"), "seconds"), (("Tokens",), "tokens"),
        (("token",), "tokens"), (("gold", "Gold"), "Gold"), (("cents", "dollars"), "dollars"), (("Value",), "value"),
    ],
)  # fmt: skip
def test_a_resource_by_two_names_is_refused_in_every_form(names: tuple[str, ...], meant: str) -> None:
    """One step takes of the first name alone, another one of the second."""
    costs = {f"take {name}": {name: 2} for name in names}
    graph = nx.DiGraph()
    graph.add_node(len(costs), goal=True)
    for place, (step, cost) in enumerate(costs.items()):
        graph.add_edge(place, place + 1, action=step, cost=cost)
    caps, refused = {names[0]: 1}, pytest.raises(ConfigError, match=re.escape(f"(did you mean {meant!r}?)"))
    with refused:
        select([list(costs)], cost=costs, budget=caps)
    with refused:
        select([list(costs)], cost=costs.__getitem__, budget=caps)
    with refused:
        select_in(graph, start=0, budget=caps)
    with refused:
        schedule({step: [cost] for step, cost in costs.items()}, budget=caps)


def test_names_that_are_only_somewhat_alike_are_two_resources() -> None:
    cost = {
        "a": {"tokens_in": 2, "tokens_out": 3, "tokens": 5, "sets": 1, "value": 2, "minutes": 3, "gpu_a": 1, "gpu_b": 1}
    }
    assert select([["a"]], cost=cost, budget={"tokens_in": 5, "value": 3}).plan == ["a"]


@pytest.mark.parametrize(
    ("plans", "asked", "message"),
    [
        ([["a", "b"]], {"cost": {"a": 1}, "budget": {"usd": 3}}, "step 'b' has no cost; an unknown cost is not 0"),
        ([["a"]], {"budget": {"usd": 3}}, "cost= is needed"),
        ([["a"]], {"cost": {"a": None}, "budget": {"usd": 3}}, "'a' is None: an unknown cost is not 0"),
        ([["a"]], {"cost": lambda _: None, "budget": {"usd": 3}}, "the cost of step 'a' is None"),
        ([["a"]], {"cost": {"a": {"usd": None}}, "budget": {"usd": 3}}, "the cost of step 'a' in usd is None"),
        ([["a"]], {"cost": {"a": 1}, "budget": {"usd": 3, "gold": 1}}, "'a' is 1: name its resource"),
        ([["a"]], {"cost": {"a": {"usd": "5 s"}}, "budget": {"usd": 3}}, "the cost of step 'a': usd: '5 s' is in 's'"),
        ([["a"]], {"cost": {"a": {"usd": -1}}, "budget": {"usd": 3}}, "must be a finite number >= 0"),
        ([["a"]], {"cost": {"a": {3: 1}}, "budget": {"usd": 3}}, "3 is no name of a resource"),
        ([["a"]], {"cost": 3, "budget": {"usd": 3}}, "cost=3: expected a dict by step, or a function"),
        ([["a"]], {"cost": {"a": 1}, "budget": {"usd": "5 s"}}, "the budget: usd: '5 s' is in 's'"),
        ([["a"]], {"cost": {"a": 1}, "budget": {"usd": None}}, "the budget in usd is None: leave it out"),
        ([["a"]], {"cost": {"a": 1}, "budget": 3}, "budget=3: expected amounts by resource"),
        ([["a"]], {"cost": {"a": 1}, "budget": "usd"}, "or KIND=AMOUNT"),
        ([["a"]], {"value": {"a": "much"}}, "the value of step 'a' must be a finite number .*, got 'much'"),
        ([["a"]], {"value": {"a": 1e300}}, "the value of step 'a' must be a finite number .of at most 30 digits"),
        ([["a"]], {"value": lambda _: None}, "the value of step 'a' must be a finite number .*, got None"),
        ([["a"]], {"value": [1, 2]}, "value= lists 2 values for 1 plans"),
        ([["a"]], {"value": [float("nan")]}, "the value of plan 0 must be a finite number"),
        ([["a"]], {"value": "much"}, "value='much': expected a dict by step, or a function"),
        (["a", "b"], {}, "a plan is a list of steps, got 'a'; a single plan is given as"),
        ([], {}, "there are no plans"), (3, {}, "expected plans, each a list of steps"),
        ("ab", {}, "expected plans, each a list of steps"), ([["a"]], {"k": True}, "k=True: how many plans"),
        ([["a"]], {"k": 0}, "k=0: how many plans"), ({"a": []}, {}, "go with tape.schedule"),
        (nx.DiGraph(), {}, "its paths are chosen from by tape.select_in"),
        ([["a"]], {"variants": ["a"]}, "variants=\\['a'\\]: expected lists of steps by the step"),
        ([["a"]], {"variants": {"a": []}}, "variants of 'a'"),
        ([["a"]], {"variants": {"a": "b"}}, "variants of 'a': expected a list of steps, got 'b'"),
    ],
)  # fmt: skip
def test_malformed_questions_are_refused(plans: Any, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        select(plans, **asked)
    assert isinstance(error.value, TapeError)


def test_a_function_is_asked_once_for_each_step_of_a_plan() -> None:
    asked: list[str] = []

    def cost(step: str) -> dict[str, int]:
        asked.append(step)
        return {"usd": 1}

    select([["a", "b"], ["a"]], cost=cost, budget={"usd": 1})
    assert sorted(asked) == ["a", "a", "b"]


# --- graphs ---------------------------------------------------------------------------------------


def workflow(kind: Callable[[], Any] = nx.DiGraph) -> Any:
    graph = kind()
    graph.add_edge("draft", "checked", cost={"usd": "$0.01"}, action="lint", value=0.2)
    graph.add_edge("draft", "reviewed", cost={"usd": "$0.20"}, action="human review")
    graph.add_edge("checked", "done", cost={"usd": 0}, action="merge")
    graph.add_edge("reviewed", "done", cost={"usd": 0}, action="merge")
    graph.nodes["reviewed"]["reward"] = 1
    graph.nodes["done"]["goal"] = True
    return graph


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_a_networkx_graph_with_attributes(kind: Callable[[], Any]) -> None:
    choice = select_in(workflow(kind), start="draft", budget={"usd": "$0.05"})
    assert (choice.plan, choice.value, dict(choice.spent)) == (["lint", "merge"], 0.2, {"usd": Decimal("0.01")})
    assert str(choice.why).startswith("usd stood in the way of ['human review', 'merge'], worth 1 instead of 0.2")
    assert select_in(workflow(kind), start="draft", budget="usd=1").plan == ["human review", "merge"]
    none = select_in(workflow(kind), start="draft", budget={"usd": "$0.005"})
    assert none.why.least == {"usd": Decimal("0.01")}
    assert "'lint' from 'draft' to 'checked' takes usd: $0.01 ($0.005 given)" in str(none.why)


def test_costs_and_values_given_by_action_go_before_those_of_edges() -> None:
    given: dict[str, Any] = {"cost": {"human review": "1 cent"}, "value": {"lint": 5}}
    choice = select_in(workflow(), start="draft", goals="done", **given, budget={"usd": "$0.05"})
    assert (choice.plan, choice.value) == (["lint", "merge"], 5.0)
    assert [(alternative.plan, alternative.value) for alternative in choice.alternatives] == [
        (["human review", "merge"], 1.0)
    ]


def test_a_step_without_an_action_is_the_node_that_it_leads_to() -> None:
    graph = nx.DiGraph([("raw", "clean"), ("clean", "train"), ("raw", "train")])
    cost = {"clean": 2, "train": 5}
    choice = select_in(graph, start="raw", goals=["train"], cost=cost, value={"clean": 1}, budget={"gpu": 9})
    assert choice.plan == ["clean", "train"]
    assert choice.left == {"gpu": 2}


def test_a_plan_graph_gives_what_path_problem_gives() -> None:
    graph = PlanGraph()
    graph.fold(["home", "station", "office"], ["walk", "train"])
    graph.fold(["home", "office"], ["taxi"])
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources.of(usd={"walk": 0, "train": 3, "taxi": 24}[edge.action]))
    graph.set_edge_reward(2, 1)
    assert select_in(graph, start="home", budget={"usd": "$6"}).plan == ["walk", "train"]
    assert select_in(graph, start="home", budget={"usd": "$30"}).plan == ["taxi"]
    assert select_in(graph, start="home", goals="station", budget={}).plan == ["walk"]
    assert select_in(graph, start="home", budget={"usd": 6}, cost={"taxi": {"usd": 1}}).plan == ["taxi"]
    graph.set_cost(0, Resources({"usd": None}))
    with pytest.raises(GraphError, match=re.escape("edge 0 (walk): its cost in usd is unknown under a hard cap")):
        select_in(graph, start="home", budget={"usd": 6})
    assert select_in(graph, start="home", budget={"steps": 6}).spent == {"steps": 0}  # an unknown amount is left out


def circle() -> Any:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", cost={"steps": 1}, reward=1)
    graph.add_edge("b", "a", cost={"steps": 1})
    graph.add_edge("b", "end", cost={"steps": 1})
    return graph


def test_a_circle_that_earns_is_taken_as_often_as_the_budget_allows() -> None:
    choice = select_in(circle(), start="a", goals=["end"], budget={"steps": 7})
    assert choice.plan == ["b", "a", "b", "a", "b", "end"]
    assert [alternative.plan for alternative in choice.alternatives] == [["b", "a", "b", "end"], ["b", "end"]]
    assert "no best plan" in str(choice.why)
    with pytest.raises(GraphError, match=r"the circle .* has no end: .*; say how many steps .* by horizon="):
        select_in(circle(), start="a", goals=["end"])
    assert select_in(circle(), start="a", goals=["end"], horizon=4).value == 2
    assert "Every path" not in str(select_in(circle(), start="a", goals=["end"], budget={"steps": 1}, horizon=1).why)


@pytest.mark.parametrize(
    ("changes", "asked", "message"),
    [
        ({}, {"start": "x"}, "start='x' is no node"),
        ({}, {"start": "draft", "goals": ["x"]}, "goal 'x' is no node"),
        ({}, {"start": "draft", "goals": []}, "goals= names no node"),
        ({}, {"start": "draft", "horizon": 0}, "horizon=0: the most steps, at least 1"),
        ({"goal": False}, {"start": "draft"}, "no path can end anywhere: declare a goal by goals="),
        ({"reward": 1, "value": 1}, {"start": "draft"}, "node 'done' has both `reward` and `value`"),
        ({"reward": "much"}, {"start": "draft"}, "the reward of node 'done' must be a finite number"),
        ({"cost": {"usd": 1}}, {"start": "draft"}, "node 'done' has a cost, and steps are edges here"),
    ],
)
def test_what_is_wrong_with_a_graph_is_named(changes: dict[str, Any], asked: dict[str, Any], message: str) -> None:
    graph = workflow()
    graph.nodes["done"].update(changes)
    with pytest.raises((GraphError, ConfigError), match=message):
        select_in(graph, budget={"usd": 1}, **asked)


def test_what_is_no_graph_and_no_dict_is_sent_to_select() -> None:
    with pytest.raises(ConfigError, match=r"expected a directed graph; lists of steps go with tape\.select"):
        select_in([["a"]], start="a")
    with pytest.raises(ConfigError, match="expected a dict of steps, each with its variants"):
        schedule([["a"]])  # type: ignore[arg-type]


def test_an_edge_without_a_cost_and_an_undirected_graph() -> None:
    graph = workflow()
    graph.add_edge("draft", "done")
    with pytest.raises(GraphError, match="edge 'draft' -> 'done' \\('done'\\) has no cost; an unknown cost is not 0"):
        select_in(graph, start="draft", budget={"usd": 1})
    graph["draft"]["done"]["cost"] = {"usd": None}
    with pytest.raises(ConfigError, match=r"the cost of edge 'draft' -> 'done' .* in usd is None"):
        select_in(graph, start="draft", budget={"usd": 1})
    with pytest.raises(GraphError, match="undirected"):
        select_in(nx.Graph([("a", "b")]), start="a", goals=["b"], budget={})


def test_no_goal_can_be_reached() -> None:
    graph = nx.DiGraph([("a", "b")])
    graph.add_node("c")
    choice = select_in(graph, start="a", goals=["c"])
    assert not choice
    assert "No goal can be reached from 'a'" in str(choice.why)


def test_numpy_is_all_that_it_needs() -> None:
    code = """
import sys
for name in ("networkx", "pydantic", "rich", "torch", "transformers", "httpx"):
    sys.modules[name] = None
from tape import select
choice = select([["a", "b"], ["a"]], cost={"a": "$0.02", "b": "$0.04"}, value={"b": 1}, budget={"usd": "$0.05"})
assert choice.plan == ["a"], choice
assert not select([["a"]], cost={"a": 2}, budget={"usd": 1})
theirs = {name.partition(".")[0] for name in sys.modules if getattr(sys.modules[name], "__file__", None)}
print(sorted(name for name in theirs if "site-packages" in (sys.modules[name].__file__ or "")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not {"networkx", "pydantic", "rich", "pulp", "ortools"} & set(re.findall(r"'(\w+)'", done.stdout))


@pytest.mark.parametrize("penalty", [-1e10, -1e14, -1e29])
def test_a_penalty_takes_no_digits_away_from_other_values(penalty: float) -> None:
    steps = {"a": 0.300000001, "b": 0.9, "c": 0.300000002, "risky": penalty}
    cost = {step: {"usd": 2 if step == "b" else 1} for step in steps}
    choice = select([[step] for step in steps], cost=cost, value=steps, budget={"usd": 1})
    assert [choice.plan, *(alternative.plan for alternative in choice.alternatives)] == [["c"], ["a"], ["risky"]]
    assert "stood in the way of ['b'], worth 0.9 instead of 0.300000002" in str(choice.why)
    assert choice.why.more["usd"].plan == ["b"]
    front = select([[step] for step in steps], cost=cost, value=steps, frontier=("usd", "value")).frontier
    assert [item.plan for item in front] == [["c"], ["b"]]


def test_values_and_shares_of_many_digits_are_told_apart_to_the_last() -> None:
    values = [0.123456789012345, 123456.789012345, 123456.789012346, -0.98765432109876]
    assert select([["a"]] * 4, value=values).value == 123456.789012346
    assert select([["a"], ["b"], ["c"]], value=[values[2], values[1], 1e-14 + values[0]]).plan == ["a"]
    caps = {"x": 999999999989, "y": 999999999961, "z": 999999999937}
    cost = {"a": {"x": 3, "y": 2, "z": 1}, "b": {"x": 1, "y": 2, "z": 3}, "c": {"x": 2, "y": 2, "z": 2}}
    plans = [["b"], ["c"], ["a"]]
    choice = select(plans, cost=cost, value=[1, 1, 1], budget=caps)
    assert [choice.plan, *(alternative.plan for alternative in choice.alternatives)] == [["a"], ["c"], ["b"]]


def test_so_many_plans_that_are_as_good_are_told_apart_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"quick": -0.105360515657826, "sure": -0.0100503358535015, "slow": -0.0100503358535016}
    cost = {"quick": {"usd": 1, "seconds": 1}, "sure": {"usd": 2, "seconds": 3}, "slow": {"usd": 2, "seconds": 2}}
    variants = {step: list(value) for step in range(14)}
    choice = select([list(range(14))], cost=cost, value=value, variants=variants, budget={"usd": 21, "seconds": 1000})
    assert choice.plan == ["quick"] * 7 + ["sure"] * 7
    assert choice.alternatives[0].plan == ["quick"] * 6 + ["sure", "quick"] + ["sure"] * 6
    monkeypatch.setattr(ranking, "_MOST_MOVES", 20)
    with pytest.raises(ConfigError, match=r"times what all are multiples of, .* compare up to [\d,]+ times"):
        select([list(range(14))], cost=cost, value=value, variants=variants, budget={"usd": 21, "seconds": 1000})
