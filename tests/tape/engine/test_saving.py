"""The objective "save": of ends of equal worth the cheapest to come to, whatever the number of moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.budget import Resources
from tape.engine.graph import PlanGraph
from tape.engine.score import save
from tape.errors import GraphError

CENTS = 10_000


def graph_of(paths: list[list[int]], ends: list[float]) -> PlanGraph:
    """A graph of parallel paths, one a list of prices in cents, each to an end of its own."""
    graph = PlanGraph()
    for number, prices in enumerate(paths):
        states = ["start", *(f"{number}.{step}" for step in range(1, len(prices))), f"end {number}"]
        graph.fold(states, [f"{number}:{step}" for step in range(len(prices))])
    for edge in graph.edges():
        number, step = map(int, edge.action.split(":"))
        graph.set_cost(edge.id, Resources({"usd": paths[number][step] * CENTS, "steps": 1}))
    for node in graph.nodes:
        if node.startswith("end"):
            graph.set_reward(node, ends[int(node[4:])], goal=True)
        else:
            graph.no_end(node)
            depth = 0 if node == "start" else int(node.split(".")[1])
            graph.set_reward(node, 1e-7 * depth, goal=False)
    save(graph, "usd")
    return graph


@given(
    st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(0, 1000),
)
def test_of_equal_ends_the_cheapest_that_fits_is_selected(paths: list[list[int]], cap: int) -> None:
    graph = graph_of(paths, [1.0] * len(paths))
    problem, ids = graph.path_problem("start", {"usd": cap * CENTS}, 50, 0.9, objective=graph.objective)
    solution = solvers.solve(problem)
    fitting = [sum(prices) for prices in paths if sum(prices) <= cap]
    assert solution.has_walk is bool(fitting)
    if fitting:
        assert sum(graph.edge(ids[e]).cost["usd"] or 0 for e in solution.edges) == min(fitting) * CENTS


def test_a_better_end_goes_before_a_cheaper_one() -> None:
    graph = graph_of([[1], [300, 300]], [0.5, 1.0])
    problem, ids = graph.path_problem("start", {"usd": 600 * CENTS}, 50, objective=graph.objective)
    assert [graph.edge(ids[e]).action for e in solvers.solve(problem).edges] == ["1:0", "1:1"]


def test_a_partial_path_goes_as_far_as_it_can() -> None:
    graph = graph_of([[1, 1, 500]], [1.0])
    problem, _ = graph.path_problem("start", {"usd": 10 * CENTS}, 50, objective=graph.objective, any_end=True)
    assert len(solvers.solve(problem).edges) == 2


def test_an_unknown_price_is_refused_and_the_objective_needs_a_horizon() -> None:
    graph = graph_of([[1]], [1.0])
    with pytest.raises(GraphError, match='"save" needs a horizon'):
        graph.path_problem("start", {}, objective="save")
    graph.set_cost(0, Resources({"usd": None}))
    with pytest.raises(GraphError, match="0:0: what it costs in usd is not known"):
        save(graph, "usd")
    assert graph.copy().objective == "save"
