"""Plan graphs in PDDL: read back, and validated by two validators, since one of them has been wrong."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("unified_planning")
pytest.importorskip("pyval")

from pyval import PDDLValidator
from unified_planning.engines import SequentialPlanValidator
from unified_planning.io import PDDLReader

import solvers
from tape import PlanGraph, Resources
from tape.budget import Budget, declare
from tape.choice.pddl import read_plan, save_pddl
from tape.errors import GraphError


def graph_of(plans: list[list[int]], prices: list[int]) -> PlanGraph:
    graph = PlanGraph()
    for plan in plans:
        nodes = ["home", *(f"place {i}" for i in plan), "office"]
        graph.fold(nodes, [f"go to {name}" for name in nodes[1:]])
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources.of(usd=str(prices[edge.id % len(prices)] / 4), steps=1))
    for node in graph.nodes:
        graph.set_reward(node, 0.25 if node.startswith("place") else 1.0)
    graph.set_goal("office")
    return graph


def verdicts(folder: Path) -> tuple[bool, bool]:
    """What both validators say of the plan in a folder."""
    files = [str(folder / name) for name in ("domain.pddl", "problem.pddl", "plan.txt")]
    reader = PDDLReader()
    problem = reader.parse_problem(*files[:2])
    plan = reader.parse_plan(problem, files[2])
    first = SequentialPlanValidator().validate(problem, plan).status.name == "VALID"
    second = PDDLValidator().validate(domain_path=files[0], problem_path=files[1], plan_path=files[2]).is_valid
    return first, bool(second)


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=3, unique=True), min_size=1, max_size=4),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.integers(0, 8),
)
def test_a_chosen_path_is_a_plan_for_both_validators(
    tmp_path_factory: pytest.TempPathFactory, plans: list[list[int]], prices: list[int], cap: int
) -> None:
    graph = graph_of(plans, prices)
    caps = dict(Budget.parse(f"usd=${cap / 4},steps=9"))
    problem, ids = graph.path_problem("home", caps, len(graph.nodes))
    solution = solvers.solve(problem)
    folder = tmp_path_factory.mktemp("pddl")
    path = [graph.edge(ids[edge]) for edge in solution.edges] if solution.has_path else None
    save_pddl(graph.to_pddl("home", caps), folder, path)
    if path is not None:
        assert read_plan((folder / "plan.txt").read_text()) == [edge.id for edge in path]
        assert verdicts(folder) == (True, True)
    else:  # then every plan breaks the cap, also by the validators
        dear = [graph.edge(number) for number in graph.plans[0]]
        save_pddl(graph.to_pddl("home", caps), folder, dear)
        assert verdicts(folder) == (False, False)


def test_tape_solve_writes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tape.cli.solve import main

    graph_of([[1], [2, 3]], [2, 3]).save(tmp_path / "graph.json", start="home")
    command = [str(tmp_path / "graph.json"), "--budget", "usd=$5", "--pddl", str(tmp_path / "out"), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "OPTIMAL"
    assert verdicts(tmp_path / "out") == (True, True)
    assert (tmp_path / "out" / "plan.txt").read_text().endswith("; cost = 3 (unit cost)\n")


def test_what_cannot_be_written_is_refused() -> None:
    graph = PlanGraph()
    with pytest.raises(GraphError, match="no step of a plan"):
        read_plan("(walk home)")
    graph.add_state("home")
    with pytest.raises(GraphError, match="no goal and no end of a plan"):
        graph.to_pddl("home")


def test_resources_of_nearly_one_name_stay_two(tmp_path: Path) -> None:
    kinds = [declare(name, "piece").name for name in ("piece.kind", "piece_kind")]
    graph = PlanGraph()
    graph.fold(["home", "office"], ["go"])
    edge = next(iter(graph.edges()))
    graph.set_cost(edge.id, Resources(dict(zip(kinds, (1, 5), strict=True))))
    graph.set_goal("office")
    save_pddl(graph.to_pddl("home", dict(zip(kinds, (1, 5), strict=True))), tmp_path, [edge])
    assert verdicts(tmp_path) == (True, True)
    save_pddl(graph.to_pddl("home", dict(zip(kinds, (5, 1), strict=True))), tmp_path, [edge])
    assert verdicts(tmp_path) == (False, False)
