"""Variants in the plan graph, and the solver's choice against all assignments one by one."""

import asyncio
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape.engine.fold
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.engine.fold import add_variants
from tape.engine.predict import possible
from tape.engine.select import SolverSelector
from tape.tools import Tool, tool
from tape.tools.calls import Call, answer, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.state import ToolState
from tests.tape.tools.helpers import domain, plans

RESOURCES = ("usd", "seconds", "tokens")


def made_tool(kind: str, variant: str, cost: dict[str, int], quality: float | None) -> Tool:
    def function(a: float, b: float) -> float:
        """Compute."""
        return a + b

    units = {"usd": "0.00000{}", "seconds": "0.00{}", "tokens": "{}"}
    settings = {name: units[name].format(count) for name, count in cost.items()}
    return tool(kind=kind, variant=variant, quality=quality, pure=True, **settings)(function)  # type: ignore[arg-type]


def built(here: ToolDomain, calls: list[Call]) -> tuple[PlanGraph, list[str]]:
    """The graph of one plan with its variants."""
    graph = PlanGraph(here.key, here.render)
    start = ToolState()
    graph.add_state(start)
    actions, states = [made.text for made in calls], [start]
    for action in actions:
        after = here.outcome(states[-1], action).state
        assert isinstance(after, ToolState)
        states.append(after)
    graph.fold(states, actions)
    add_variants(graph, here.key, here, start, actions)
    return graph, actions


def once(calls: list[Call]) -> list[Call]:
    """A plan of pure calls as it is read: each is made once, and those that take its result refer to that."""
    made: list[Call] = []
    numbers: dict[int, int] = {}
    for number, item in enumerate(calls, 1):
        named = item.renumbered(lambda k: numbers[k])
        same = next((k for k, other in enumerate(made, 1) if other.symbol == named.symbol), None)
        if same is None:
            made.append(named)
        numbers[number] = same or len(made)
    return made


def paths(graph: PlanGraph, node: str) -> list[tuple[str, ...]]:
    """All maximal paths from a node, by their actions."""
    out = [edge for edge in graph.edges() if edge.source == node]
    return [(edge.action, *rest) for edge in out for rest in paths(graph, edge.target)] or [()]


@given(plans(most=4))
def test_every_combination_of_variants_is_a_path_and_nothing_else_is(calls: list[Call]) -> None:
    here = domain()
    calls = [*once(calls), answer(1)]
    graph, actions = built(here, calls)
    expected = set(product(*(here.variants(ToolState(), action) for action in actions)))
    all_texts = paths(graph, here.key(ToolState()))
    assert len(all_texts) == len(set(all_texts))
    assert set(all_texts) == expected


def test_states_are_one_whatever_variants_led_to_them() -> None:
    here = domain()
    calls = [call("multiply", "quick", a=1, b=k) for k in range(6)]
    graph, _ = built(here, [*calls, answer("#6")])
    # After k calls of two variants there is one state, not 2 ** k; the last one has answered.
    assert len(graph.nodes) == 7 + 1


def test_past_the_limit_the_plans_own_variants_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape.engine.fold, "MOST_STATES", 3)
    here = domain()
    calls = [*(call("multiply", "quick", a=1, b=k) for k in range(8)), answer("#8")]
    graph, actions = built(here, calls)
    assert tuple(actions) in paths(graph, here.key(ToolState()))
    assert len(graph.nodes) < 20


@given(plans(most=5), st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["quick", "exact"])), max_size=6))
def test_what_is_planned_instead_can_be_taken_and_names_the_same_calls(
    calls: list[Call], failures: list[tuple[int, str]]
) -> None:
    here = domain()
    calls = [*once(calls), answer(1)]
    state = ToolState()
    for number, variant in failures:
        made = calls[number % len(calls)]
        if made.kind == "multiply":
            state = state.with_failure(Call(made.kind, variant, made.args), "")
    result = [parse(action) for action in possible(here, here.key, state, [made.text for made in calls])]
    assert [made.symbol for made in result] == [made.symbol for made in calls[: len(result)]]
    whole = True
    for number, (named, made) in enumerate(zip(calls, result, strict=False)):
        as_named = here.outcome(state, named.text).state
        reached = here.outcome(state, made.text).state
        if as_named is not None:
            assert made == named, "what can be taken is kept"
        if reached is None:
            whole = False
            assert number == len(result) - 1
            assert all(here.outcome(state, option).state is None for option in here.variants(state, named.text))
            break
        assert isinstance(reached, ToolState)
        state = reached
    assert whole == (len(result) == len(calls) and here.is_end(state))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Tool], list[Call], dict[str, int]]:
    """Two kinds of tools with up to three variants each, a plan, and one to three budgets."""
    kinds = RESOURCES[: draw(st.integers(1, 3))]
    tools = []
    for kind in ("add", "multiply"):
        for number in range(draw(st.integers(1, 3))):
            cost = {name: draw(st.integers(0, 6)) for name in kinds}
            quality = draw(st.none() | st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]))
            tools.append(made_tool(kind, f"v{number}", cost, quality))
    named = [Call(made.kind, "v0", made.args) for made in draw(plans(most=5))]
    calls = [*once(named), answer(1)]
    return tools, calls, {name: draw(st.integers(0, 16)) for name in kinds}


@given(problems())
def test_the_solver_finds_what_trying_every_assignment_finds(
    problem: tuple[list[Tool], list[Call], dict[str, int]],
) -> None:
    tools, calls, remaining = problem
    here = domain(tools)
    best: float | None = None
    for actions in product(*(here.variants(ToolState(), made.text) for made in calls)):
        used = sum((here.cost(ToolState(), action) for action in actions), Resources())
        if all((used[kind] or 0) <= left for kind, left in remaining.items()):
            quality = prod(map(here.quality, actions))
            best = quality if best is None else max(best, quality)

    graph, _ = built(here, calls)
    for edge in graph.edges():
        graph.set_cost(edge.id, here.cost(graph.state(edge.source), edge.action))
        graph.set_chance(edge.id, here.quality(edge.action))
    graph.objective = "expect"
    for node in graph.nodes:
        if here.is_end(graph.state(node)):
            graph.set_reward(node, 1.0, goal=True)
    start = here.key(ToolState())
    selection = asyncio.run(SolverSelector("labelling").select(graph, start, remaining, 100 * len(calls)))
    # Where no answer can be paid there is no path to one.
    at_end = bool(selection.path) and here.is_end(graph.state(graph.edge(selection.path[-1]).target))
    assert at_end == (best is not None)
    if best is not None:
        assert prod(here.quality(graph.edge(number).action) for number in selection.path) == pytest.approx(best)
        spent = sum((graph.edge(number).cost for number in selection.path), Resources())
        assert all((spent[kind] or 0) <= left for kind, left in remaining.items())
