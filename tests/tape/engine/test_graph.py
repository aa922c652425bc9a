import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.budget import Resources
from tape.engine.graph import PlanGraph
from tape.errors import GraphError
from tape.show.draw import draw

plans = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=8), min_size=1, max_size=6)


def folded(plan_list: list[list[tuple[str, int]]]) -> tuple[PlanGraph, list[list[str]]]:
    graph = PlanGraph()
    paths = [graph.fold([0, *(s for _, s in plan)], [a for a, _ in plan]) for plan in plan_list]
    return graph, paths


@given(plans)
def test_fold_keeps_every_plan_as_a_walk(plan_list: list[list[tuple[str, int]]]) -> None:
    graph, paths = folded(plan_list)
    for plan, path in zip(plan_list, paths, strict=True):
        assert path == ["0", *(str(s) for _, s in plan)]
        for source, (action, _), target in zip(path, plan, path[1:], strict=False):
            assert graph.edge(graph.find(source, action, target)).votes >= 1
    assert sum(edge.votes for edge in graph.edges()) == sum(map(len, plan_list))
    assert len(graph.nodes) == len({s for path in paths for s in path})


@given(plans)
def test_round_trip_and_selection_survive_a_file(plan_list: list[list[tuple[str, int]]]) -> None:
    graph, _ = folded(plan_list)
    for i, node in enumerate(graph.nodes):
        graph.set_reward(node, i % 3 - 1)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1 + edge.id % 2}))
    again = PlanGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert list(again.edges()) == list(graph.edges())
    assert {n: dict(again.attributes(n)) for n in again.nodes} == {n: dict(graph.attributes(n)) for n in graph.nodes}
    mine, theirs = (g.path_problem("0", {"steps": 6}, 8) for g in (graph, again))
    assert mine == theirs
    assert solvers.solve(mine[0]).objective == solvers.solve(theirs[0]).objective


@given(plans)
def test_a_refuted_edge_is_never_selected(plan_list: list[list[tuple[str, int]]]) -> None:
    graph, _ = folded(plan_list)
    first = next(graph.edges(), None)
    if first is None:
        return
    graph.certify(int(first.source), first.action, 99)
    usable = {(e.source, e.action): e for e in graph.usable_edges()}
    chosen = usable[first.source, first.action]
    assert chosen.target == "99"
    assert chosen.certified
    assert not any(edge.refuted for edge in graph.usable_edges())


def test_most_votes_win_and_the_first_sampled_on_a_tie() -> None:
    graph = PlanGraph()
    graph.fold([0, 1], ["a"])
    graph.fold([0, 2], ["a"])
    assert [e.target for e in graph.usable_edges()] == ["1"]
    graph.fold([0, 2], ["a"])
    assert [e.target for e in graph.usable_edges()] == ["2"]


def test_terminals_are_plan_ends_and_goals_but_the_start_only_as_goal() -> None:
    graph = PlanGraph()
    graph.fold([0, 1, 2], ["a", "b"])
    graph.fold([0], [])
    assert graph.terminals("0") == ["2"]
    graph.set_reward("1", 1.0)
    graph.set_reward("0", 1.0)
    assert graph.terminals("0") == ["0", "1", "2"]
    graph.set_reward("2", -1.0)
    assert graph.terminals("0") == ["0", "1"]


def test_the_walk_keeps_the_budget_rather_than_the_higher_reward() -> None:
    graph = PlanGraph()
    graph.fold([0, 1], ["dear"])
    graph.fold([0, 2], ["cheap"])
    graph.set_reward("1", 1.0)
    graph.set_reward("2", 0.4)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"usd": 9 if edge.action == "dear" else 1}))
    for budget, action in ((9, "dear"), (8, "cheap")):
        problem, ids = graph.path_problem("0", {"usd": budget}, 3)
        solution = solvers.solve(problem)
        assert [graph.edge(ids[e]).action for e in solution.edges] == [action]
    problem, _ = graph.path_problem("0", {"usd": 0}, 3)
    assert solvers.solve(problem).status is solvers.Status.INFEASIBLE


def test_an_unknown_cost_under_a_cap_is_an_error() -> None:
    graph = PlanGraph()
    graph.fold([0, 1], ["a"])
    graph.set_cost(0, Resources({"usd": None}))
    graph.path_problem("0", {}, 3)
    with pytest.raises(GraphError, match="usd is unknown"):
        graph.path_problem("0", {"usd": 5}, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("[]", "JSON object"),
        ("{}", "not a plan graph"),
        ('{"kind": "plan_graph", "schema": 1}', "malformed"),
        ('{"kind": "plan_graph", "schema": 1, "nodes": [{"id": "a"}], "links": [{"source": "a"}]}', "malformed"),
    ],
)
def test_malformed_files_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "g.json"
    path.write_text(text)
    with pytest.raises(GraphError, match=says) as error:
        PlanGraph.load(path)
    assert "g.json" in str(error.value)


def test_fold_needs_one_state_more_than_actions() -> None:
    with pytest.raises(GraphError, match="needs 2 states"):
        PlanGraph().fold([0], ["a"])


def test_labels_are_drawn_as_they_are_dollars_included(tmp_path: Path) -> None:
    graph = PlanGraph(render=lambda _: "#$ $_{x}$#")
    graph.fold([0, 1], ["a $ b $"])
    draw(graph, tmp_path / "g.svg", start="0", path=[0], title="$ and $^{")
    assert (tmp_path / "g.svg").stat().st_size > 0


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_drawing_writes_a_picture(tmp_path: Path, ending: str) -> None:
    graph = PlanGraph()
    graph.fold([0, 1, 2, 0], ["a", "b", "c"])
    graph.fold([0, 3], ["d"])
    graph.certify(0, "d", 4)
    graph.set_reward("2", 1.0)
    path = tmp_path / f"graph{ending}"
    draw(graph, path, start="0", path=[0, 1])
    data = path.read_bytes()
    assert data.startswith(b"<?xml" if ending == ".svg" else b"\x89PNG")
    draw(graph, tmp_path / f"again{ending}", start="0", path=[0, 1])
    assert (tmp_path / f"again{ending}").read_bytes() == data
    with pytest.raises(GraphError, match="ends in"):
        draw(graph, tmp_path / "graph.txt", start="0")
