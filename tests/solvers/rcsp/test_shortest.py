"""The public way in: whatever the graph is given as, the same answer, counted again, or an error that helps."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from solvers import EndlessError, ProblemError, RcspProblem, ShortestPath, Status, shortest_path, shortest_paths
from solvers.found import Ending, Found
from solvers.rcsp import solving
from solvers.rcsp.folded import fold


@pytest.fixture(params=["as built", "plain"], autouse=True)
def _search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is put to the search that was built here, and to the one that needs nothing."""
    if request.param == "plain":
        monkeypatch.setattr("solvers.compiled.AVAILABLE", False)


def answering(monkeypatch: pytest.MonkeyPatch, result: Found) -> None:
    """Every search answers this."""
    monkeypatch.setattr(solving, "search", lambda *_: result)


def commute() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edge("home", "stop", usd=2.5, time=5)
    graph.add_edge("home", "lane", usd=0, time=20)
    graph.add_edge("stop", "office", usd=3, time=15)
    graph.add_edge("lane", "office", usd=3, time=15)
    graph.add_edge("home", "office", usd=24, time=12)
    return graph


def test_nodes_have_costs_and_amounts_too() -> None:
    graph = nx.DiGraph([("a", "b", {"cost": 1}), ("b", "c", {"cost": 1}), ("a", "c", {"cost": 3})])
    assert shortest_path(graph, "a", "c").cost == 2
    graph.nodes["b"]["cost"] = 5
    graph.nodes["a"]["cost"] = 0.5
    assert shortest_path(graph, "a", "c").cost == 3.5
    graph.nodes["c"]["toll"] = 2
    assert shortest_path(graph, "a", "c", {"toll": 2}).resources == {"toll": 2}
    assert shortest_path(graph, "a", "c", {"toll": 1}).status == "INFEASIBLE"


def test_parallel_edges_have_keys() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", key="slow", cost=1, time=9)
    graph.add_edge("a", "b", key="fast", cost=4, time=2)
    graph.add_edge("b", "c", cost=1, time=1)
    path = shortest_path(graph, "a", "c", {"time": 5})
    assert path.edges == (("a", "b", "fast"), ("b", "c", 0))
    both = shortest_paths(graph, "a", "c", {"time": 10}, k=9)
    assert [item.cost for item in both] == [2, 5]
    assert (both.status, both.message) == ("OPTIMAL", "there are no more")
    assert both[0] == both.paths[0]
    assert both[1:] == both.paths[1:]


def graphs(rng: random.Random) -> Iterator[tuple[Any, Any, Any]]:
    """One random problem, in all the forms that a graph may have, with its ends as each calls them."""
    n, m, places, least = rng.randint(1, 8), rng.randint(1, 16), rng.choice([0, 1]), rng.choice([-1, 0, 0, 1])

    def amount(low: int) -> float | int:
        units = rng.randint(low, 9)
        return units if not places else units / 10**places

    edges = sorted((rng.randrange(n), rng.randrange(n)) for _ in range(m))
    attributes = [{"cost": amount(least), "time": amount(1), "load": amount(0)} for _ in edges]
    listed = [(tail, head, attribute) for (tail, head), attribute in zip(edges, attributes, strict=True)]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(listed)
    cost = [attribute["cost"] for attribute in attributes]
    use = np.array([[attribute["time"], attribute["load"]] for attribute in attributes]).reshape(m, 2)
    heads = [head for _, head in edges]
    names = ["time", "load"]
    yield graph, 0, n - 1
    if {0, n - 1} <= {node for ends in edges for node in ends}:
        yield iter(listed), 0, n - 1
    yield RcspProblem(n, [tail for tail, _ in edges], heads, cost, use, resources=names), None, None
    yield nx.relabel_nodes(graph, lambda node: f"v{node}"), "v0", f"v{n - 1}"


def test_all_forms_of_a_graph_agree() -> None:
    met = set()
    for seed in range(60):
        rng = random.Random(seed)
        limits = {"time": rng.choice([None, 2, 9.5, (2, 12)]), "load": rng.choice([3, 20, None])}
        elementary, maximise = rng.random() < 0.5, rng.random() < 0.3
        answers = []
        for graph, source, target in graphs(rng):
            try:
                path = shortest_path(graph, source, target, limits, elementary=elementary, maximise=maximise)
                answers.append((path.status, path.cost))
            except EndlessError:
                answers.append((Status.ERROR, None))
        assert len(set(answers)) <= 1, seed
        met |= {status for status, _ in answers}
    assert met == {Status.OPTIMAL, Status.INFEASIBLE, Status.ERROR}


