"""``tape solve``: plan graphs and the formats of others, one answer for people, one for programs, errors that help."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tests.tape.commandline import Tape

PROBLEM = "3 3 1\n0\n9\n0\n0\n0\n1 2 1 4\n2 3 1 4\n1 3 5 1\n"


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    graph = PlanGraph()
    graph.fold(["home", "shop", "goal"], ["walk", "buy"])
    graph.fold(["home", "goal"], ["fly"])
    graph.set_reward("goal", 1.0, goal=True)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"usd": 9_000_000 if edge.action == "fly" else 1_000_000, "steps": 1}))
    graph.save(tmp_path / "graph.json", start="home")
    return tmp_path / "graph.json"


def actions(answer: Any) -> list[str]:
    return [step["action"] for step in answer["walk"]]


@pytest.mark.parametrize("solver", ["labelling", "cp-sat", "pulp"])
def test_solve_uses_the_solver_alone(graph_file: Path, solver: str, tape: Tape) -> None:
    def path(budget: str, *more: str) -> tuple[int, Any]:
        written = tape("solve", graph_file, "--budget", budget, "--solver", solver, "--json", *more)
        return written.code, written.data

    code, rich = path("usd=9")
    assert (code, actions(rich)) == (0, ["fly"])
    poor = path("usd=2.5")[1]
    assert (actions(poor), poor["consumption"]) == (["walk", "buy"], {"usd": 2})
    code, broke = path("usd=1")
    assert (code, broke["status"]) == (1, "INFEASIBLE")
    assert path("usd=2.5", "--horizon", "1")[1]["status"] == "INFEASIBLE"


def test_solve_prints_units_and_draws(graph_file: Path, tmp_path: Path, tape: Tape) -> None:
    picture = tmp_path / "path.svg"
    solved = tape("solve", graph_file, "--budget", "usd=2.5,steps=5", "--draw", picture)
    assert (solved.code, "usd: $2 of $2.50" in solved.out, "--walk--> shop" in solved.out) == (0, True, True)
    assert picture.exists()
    assert "'home'" in tape("solve", graph_file, "--start", "mars").err
    assert tape("solve", tmp_path / "none.json").code == 2


def test_solve_says_why_there_is_no_path(graph_file: Path, tape: Tape) -> None:
    command = ["solve", graph_file, "--budget", "usd=1,steps=2"]
    code, text, _ = tape(*command)
    assert (code, "INFEASIBLE" in text) == (1, True)
    assert "usd is short: $1 given, $2 would do ($1 more), everything else unchanged." in text
    assert "No amount of steps alone would do." in text
    assert "horizon" not in text, "it follows from the budgets"
    assert "short" not in tape(*command, "--no-explain").out
    explanation = tape(*command, "--json").data["explanation"]
    assert [need["least"] for need in explanation["budgets"]] == [None, 2]
    assert "usd is short: $1 given" in explanation["text"]
    short = tape("solve", graph_file, "--budget", "usd=5", "--horizon", "1")
    assert (short.code, "A longer horizon would do: 2 moves instead of 1" in short.out) == (1, True)


def test_solve_takes_goals_and_either_objective(graph_file: Path, tape: Tape) -> None:
    def answer(*more: str) -> Any:
        return tape("solve", graph_file, "--budget", "usd=$9,steps=2", "--json", *more).data

    assert (answer()["objective"], answer()["consumption"]) == (1.0, {"steps": 1, "usd": 9})
    assert actions(answer("--goal", "shop")) == ["walk"]
    assert actions(answer("--goal", "shop", "--goal", "goal")) == ["fly"]
    stays = answer("--objective", "stay")
    assert (stays["objective"], actions(stays)) == (3.0, ["fly"]), "three nodes, three steps"
    assert answer("--objective", "stay", "--horizon", "2", "--goal", "shop")["objective"] == 2.0
    for wrong, text in (
        (["--goal", "mars"], "there is no node 'mars'"),
        (["--objective", "stay", "--goal", "mars"], "there is no node 'mars'"),
        (["--budget", "usd=5 s"], "'5 s' is in 's', not in US dollars"),
    ):
        code, _, error = tape("solve", graph_file, *wrong)
        assert (code, text in error) == (2, True), error


def with_spreads(graph_file: Path, spread: object) -> None:
    data = json.loads(graph_file.read_text())
    for link in data["links"]:
        if link["action"] == "walk":
            link["spread"] = spread
    graph_file.write_text(json.dumps(data))


def test_solve_at_a_risk(graph_file: Path, tape: Tape) -> None:
    command = ["solve", graph_file, "--budget", "usd=2.5", "--risk"]
    assert "no edge has a spread" in tape(*command, "0.1").out
    with_spreads(graph_file, {"usd": 300_000})
    assert "use 'labelling'" in tape(*command, "0.1", "--solver", "cp-sat").err
    assert "risk.probability = 0.7" in tape(*command, "0.7").err
    assert tape(*command, "0.1").code == 0
    short = tape(*command, "0.01")
    assert (short.code, "usd is short: $2.50 given, $2.697905 would do" in short.out) == (1, True)
    robust = tape(*command, "0.1", "--risk-assumption", "any")
    assert (robust.code, "($0.40 more; mean $2, standard deviation 0.3 usd)" in robust.out) == (1, True)
    for wrong in ({"usd": None}, {"usd": -1}, 3):
        with_spreads(graph_file, wrong)
        assert re.search("spread|usd", tape(*command, "0.1").err)


# --- formats of others --------------------------------------------------------------------------


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "problem.txt").write_text(PROBLEM)
    return tmp_path / "problem.txt"


def test_a_problem_has_an_object_for_programs_and_text_for_people(problem: Path, tape: Tape) -> None:
    written = tape("solve", problem, "--format", "rcsp", "--json")
    assert (written.code, written.out.count("\n")) == (0, 1)
    assert written.data["seconds"] > 0
    assert {name: value for name, value in written.data.items() if name != "seconds"} == {
        "status": "OPTIMAL", "cost": 2, "path": [1, 2, 3], "resources": {"r0": 8}, "bound": 2, "message": ""
    }  # fmt: skip
    first, *rest = tape("solve", problem, "--format", "rcsp", "--budget", "r0=7").out.splitlines()
    assert first.startswith("OPTIMAL in ")
    assert rest == ["cost 5", "r0: 1 of 7", "path 1 3"]
    short = ["solve", problem, "--format", "rcsp", "--budget", "r0=0"]
    written = tape(*short)
    assert written.code == 1
    assert written.out.splitlines()[1:] == [
        "paths lead to the target, and none keeps all limits",
        "r0 is short: 0 given, 1 would do, everything else unchanged.",
    ]
    answer = tape(*short, "--json").data
    assert (answer["status"], answer["cost"], answer["path"]) == ("INFEASIBLE", None, [])
    assert answer["explanation"]["needs"][0]["least"] == 1
    assert "explanation" not in tape(*short, "--json", "--no-explain").data


@pytest.mark.parametrize(
    ("added", "text"),
    [
        ("--budget r1=3", "--budget r1=3: no such resource; there are: r0"),
        ("--budget r0=x", "--budget r0=x: expected NAME=NUMBER"), ("--budget r0=nan", "upper[0] = nan"),
        ("--start 4", "'4' is no node of"), ("--goal ٣", "'٣' is no node of"),
        ("--goal 1 --goal 2", "--goal: --format rcsp takes one"),
        ("--horizon 4", "--horizon is for plan graphs, not for --format rcsp"),
        ("--risk 0.1", "--risk is for plan graphs"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_named(problem: Path, added: str, text: str, tape: Tape) -> None:
    code, out, error = tape("solve", problem, "--format", "rcsp", *added.split())
    assert (code, out, text in error) == (2, "", True)


def test_wrong_files(problem: Path, tmp_path: Path, tape: Tape) -> None:
    problem.write_text(PROBLEM.replace("1 2 1 4", "1 2 x 4"))
    code, _, error = tape("solve", problem, "--format", "rcsp")
    assert (code, error) == (2, f"tape solve: {problem}:7: expected numbers, found '1 2 x 4'\n")
    assert "No such file" in tape("solve", tmp_path / "none", "--format", "rcsp").err
    problem.write_text("2 2 0\n1 2 -1\n2 1 0\n")
    code, _, error = tape("solve", problem, "--format", "rcsp")
    assert (code, "has no end: it costs less than nothing" in error) == (2, True)
