"""The command line as a user meets it: runs, and the switches of the agents."""

import argparse
import json
from pathlib import Path

import pytest

from envs.sokoban.xsb import write
from tape.cli.run import main
from tape.cli.switches import add_switches, config_of, methods_of
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.plugins import names
from tests.tape.commandline import Tape
from tests.tape.helpers import CORRIDOR, ROOM


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that always answers the same; chat prompts, so scores fail: use open_loop with it."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(['{"thought": "right", "actions": ["right", "right", "right"]}']))
    return f"scripted:{path}"


def test_run_show_and_resume(tmp_path: Path, script: str, tape: Tape) -> None:
    out, levels = tmp_path / "run", tmp_path / "levels.xsb"
    write(levels, [CORRIDOR, ROOM])
    command = ["run", "sokoban", "--levels", levels, "--agent", "open_loop", "--model", script, "--out", out]
    ran = tape(*command)
    assert ran.code == 0
    for text in ("[2/2]", "2/2 solved", "| open_loop | scripted:"):
        assert text in ran.out
    assert json.loads((out / "summary.json").read_text())["groups"][0]["successes"] == 2
    again = tape(*command)
    assert (again.code, "[1/2]" in again.out) == (0, False), "a complete run has nothing to do"
    shown = tape("show", out, "2")
    assert (shown.code, "acts R" in shown.out, "success after" in shown.out) == (0, True, True)
    assert tape("show", out, "--list").out.count("success") == 2
    other = tape(*command, "--slack", "3")
    assert (other.code, "options.slack: 2 there, 3 now" in other.err) == (2, True)


def test_lists_help_and_version(tape: Tape) -> None:
    for command, code, texts in (
        ("models", 0, ["bundled:mini", "hf:PATH_OR_ID"]),
        ("solvers", 0, ["labelling", "cp-sat", "pulp:cbc"]),
        ("prices", 0, ["anthropic", "tape prices --find TEXT"]),
        ("", 2, ["solve"]),
        ("--version", 0, ["tape"]),
        ("run sokoban --help", 0, ["--levels"]),
    ):
        written = tape(*command.split())
        assert written.code == code
        assert all(text in written.out for text in texts)
    known = ", ".join(sorted(names("tape.environments")))
    assert "alfworld, bfcl, gsm_hard" in known
    assert f"there is no environment 'chess'; there is: {known}" in tape("run", "chess", "--out", "x").err
    assert "required: environment" in tape("run").err
    assert tape("nonsense").code == 2


# --- switches -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "methods"),
    [
        ("", []),
        ("--agent react", []),
        ("--agent=sdp", ["sdp"]),
        ("--verify aec", ["aec"]),
        ("--verif aec", []),  # no abbreviations: the real parser refuses it
        ("--agent sdp --verify=aec", ["aec", "sdp"]),
        ("--agent sdp --verify none", ["sdp"]),
        ("--help", ["aec"]),
        ("--agent sdp --help", ["aec", "sdp"]),
    ],
)
def test_the_methods_of_a_command_line(said: str, methods: list[str]) -> None:
    assert methods_of(["sokoban", "--levels", "easy", *said.split()]) == methods


def config(said: str = "", *methods: str) -> TapeConfig:
    """The configuration that options name."""
    parser = argparse.ArgumentParser()
    add_switches(parser, methods)
    return config_of(parser.parse_args(said.split()), methods)


def test_every_switch_of_the_agents_is_an_option_with_its_default() -> None:
    assert config() == TapeConfig()
    assert config("", "aec", "sdp") == TapeConfig.make(aec=True, sdp=True)
    said = "--ablation extend=3 --ablation requery_threshold=0 --ablation cautious=off --horizon 7"
    said += " --ablation replan_every_step=on --ablation score=argmax"
    said += " --planning-reserve tokens=5 --num-plans 2 --execution constrained --on-infeasible partial"
    switches = {"extend": 3, "requery_threshold": 0.0, "cautious": False, "replan_every_step": True, "score": "argmax"}
    changed: dict[str, object] = {"ablations": switches}
    changed |= {"horizon": 7, "planning_reserve": {"tokens": 5}, "num_plans": 2}
    changed |= {"execution": "constrained", "on_infeasible": "partial"}
    assert config(said) == TapeConfig.make(**changed)
    aec = {"gate": "query_all", "margin": 0.3, "query_budget": 5}
    verified = config(f"{said} --gate query_all --margin 0.3 --query-budget 5", "aec")
    assert verified == TapeConfig.make(**changed, aec=aec)
    sdp = {"chain": "sample", "attempts": 2, "cascade": False, "strict_algorithm1": True}
    chained = config(f"{said} --chain sample --attempts 2 --cascade off --strict-algorithm1", "sdp")
    assert chained == TapeConfig.make(**changed, sdp=sdp)
    for wrong, says in (
        ("requery_threshold=2", r"setting ablations\.requery_threshold = '2'"),
        ("cautious=maybe", r"setting ablations\.cautious = 'maybe'"),
        ("caution=off", r"there is no setting 'ablations\.caution'; did you mean 'cautious'"),
        ("cautious", "--ablation cautious: give NAME=VALUE, one of sampling, "),
    ):
        with pytest.raises(ConfigError, match=says):
            config(f"--ablation {wrong}")
    with pytest.raises(ConfigError, match=r"setting aec\.ensemble = 0"):
        config("--ensemble 0", "aec")
    with pytest.raises(ConfigError, match=r"setting on_infeasible = 'hope'.*'partial', 'stop' or 'budget'"):
        TapeConfig.make(on_infeasible="hope")


def test_the_help_shows_few_options_and_all_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["sokoban", option])
        shown[option] = {line.split()[0] for line in capsys.readouterr().out.split("\n") if line.startswith("  -")}
    assert len(shown["--help"]) <= 25
    assert shown["--help"] < shown["--help-all"]
    assert {"--ablation", "--ledger", "--gate"} <= shown["--help-all"] - shown["--help"]


def test_the_papers_algorithm_is_one_option_and_another_beside_it_counts() -> None:
    assert config("--paper") == TapeConfig.paper()
    for said in (
        "--paper --ablation extend=8 --ablation probe=on",
        "--ablation extend=8 --ablation probe=on --paper",
    ):
        assert config(said) == TapeConfig.paper().ablated(extend=8, probe=True)
    assert config("--paper --temperature 0.7").temperature == 0.7