def test_a_circle_that_gains() -> None:
    edges = [("a", "b", {"cost": -1}), ("b", "a", {"cost": 0, "t": 1}), ("b", "c", {"cost": 1, "t": 1})]
    path = shortest_path(edges, "a", "c", {"t": 3})
    assert (path.nodes, path.cost, path.resources) == (("a", "b", "a", "b", "a", "b", "c"), -2, {"t": 3})
    with pytest.raises(EndlessError, match="it costs less than nothing, and nothing that it uses has an upper limit"):
        shortest_path(edges, "a", "c", {"t": (2, None)})
    with pytest.raises(EndlessError, match="it gains") as error:
        shortest_path([(a, b, {"cost": -numbers["cost"]}) for a, b, numbers in edges], "a", "c", maximise=True)
    assert sorted(error.value.circle) == [0, 1]
    assert shortest_path(edges, "a", "c", {"t": None}, elementary=True).cost == 0


def test_the_empty_path() -> None:
    path = shortest_path([("a", "b", {"cost": 1, "t": 1})], "a", "a", {"t": 0})
    assert (path.status, path.nodes, path.edges, path.cost, path.resources) == ("OPTIMAL", ("a",), (), 0, {"t": 0})


def test_the_k_best_differ_from_fewer() -> None:
    graph = commute()
    some = shortest_paths(graph, "home", "office", {"time": None}, k=2, cost="usd")
    assert ([path.cost for path in some], some.status, some.message) == ([3, 5.5], "OPTIMAL", "")
    worst = shortest_paths(graph, "home", "office", {"time": None}, k=2, cost="usd", maximise=True)
    assert [path.cost for path in worst] == [24, 5.5]
    none = shortest_paths(graph, "office", "home", k=2, cost="usd")
    assert (none.status, len(none), none.explanation is not None) == ("INFEASIBLE", 0, True)
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ProblemError, match="k = "):
            shortest_paths(graph, "home", "office", k=wrong, cost="usd")  # type: ignore[arg-type]


def test_other_ends_and_limits_of_a_problem() -> None:
    problem = RcspProblem(3, [0, 1, 0], [1, 2, 2], [1, 1, 5], [[4], [4], [1]], upper=[9], resources=["t"])
    assert shortest_path(problem).cost == 2
    assert shortest_path(problem, limits={"t": 7}).cost == 5
    assert shortest_path(problem, target=1).cost == 1
    assert shortest_path(problem, 1).cost == 1
    for wrong, text in (
        ({"limits": {"x": 1}}, "no such resource; there are: t"),
        ({"source": 3}, "source = 3"),
        ({"cost": "usd"}, "an RcspProblem has its costs already"),
    ):
        with pytest.raises(ProblemError, match=text):
            shortest_path(problem, **wrong)  # type: ignore[arg-type]


EDGE = (1, 2, {"cost": 3, "t": 1})


@pytest.mark.parametrize(
    ("graph", "limits", "text"),
    [
        ([EDGE], {"x": 1}, "attribute = 'x': no edge and no node of the graph has it"),
        ([(1, 2, {"price": 1})], {}, "attribute = 'cost': no edge"),
        ([EDGE, (2, 3, {"t": 1})], {"t": 1}, "edge = 1: has no attribute 'cost', and others have"),
        ([(1, 2, {"cost": "3"})], {}, "edge 0, attribute 'cost' = '3': expected a number"),
        ([(1, 2, {"cost": None})], {}, "edge 0, attribute 'cost' = None: expected a number"),
        ([(1, 2, {"cost": float("inf")})], {}, "edge 0, attribute 'cost' = inf: must be finite; leave out an edge"),
        ([(1, 2, {"cost": 2**63}), EDGE], {}, "edge 0, attribute 'cost' = 9223372036854775808: must be within"),
        ([EDGE, (1, 2, {"cost": 3, "t": -1})], {"t": 1}, "edge 1, attribute 't' = -1: must not be negative"),
        ([EDGE, (1, 2, {"cost": 3, "t": [1]})], {"t": 1}, r"edge 1, attribute 't' = \[1\]: expected a number"),
        ([EDGE], {"t": "much"}, r"limits\['t'\] = 'much': expected a number"),
        ([EDGE], {"t": (1, 2, 3)}, r"limits\['t'\] = .*: expected an upper limit, or a pair"),
        ([EDGE], ["t"], "expected a dict"),
        ([(1, 2)], {}, r"graph\[0\] = \(1, 2\): expected \(tail, head, {attributes}\)"),
        ([([], 2, {})], {}, r"graph\[0\] = .* with hashable nodes"),
        ([(1, 3, {"cost": 1})], {}, "target = 2: no such node in the graph"),
        (5, {}, "graph = 5: expected a directed networkx graph"),
        (nx.Graph([EDGE]), {}, r"is not directed; graph.to_directed\(\)"),
        (nx.DiGraph([(1, 2, {"cost": -1, "t": "x"})]), {"t": 1}, r"edge \(1, 2\), attribute 't' = 'x'"),
    ],
)
def test_what_is_malformed_is_named(graph: Any, limits: Any, text: str) -> None:
    with pytest.raises(ProblemError, match=text):
        shortest_path(graph, 1, 2, limits)


