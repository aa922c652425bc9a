"""The selectors select on the same graph; what the model is offered and shown; the best single plan."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import generate
from envs.sokoban.environment import SokobanEnvironment
from experiments.ablations.offered import MOST, chains, offered, prefixes, shown
from experiments.ablations.selectors import PlanSelector
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.engine.ablations import PAPER, changed
from tape.engine.select import SolverSelector
from tape.lm.base import OneOf
from tape.protocols import OfferedPath
from tape.protocols.prompt_format import offered_text
from tape.protocols.result import EpisodeResult
from tape.trace import ActedEvent, Event, GraphFoldedEvent, PathSelectedEvent, PlansSampledEvent
from tests.envs.tool_scripts import arithmetic_script
from tests.tape.agents.test_baselines import Wanderer
from tests.tape.helpers import CORRIDOR, ROOM, play
from tests.tape.offers import offers as offered_paths

BY_LM, BEST_PLAN = (f"experiments.ablations.selectors:{name}" for name in ("LmSelector", "PlanSelector"))
SELECTORS = ("solver", BY_LM, BEST_PLAN)
LEFT = {"coins": 6, "steps": 5}
PROBLEM = next(problem for problem in generate("fresh", 20, seed=5) if problem.operations == 3)


def first_round(events: list[Event]) -> list[tuple[str, Any]]:
    """What was sampled and folded before the first action."""
    acted = next((n for n, event in enumerate(events) if isinstance(event, ActedEvent)), len(events))
    sampled = [("plans", event.plans) for event in events[:acted] if isinstance(event, PlansSampledEvent)]
    return sampled + [("graph", event.graph) for event in events[:acted] if isinstance(event, GraphFoldedEvent)]


@given(seed=st.integers(0, 10**6), paper=st.booleans())
@settings(max_examples=5)
def test_all_selectors_see_the_same_graph(seed: int, paper: bool) -> None:
    off, all_pairs = changed(PAPER) if paper else {}, []
    for selector in SELECTORS:
        model = Wanderer(ROOM)
        _, events = play(level=ROOM, steps=8, model=model, seed=seed, ablations={"selector": selector, **off})
        all_pairs.append(first_round(events))
        assert sum(request.role == "select" for request in model.requests) <= 40 * (selector == BY_LM)
    assert all_pairs[0] == all_pairs[1] == all_pairs[2]
    assert any(what == "graph" for what, _ in all_pairs[0])


def test_variants_of_tools_are_offered_to_the_model() -> None:
    model = arithmetic_script(PROBLEM, "fast")
    TapeAgent(model, ablations={"selector": BY_LM}).run(
        GsmHardEnvironment(PROBLEM, "paper"), budget=Budget.of(steps=9, seconds=2.2)
    )
    prompt = next(request for request in model.requests if request.role == "select")
    assert isinstance(prompt.constraint, OneOf)
    assert len({option.split(" ;")[0] for option in prompt.constraint.options}) > 1, "variants of the first call"


def test_a_reselection_by_the_model_spends_only_what_the_path_in_hand_leaves_over() -> None:
    asked = set()
    for tokens in (5000, 5300, 5600, 6500):
        model = arithmetic_script(PROBLEM, "fast")
        budget = Budget.of(steps=9, seconds=3, tokens=tokens)
        agent = TapeAgent(model, ablations={"selector": BY_LM}, execution="constrained")
        result = agent.run(GsmHardEnvironment(PROBLEM, "paper"), budget=budget)
        assert not result.budget_violations
        assert result.used.get("tokens", 0) <= tokens
        asked.add(result.lm_calls.get("select", 0))
        if result.steps:
            assert result.end_state in ("success", "failure"), "once it acts the rest of its path is paid for"
    assert len(asked) > 1


# What is offered


def diamond() -> PlanGraph:
    """Two plans over one middle, a plan sampled from further on, and two ways between two nodes at other prices."""
    graph = PlanGraph()
    graph.fold(["a", "b", "m", "x"], ["1", "2", "3"])
    graph.fold(["a", "c", "m", "y"], ["4", "5", "6"])
    graph.fold(["m", "n", "g"], ["7", "8"])
    graph.add_variant("a", "cheap", "b")
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1, "coins": 0 if edge.action == "cheap" else 1}))
    for node, reward in {"x": 0.1, "y": 0.3, "g": 1.0}.items():
        graph.set_reward(node, reward, goal=reward == 1.0)
    return graph


def actions(graph: PlanGraph, path: tuple[int, ...]) -> str:
    return " ".join(graph.edge(number).action for number in path)


def test_a_chain_is_one_plan_with_what_was_sampled_behind_it() -> None:
    graph = diamond()
    assert [actions(graph, path) for path in chains(graph, "a")] == ["1 2 3", "4 5 6", "1 2 7 8"]
    assert [actions(graph, path) for path in chains(graph, "m")] == ["3", "6", "7 8"]
    assert [actions(graph, path) for path in prefixes(graph, chains(graph, "a"), {"m", "g"})] == [
        "1 2", "4 5", "1 2 7 8"
    ]  # fmt: skip


def offers(graph: PlanGraph, seed: int = 0, moves: int = 9) -> list[str]:
    paths = offered(graph, "a", graph.terminals("a"), sorted(LEFT), moves, random.Random(seed))
    return [actions(graph, path) for path in paths]


def test_every_end_is_offered_by_the_fewest_moves_and_by_the_least_of_each_resource() -> None:
    texts = offers(diamond())
    assert {"1 2 3", "4 5 6", "1 2 7 8"} <= {*texts}, "the sampled plans"
    assert {"cheap 2 3", "cheap 2 6", "cheap 2 7 8"} <= {*texts}, "each end at the least price"
    assert len(texts) == len({*texts}) <= MOST
    assert all(len(path.split()) <= 3 for path in offers(diamond(), moves=3))


def test_the_offered_paths_do_not_depend_on_scores() -> None:
    graph, other = diamond(), diamond()
    for node, reward in {"x": 0.4, "y": 0.0, "g": -0.3}.items():
        other.set_reward(node, reward, goal=False)
    orders = [offers(graph, seed) for seed in range(20)]
    assert orders == [offers(other, seed) for seed in range(20)]
    firsts = {order[0] for order in orders}
    assert len(firsts) > 3


@st.composite
def graphs(draw: st.DrawFn) -> PlanGraph:
    graph, nodes = PlanGraph(), "abcdefg"
    for number in range(draw(st.integers(1, 5))):
        start = "a" if number == 0 else draw(st.sampled_from(graph.nodes))
        path = [start, *draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=5))]
        confidences = draw(st.lists(st.sampled_from([1.0, 0.7, 0.3]), min_size=len(path) - 1, max_size=len(path) - 1))
        graph.fold(path, [f"{a}{b}" for a, b in pairwise(path)], confidences)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1, "coins": draw(st.integers(0, 2))}))
    for node in graph.nodes:
        graph.set_reward(node, draw(st.sampled_from([-1.0, 0.0, 0.2, 1.0])))
        graph.set_goal(node, graph.attributes(node)["reward"] == 1.0)
    return graph


@given(graph=graphs(), seed=st.integers(0, 100))
def test_what_is_offered_are_paths_of_the_graph_and_no_end_is_missing(graph: PlanGraph, seed: int) -> None:
    ends = [node for node in graph.terminals("a") if node != "a"]
    usable = {edge.id for edge in graph.usable_edges()}
    paths = offered(graph, "a", ends, ["coins"], 40, random.Random(seed))
    for path in paths:
        edges = [graph.edge(number) for number in path]
        assert usable.issuperset(path)
        assert edges[0].source == "a"
        assert all(earlier_edge.target == two.source for earlier_edge, two in pairwise(edges))
        assert edges[-1].target in ends
    reached = {graph.edge(path[-1]).target for path in paths}
    assert reached == {node for node in ends if node in graph.depths("a")}


@given(graph=graphs(), coins=st.integers(0, 6), cautious=st.booleans())
def test_the_best_single_plan_fits_and_is_no_better_than_the_solvers_path(
    graph: PlanGraph, coins: int, cautious: bool
) -> None:
    left = {"coins": coins, "steps": 6}
    alone = asyncio.run(PlanSelector(cautious=cautious).select(graph, "a", left, 6))
    solved = asyncio.run(SolverSelector("labelling", cautious=cautious).select(graph, "a", left, 6))
    single = [
        path
        for path in prefixes(graph, chains(graph, "a"), {*graph.terminals("a")})
        if all(sum(graph.edge(n).cost[k] or 0 for n in path) <= count for k, count in left.items())
        and {*path} <= {edge.id for edge in graph.usable_edges()}
    ]
    assert bool(alone.path) == bool(single)
    if not alone.path:
        return
    assert alone.path in single
    assert solved.solution.has_path
    if alone.confidence == solved.confidence:
        assert alone.solution.objective is not None
        assert solved.solution.objective is not None
        assert alone.solution.objective <= solved.solution.objective + 1e-9


# What is shown


def test_the_model_is_shown_nodes_scores_and_costs_in_words() -> None:
    graph = diamond()
    paths = [path for path in chains(graph, "a") if graph.edge(path[-1]).target in "yg"]
    first, second = shown(graph, paths, sorted(LEFT))
    assert first == OfferedPath(("4", "5", "6"), ("s1", "s2", "s3"), (0, 0, 0.3), False, 1.0, {"coins": 3, "steps": 3})
    assert second.nodes == ("s4", "s2", "s5", "s6"), "both come through one node"
    text = offered_text([first, second], LEFT)
    assert (
        "1: 4 -> s1 (0); 5 -> s2 (0); 6 -> s3 (0.3) | certainty 1.00; needs 3 coins of 6 coins, 3 steps of 5 steps"
        in text
    )
    assert "2: 1 -> s4 (0); 2 -> s2 (0); 7 -> s5 (0); 8 -> s6 (1) | ends at a goal;" in text


def test_a_chat_prompt_holds_scores_and_costs_and_the_bundled_models_the_same_paths() -> None:
    paths = offered_paths([["R", "R"], ["U"]], {"steps": 2})
    asked = {
        name: SokobanEnvironment(CORRIDOR).prompt_format(name).select_request(CORRIDOR.start, paths, {"steps": 3})
        for name in ("chat", "compact")
    }
    text = "".join(str(message) for message in asked["chat"].prompt)
    assert "1: right -> s11 (0.25); right -> s12 (0.25) | certainty 0.75; needs 2 steps of 3 steps" in text
    assert asked["chat"].constraint == OneOf(("1", "2"))
    assert asked["compact"].constraint == OneOf((" R R", " U"))


@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_keeps_budgets(selector: str) -> None:
    for seed in range(3):
        result, events = play(level=ROOM, steps=6, model=Wanderer(ROOM), seed=seed, ablations={"selector": selector})
        assert not result.budget_violations
        assert result.steps <= 6
        names = {event.selector for event in events if isinstance(event, PathSelectedEvent)}
        assert names <= {"probe", {"solver": "labelling", BY_LM: "lm:scripted", BEST_PLAN: "best_plan"}[selector]}


def test_if_no_single_plan_fits_plans_are_sampled_again_and_the_explanation_names_the_selector() -> None:
    def played(selector: str) -> EpisodeResult:
        agent = TapeAgent(arithmetic_script(PROBLEM, "slow"), ablations={"selector": selector})
        return agent.run(GsmHardEnvironment(PROBLEM, "paper"), budget=Budget.of(steps=9, seconds=0.8))

    assert played("solver").success
    alone = played(BEST_PLAN)
    assert (alone.end_state, alone.lm_calls["plan"]) == ("infeasible", 3)
    assert f"selector={BEST_PLAN!r} takes none, though a path of the graph does fit" in alone.detail
    assert alone.explanation["cause"] == "selector"
