"""The command line as a user meets it."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.xsb import write
from tape.budget import Resources
from tape.cli import main
from tape.cli.switches import add_switches, config_of, methods_of
from tape.engine.graph import PlanGraph
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.plugins import names
from tests.tape.helpers import CORRIDOR, ROOM


@pytest.fixture
def levels(tmp_path: Path) -> str:
    path = tmp_path / "levels.xsb"
    write(path, [CORRIDOR, ROOM])
    return str(path)


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that always answers the same; chat prompts, so scores fail: use open_loop with it."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(['{"thought": "right", "actions": ["right", "right", "right"]}']))
    return f"scripted:{path}"


def test_run_show_and_resume(tmp_path: Path, levels: str, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", "--levels", levels, "--agent", "open_loop", "--model", script, "--out", str(out)]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "[2/2]" in text
    assert "2/2 solved" in text
    assert "| open_loop | scripted:" in text
    assert json.loads((out / "summary.json").read_text())["groups"][0]["successes"] == 2
    assert main(command) == 0
    assert "[1/2]" not in capsys.readouterr().out, "a complete run has nothing to do"
    assert main(["show", str(out), "2"]) == 0
    shown = capsys.readouterr().out
    assert "acts R" in shown
    assert "success after" in shown
    assert main(["show", str(out), "--list"]) == 0
    assert capsys.readouterr().out.count("success") == 2
    assert main([*command, "--slack", "3"]) == 2
    assert "options.slack: 2 there, 3 now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--levels", "nonsense"], "easy"),
        (["--slack", "-1"], "--slack must be from 0"),
        (
            ["--agent", "nobody"],
            "there is no agent 'nobody'; there is: best_of_n_plan_and_act, best_of_n_react,",
        ),
        (["--model", "bundled:huge"], "there is no bundled model 'huge'"),
        (["--model", "gpt"], "tape models"),
        (["--model", "scripted:/nowhere.json"], "is a JSON file with a list of replies"),
        (["--solver", "magic"], "labelling"),
        (["--num-plans", "0"], "num_plans = 0"),
        (["--temperature", "-2"], "temperature"),
        (["--budget", "steps"], "KIND=AMOUNT"),
        (["--budget", "gold=1"], "not declared"),
        (["--verify", "aec"], "settings of aec mean nothing to the agent 'open_loop': leave them out"),
        (
            ["--agent", "react", "--verify", "aec", "--gate", "joint"],
            "settings of aec mean nothing to the agent 'react'",
        ),
        (["--agent", "tape", "--verify", "aec", "--margin", "0.6"], "setting aec.margin = 0.6"),
        (["--agent", "tape", "--verify", "aec", "--selector", "lm"], "selector='solver'"),
        (["--agent", "sdp", "--attempts", "0"], "setting sdp.attempts = 0"),
    ],
)
def test_usage_errors_say_what_is_wrong_and_leave_nothing(
    tmp_path: Path, levels: str, script: str, change: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", "--levels", levels, "--agent", "open_loop", "--model", script, "--out", str(out)]
    assert status(*command, *change) == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


def status(*command: str) -> int:
    """The exit status of a command; a malformed one ends in the parser."""
    try:
        return main(command)
    except SystemExit as ended:
        return int(str(ended.code))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--gate", "joint"], "--gate is a setting of aec and cgdp, none of which is in use here; add --verify aec or"),
        (["--gate=joint"], "none of which is in use here; add --verify aec or --agent cgdp, or another search agent"),
        (["--chain", "sample"], "--chain is a setting of sdp, which is not in use here; add --agent sdp"),
        (["--verify", "aec", "--step-cap", "5"], "--step-cap is a setting of sdp, which is not in use here"),
        (["--agent", "sdp", "--bridges"], "--bridges is a setting of aec, which is not in use here; add --verify aec"),
        (["--agent", "react", "--cascade", "off"], "--cascade is a setting of sdp, which is not in use here"),
        (["--verify", "aec", "--gate", "nonsense"], "argument --gate: invalid choice: 'nonsense'"),
        (["--verify", "sdp"], "argument --verify: invalid choice: 'sdp'"),
        (["--nonsense", "1"], "unrecognized arguments: --nonsense 1"),
        (["--agent"], "argument --agent: expected one argument"),
        (["--verify"], "argument --verify: expected one argument"),
    ],
)
def test_options_of_a_method_that_is_not_in_use_are_usage_errors(
    tmp_path: Path, levels: str, change: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        main(["run", "sokoban", "--levels", levels, "--out", str(out), *change])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("said", "methods"),
    [
        ([], []),
        (["--agent", "react"], []),
        (["--agent=sdp"], ["sdp"]),
        (["--verify", "aec"], ["aec"]),
        (["--verif", "aec"], []),  # no abbreviations: the real parser refuses it
        (["--agent", "sdp", "--verify=aec"], ["aec", "sdp"]),
        (["--agent", "sdp", "--verify", "none"], ["sdp"]),
        (["--help"], ["aec"]),
        (["--agent", "sdp", "--help"], ["aec", "sdp"]),
    ],
)
def test_the_methods_of_a_command_line(said: list[str], methods: list[str]) -> None:
    assert methods_of(["sokoban", "--levels", "easy", *said]) == methods


def test_malformed_levels_name_file_and_line(tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.xsb"
    path.write_text("; first\n#####\n#@$.#\n#####\n\n; second\n#####\n#@X.#\n#####\n")
    command = ["run", "sokoban", "--levels", str(path), "--model", script, "--out", str(tmp_path / "run")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "broken.xsb" in error
    assert "8" in error
    path.write_text("; stuck\n#####\n#$@.#\n#####\n")
    assert main(command) == 2
    assert "stuck" in capsys.readouterr().err


def test_an_unknown_environment_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "chess", "--out", "x"]) == 2
    known = ", ".join(sorted(names("tape.environments")))
    assert "alfworld, gsm_hard" in known
    assert f"there is no environment 'chess'; there is: {known}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run"])
    assert "required: environment" in capsys.readouterr().err


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    graph = PlanGraph()
    graph.fold(["home", "shop", "goal"], ["walk", "buy"])
    graph.fold(["home", "goal"], ["fly"])
    graph.set_reward("goal", 1.0, goal=True)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"usd": 9_000_000 if edge.action == "fly" else 1_000_000, "steps": 1}))
    path = tmp_path / "graph.json"
    graph.save(path, start="home")
    return path


@pytest.mark.parametrize("solver", ["labelling", "cp-sat", "pulp"])
def test_solve_uses_the_solver_alone(graph_file: Path, solver: str, capsys: pytest.CaptureFixture[str]) -> None:
    def path(budget: str, *more: str) -> tuple[int, dict[str, object]]:
        code = main(["solve", str(graph_file), "--budget", budget, "--solver", solver, "--json", *more])
        return code, json.loads(capsys.readouterr().out)

    code, rich = path("usd=9")
    assert code == 0
    assert [step["action"] for step in rich["walk"]] == ["fly"]  # type: ignore[attr-defined]
    code, poor = path("usd=2.5")
    assert [step["action"] for step in poor["walk"]] == ["walk", "buy"]  # type: ignore[attr-defined]
    assert poor["consumption"] == {"usd": 2}
    code, broke = path("usd=1")
    assert (code, broke["status"]) == (1, "INFEASIBLE")
    code, short = path("usd=2.5", "--horizon", "1")
    assert short["status"] == "INFEASIBLE"


def test_solve_prints_units_and_draws(graph_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "path.svg"
    assert main(["solve", str(graph_file), "--budget", "usd=2.5,steps=5", "--draw", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "usd: $2 of $2.50" in text
    assert "--walk--> shop" in text
    assert picture.exists()
    assert main(["solve", str(graph_file), "--start", "mars"]) == 2
    assert "'home'" in capsys.readouterr().err
    assert main(["solve", str(tmp_path / "none.json")]) == 2


def test_solve_says_why_there_is_no_walk(graph_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", str(graph_file), "--budget", "usd=1,steps=2"]
    assert main(command) == 1
    text = capsys.readouterr().out
    assert "INFEASIBLE" in text
    assert "usd is short: $1 given, $2 would do ($1 more), everything else unchanged." in text
    assert "No amount of steps alone would do." in text
    assert "horizon" not in text, "it follows from the budgets"
    assert main([*command, "--no-explain"]) == 1
    assert "short" not in capsys.readouterr().out
    assert main([*command, "--json"]) == 1
    explanation = json.loads(capsys.readouterr().out)["explanation"]
    assert [need["least"] for need in explanation["budgets"]] == [None, 2]
    assert "usd is short: $1 given" in explanation["text"]
    assert main(["solve", str(graph_file), "--budget", "usd=5", "--horizon", "1"]) == 1
    assert "A longer horizon would do: 2 moves instead of 1" in capsys.readouterr().out


def test_solve_takes_goals_and_either_objective(graph_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(*more: str) -> dict[str, Any]:
        assert main(["solve", str(graph_file), "--budget", "usd=$9,steps=2", "--json", *more]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    assert (answer()["objective"], answer()["consumption"]) == (1.0, {"steps": 1, "usd": 9})
    assert [step["action"] for step in answer("--goal", "shop")["walk"]] == ["walk"]
    assert [step["action"] for step in answer("--goal", "shop", "--goal", "goal")["walk"]] == ["fly"]
    stays = answer("--objective", "stay")
    assert (stays["objective"], [step["action"] for step in stays["walk"]]) == (
        3.0,
        ["fly"],
    )  # three nodes, three steps
    assert answer("--objective", "stay", "--horizon", "2", "--goal", "shop")["objective"] == 2.0
    for wrong, says in (
        (["--goal", "mars"], "there is no node 'mars'"),
        (["--objective", "stay", "--goal", "mars"], "there is no node 'mars'"),
        (["--budget", "usd=5 s"], "'5 s' is in 's', not in US dollars"),
    ):
        assert main(["solve", str(graph_file), *wrong]) == 2
        assert says in capsys.readouterr().err


def with_spreads(graph_file: Path, spread: object) -> None:
    data = json.loads(graph_file.read_text())
    for link in data["links"]:
        if link["action"] == "walk":
            link["spread"] = spread
    graph_file.write_text(json.dumps(data))


def test_solve_at_a_risk(graph_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", str(graph_file), "--budget", "usd=2.5", "--risk", "0.1"]
    assert main(command) == 0
    assert "no edge has a spread" in capsys.readouterr().out
    with_spreads(graph_file, {"usd": 300_000})
    assert main([*command, "--solver", "cp-sat"]) == 2
    assert "use 'labelling'" in capsys.readouterr().err
    assert main([*command[:-1], "0.7"]) == 2
    assert "risk.probability = 0.7" in capsys.readouterr().err
    for wrong in ({"usd": None}, {"usd": -1}, 3):
        with_spreads(graph_file, wrong)
        assert main(command) == 2
        assert "spread" in (error := capsys.readouterr().err) or "usd" in error


def test_solve_keeps_the_risk(graph_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_spreads(graph_file, {"usd": 300_000})
    command = ["solve", str(graph_file), "--budget", "usd=2.5", "--risk"]
    assert main([*command, "0.1"]) == 0
    assert main([*command, "0.01"]) == 1
    assert "usd is short: $2.50 given, $2.697905 would do" in capsys.readouterr().out
    assert main([*command, "0.1", "--risk-assumption", "any"]) == 1
    assert "($0.40 more; mean $2, standard deviation 0.3 usd)" in capsys.readouterr().out


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    models = capsys.readouterr().out
    assert "bundled:mini" in models
    assert "hf:PATH_OR_ID" in models
    assert main(["solvers"]) == 0
    solvers = capsys.readouterr().out
    assert "labelling" in solvers
    assert "cp-sat" in solvers
    assert "pulp:cbc" in solvers


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "solve" in capsys.readouterr().out
    assert main(["--version"]) == 0
    with pytest.raises(SystemExit):
        main(["run", "sokoban", "--help"])
    assert "--levels" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nonsense"])


def test_every_switch_of_the_agents_is_an_option_with_its_default() -> None:
    def config(methods: list[str], *said: str) -> TapeConfig:
        parser = argparse.ArgumentParser()
        add_switches(parser, methods)
        return config_of(parser.parse_args(said), methods)

    assert config([]) == TapeConfig()
    assert config(["aec"]) == TapeConfig.make(aec=True)
    assert config(["aec", "sdp"]) == TapeConfig.make(aec=True, sdp=True)
    said = [
        "--extend",
        "3",
        "--requery-threshold",
        "0",
        "--cautious",
        "off",
        "--replan-every-step",
        "--score",
        "argmax",
    ]
    said += ["--horizon", "7", "--planning-reserve", "tokens=5", "--num-plans", "2"]
    changed = {"extend": 3, "requery_threshold": 0.0, "cautious": False, "replan_every_step": True, "score": "argmax"}
    changed |= {"horizon": 7, "planning_reserve": {"tokens": 5}, "num_plans": 2}
    assert config([], *said) == TapeConfig.make(**changed)
    verified = ["--gate", "joint", "--margin", "0.3", "--query-budget", "5", "--bridges"]
    aec = {"gate": "joint", "margin": 0.3, "query_budget": 5, "bridges": True}
    assert config(["aec"], *said, *verified) == TapeConfig.make(**changed, aec=aec)
    chained = ["--chain", "sample", "--attempts", "2", "--cascade", "off", "--strict-algorithm1"]
    sdp = {"chain": "sample", "attempts": 2, "cascade": False, "strict_algorithm1": True}
    assert config(["sdp"], *said, *chained) == TapeConfig.make(**changed, sdp=sdp)
    with pytest.raises(ConfigError, match="setting requery_threshold = 2"):
        config([], "--requery-threshold", "2")
    with pytest.raises(ConfigError, match=r"setting aec\.ensemble = 0"):
        config(["aec"], "--ensemble", "0")