def test_nodes_that_are_malformed_are_named() -> None:
    graph = commute()
    graph.nodes["stop"]["time"] = -4
    with pytest.raises(ProblemError, match="node 'stop', attribute 'time' = -4: must not be negative"):
        shortest_path(graph, "home", "office", {"time": 3}, cost="usd")
    with pytest.raises(ProblemError, match="source = None: say where paths begin and end"):
        shortest_path(commute(), cost="usd")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("threads", wrong) for wrong in (0, True, 1.5, "2")),
        *(("time_limit", wrong) for wrong in (0, -1, math.nan, "1")),
    ],
)
def test_wrong_options_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ProblemError, match=f"{name} = "):
        shortest_path([EDGE], 1, 2, **{name: value})


@pytest.mark.parametrize(
    ("paths", "fault"),
    [
        ([(0,)], "the path ends at node 1, not at the target 2"), ([(1,)], "the edges do not follow upon each other"),
        ([(0, 7)], "an edge does not exist"), ([(0, -1)], "an edge does not exist"),
        ([(0, 1, 3, 1)], "the path uses 17 of t, and may use 9"), ([(0, 4)], "the path uses 1 of t, and must use 2"),
        ([(2,), (0, 1)], "the paths are not in order of their costs"), ([(0, 1), (0, 1)], "a path came twice"),
        ([(0, 1), (2,), (0, 1, 3, 1)], "the path meets a node twice"),
    ],
)  # fmt: skip
def test_no_answer_is_believed(paths: list[tuple[int, ...]], fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = RcspProblem(
        3, tails=[0, 1, 0, 2, 1], heads=[1, 2, 2, 1, 2], cost=[1, 1, 5, 1, 1], use=[[1], [7], [5], [2], [0]],
        lower=[2], upper=[9], resources=["t"],
    )  # fmt: skip
    answering(monkeypatch, Found(Ending.PROVED, paths, None, 0, 0.0))
    answer = shortest_paths(problem, k=2, elementary="twice" in fault)
    assert (answer.status, answer.paths) == ("ERROR", ())
    assert fault in answer.message


def test_a_circle_is_not_believed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = RcspProblem(2, [0, 1], [1, 0], [1, 1])
    answering(monkeypatch, Found(Ending.UNBOUNDED, [(0, 1)], None, 0, 0.0))
    assert "named (0, 1) a circle that gains, and it is not" in shortest_path(problem).message


@pytest.mark.parametrize(
    ("ending", "paths", "bound", "status", "bounds"),
    [
        (Ending.OUT_OF_TIME, [(0, 1)], None, "FEASIBLE", [None]), (Ending.OUT_OF_TIME, [(0, 1)], 1, "FEASIBLE", [11]),
        (Ending.OUT_OF_TIME, [(0, 1), (2,)], 2, "FEASIBLE", [12, 12]), (Ending.OUT_OF_TIME, [], None, "TIMEOUT", []),
        (Ending.TOO_LARGE, [(2,)], 3, "FEASIBLE", [13]), (Ending.TOO_LARGE, [], None, "ERROR", []),
        (Ending.INFEASIBLE, [], None, "INFEASIBLE", []), (Ending.UNREACHABLE, [], None, "INFEASIBLE", []),
    ],
)  # fmt: skip
def test_searches_that_were_cut_short(
    ending: Ending, paths: Any, bound: int | None, status: str, bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = RcspProblem(3, [0, 1, 0], [1, 2, 2], [1, 1, 5], node_cost=[10, 0, 0])
    answering(monkeypatch, Found(ending, paths, bound, 0, 0.0))
    answer = shortest_paths(problem, k=2)
    assert answer.status == status
    assert [path.bound for path in answer] == bounds
    proved = [bound is not None and path.cost is not None and path.cost <= 10 + bound for path in answer]
    assert [path.status == "OPTIMAL" for path in answer] == proved


def test_a_bound_on_the_greatest_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = RcspProblem(2, [0, 0], [1, 1], [1.5, 4], node_cost=[10, 0])
    answering(monkeypatch, Found(Ending.OUT_OF_TIME, [(0,)], int(-4 * fold(problem).cost_unit), 0, 0.0))
    path = shortest_path(problem, maximise=True)
    assert (path.status, path.cost, path.bound) == ("FEASIBLE", 11.5, 14.0)


def test_only_what_has_no_path_is_explained() -> None:
    assert shortest_path([EDGE], 1, 2).explanation is None
    assert ShortestPath(Status.TIMEOUT).explanation is None
