import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.cli import main
from tape.errors import GraphError

plans = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=8), min_size=1, max_size=6)


def folded(plan_list: list[list[tuple[str, int]]]) -> tuple[PlanGraph, list[list[str]]]:
    graph = PlanGraph()
    paths = [graph.fold([0, *(s for _, s in plan)], [a for a, _ in plan]) for plan in plan_list]
    return graph, paths


@given(plans)
def test_fold_keeps_every_plan_as_a_path(plan_list: list[list[tuple[str, int]]]) -> None:
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
    mine, theirs = (g.path_problem("0", {"steps": 6}, 8, any_end=True) for g in (graph, again))
    assert mine == theirs
    assert solvers.solve(mine[0]).objective == solvers.solve(theirs[0]).objective


@given(plans)
def test_a_contradicted_edge_is_never_selected_and_an_observed_one_is_certain(
    plan_list: list[list[tuple[str, int]]],
) -> None:
    graph, _ = folded(plan_list)
    first = next(graph.edges(), None)
    if first is None:
        return
    graph.certify(int(first.source), first.action, 99)
    usable = {(e.source, e.action): e for e in graph.usable_edges()}
    chosen = usable[first.source, first.action]
    assert (chosen.target, chosen.certified, chosen.confidence) == ("99", True, 1.0)
    assert not any(edge.contradicted for edge in graph.usable_edges())


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
    assert graph.terminals("0") == ["2"]
    graph.set_goal("1")
    graph.set_reward("0", 1.0, goal=True)
    assert graph.terminals("0") == ["0", "1", "2"]
    graph.set_reward("2", -1.0)
    assert graph.terminals("0") == ["0", "1"]


def test_a_reward_alone_makes_no_goal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = PlanGraph()
    graph.set_reward(graph.add_variant("a", "1", "b"), 0.9)
    graph.save(tmp_path / "g.json", start="a")
    assert main(["solve", str(tmp_path / "g.json")]) == 2
    assert "declare a goal" in capsys.readouterr().err
    graph = PlanGraph()
    graph.fold(["a", "b", "c"], ["1", "2"])
    graph.set_reward("b", 0.9)
    graph.set_reward("c", -0.9)
    assert best(graph, "a") == (0.0, ["1", "2"])  # it ends where the folded plan ends, whatever that earns
    graph.set_goal("b")
    assert best(graph, "a") == (0.9, ["1"])
    graph.set_reward("b", 0.7)
    assert graph.attributes("b")["goal"]  # a new reward leaves a goal what it is
    graph.set_goal("b", goal=False)
    assert best(graph, "a") == (pytest.approx(-0.2), ["1", "2"])
    assert best(graph, "a", goals=["b"]) == (0.7, ["1"])
    home = PlanGraph()
    home.fold(["home", "shop", "home"], ["go", "return"])
    home.set_reward("shop", -0.5)
    assert best(home, "home") == (-0.5, ["go", "return"])  # a plan that comes back ends there after a step
    home.set_goal("home")
    assert best(home, "home") == (0.0, [])  # the path is there already


def best(
    graph: PlanGraph, start: str, budget: dict[str, int] | None = None, **more: Any
) -> tuple[float | None, list[str]]:
    problem, ids = graph.path_problem(start, budget or {}, **more)
    solution = solvers.solve(problem)
    return solution.objective, [graph.edge(ids[edge]).action for edge in solution.edges]


def test_rewards_of_nodes_and_edges_are_earned_once_a_visit() -> None:
    graph = PlanGraph()
    graph.fold(["a", "b", "end"], ["1", "2"])
    graph.set_reward("a", 5.0)  # no path arrives there
    graph.set_reward("b", 0.25)
    graph.set_reward("end", 1.0)
    graph.set_edge_reward(graph.find("b", "2", "end"), 0.5)
    assert best(graph, "a") == (1.75, ["1", "2"])
    assert best(graph, "a", horizon=9) == (1.75, ["1", "2"])
    assert best(graph, "a", discount=0.5) == (1.0, ["1", "2"])
    assert graph.edge(1).reward == 0.5
    assert PlanGraph.from_dict(graph.to_dict()).edge(1).reward == 0.5
    assert "reward" not in graph.to_dict()["links"][0]  # what an agent saves is as it was
    graph.set_reward("b", 0.9, goal=True)
    assert best(graph, "a", horizon=5, objective="stay") == (pytest.approx(4.9), ["1", "2"])
    assert best(graph, "a", horizon=1, objective="stay") == (0.9, ["1"])


def test_a_path_may_pass_a_goal_and_go_round_a_circle_that_earns() -> None:
    graph = PlanGraph()
    graph.fold(["a", "b", "a", "end"], ["out", "back", "leave"])
    graph.set_reward("end", 1.0)
    assert best(graph, "a") == (1.0, ["leave"])  # a circle that earns nothing needs no horizon
    graph.set_reward("end", 0.0, goal=True)
    graph.set_reward("b", 1.0, goal=True)
    with pytest.raises(
        GraphError, match=r"the circle (a --out--> b --back--> a|b --back--> a --out--> b) has no end: it"
    ):
        graph.path_problem("a", {"steps": 9})
    assert best(graph, "a", horizon=3) == (2.0, ["out", "back", "out"])
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1}))
    assert best(graph, "a", {"steps": 6}) == (3.0, ["out", "back", "out", "back", "out"])
    assert best(graph, "a", {"steps": 6}, goals=["end"]) == (2.0, ["out", "back", "out", "back", "leave"])


def test_wrong_arguments_are_named() -> None:
    graph = PlanGraph()
    graph.add_variant("a", "1", "b")
    with pytest.raises(
        GraphError, match=r"neither a goal nor the end of a folded plan; declare a goal with graph\.set_goal"
    ):
        graph.path_problem("a", {})
    for wrong, says in (
        ({"goals": ["z"]}, "no node 'z'"),
        ({"goals": []}, "name at least one"),
        ({"objective": "leave", "goals": ["b"]}, "no objective 'leave'"),
        ({"objective": "stay"}, "needs a horizon"),
        ({"objective": "stay", "horizon": 3, "goals": ["b"]}, 'goes with the objective "visit"'),
        ({"any_end": True, "goals": ["b"]}, 'goes with the objective "visit"'),
    ):
        with pytest.raises(GraphError, match=says):
            graph.path_problem("a", {}, **wrong)
    graph.set_cost(0, Resources({"usd": None}))
    graph.path_problem("a", {}, goals=["b"])
    with pytest.raises(GraphError, match="usd is unknown"):
        graph.path_problem("a", {"usd": 5}, goals=["b"])
    with pytest.raises(GraphError, match="needs 2 states"):
        graph.fold([0], ["a"])
    for bad in (float("nan"), "1", True):
        with pytest.raises(GraphError, match="must be a finite number"):
            graph.set_reward("b", bad)  # type: ignore[arg-type]
        with pytest.raises(GraphError, match="the reward of edge 0"):
            graph.set_edge_reward(0, bad)  # type: ignore[arg-type]


def test_a_written_file_may_declare_goals_and_rewards_of_edges(tmp_path: Path) -> None:
    nodes = [{"id": "a"}, {"id": "b", "reward": 2, "goal": True}, {"id": "c", "goal": True}]
    links = [
        {"source": "a", "target": "b", "key": 0, "action": "left", "reward": 1.5, "cost": {"usd": 10}},
        {"source": "a", "target": "c", "key": 0, "action": "right", "reward": 3.0, "cost": {"usd": 90}},
    ]
    data = {"kind": "plan_graph", "schema": 1, "directed": True, "multigraph": True, "nodes": nodes, "links": links}
    assert best(PlanGraph.from_dict(data), "a") == (3.5, ["left"])
    for place, name, wrong, says in (
        (nodes[1], "reward", "much", "field nodes.1.reward: input should be a valid number, got 'much'"),
        (nodes[1], "goal", "yes", "field nodes.1.goal: input should be a valid boolean, got 'yes'"),
        (links[0], "reward", None, "field links.0.reward: input should be a valid number, got null"),
    ):
        held, place[name] = place[name], wrong
        with pytest.raises(GraphError, match=says):
            PlanGraph.from_dict(data)
        place[name] = held


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
