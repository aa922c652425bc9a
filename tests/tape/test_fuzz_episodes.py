"""Whole short episodes with models that write garbage: each ends in a result that can be written and read again."""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from envs.alfworld.plugin import PLUGIN as ALFWORLD
from envs.gsm_hard.plugin import PLUGIN as GSM_HARD
from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.xsb import parse
from envs.travelplanner.plugin import PLUGIN as TRAVELPLANNER
from envs.web_qa.plugin import PLUGIN as WEB_QA
from tape.agents.base import Agent
from tape.budget import Budget
from tape.lm.base import OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.plugins import load
from tape.protocols import Environment, EnvironmentPlugin
from tape.protocols.result import END_STATES, EpisodeResult
from tape.reading import storable
from tape.runner.derived import write_results
from tape.runner.directory import RunDirectory
from tape.testing.garbage import GARBAGE
from tape.testing.line import Line
from tape.tools import ToolEnvironment
from tape.trace import FinishedEvent, read_trace
from tests.envs.hotpotqa import helpers as hotpotqa
from tests.tape.conftest import Keep
from tests.tape.fuzz import ends_within, mutated, sampled
from tests.tape.runner.records import record
from tests.tape.tools.helpers import TOOLS
from tests.tape.world.worlds import Round, make_courier

SEED = 23
[CORRIDOR] = parse("#######\n#######\n#@ $ .#\n#######\n#######\n")
BUDGET = {"steps": 4, "tokens": 6000, "calls": 60}


def _of(plugin: EnvironmentPlugin, *arguments: str) -> Callable[[], Environment]:
    parser = argparse.ArgumentParser()
    plugin.add_arguments(parser)
    task = plugin.tasks(vars(parser.parse_args(arguments)))[0]
    return lambda: plugin.make(task)


ENVIRONMENTS: dict[str, tuple[Callable[[], Environment], tuple[str, ...]]] = {
    "line": (lambda: Line(last=3, steps=6), ("compact",)),
    "sokoban": (lambda: SokobanEnvironment(CORRIDOR, 6), ("compact", "chat")),
    "tools": (lambda: ToolEnvironment("3 * 4 + 5?", TOOLS, budget=Budget.of(usd=1)), ("chat",)),
    "world": (lambda: make_courier().environment(Round(), task="Deliver at the mill."), ("chat",)),
    "question": (hotpotqa.environment, ("chat",)),
    "alfworld": (_of(ALFWORLD, "--count", "1"), ("chat", "household")),
    "gsm_hard": (_of(GSM_HARD), ("chat",)),
    "web": (_of(WEB_QA), ("chat",)),
    "trip": (_of(TRAVELPLANNER, "--count", "1"), ("chat", "declared")),
}
"""Environments, and the prompt formats that they are played in."""

Played: TypeAlias = "dict[str, tuple[type[Agent], Mapping[str, Any]]]"
TAPE = load("tape.agents", "tape")
NAMES = ("tape", "tape_all_step", "open_loop", "react", "plan_and_act", "plan_and_act_replan")
NAMES += ("best_of_n_react", "best_of_n_plan_and_act")
EVERYWHERE: Played = {name: (load("tape.agents", name), {}) for name in NAMES}
EVERYWHERE["tape, free"] = (TAPE, {"execution": "free", "num_plans": 2})
CHOOSING: Played = {
    "tape, by the model": (TAPE, {"ablations": {"selector": "experiments.ablations.selectors:LmSelector"}})
}
"""These need a prompt format that asks which path is best."""

SDP = load("tape.agents", "sdp")
VERIFYING: Played = {"tape, verified": (TAPE, {"aec": True}), "sdp": (SDP, {})}
VERIFYING["sdp, sampled"] = (SDP, {"sdp": {"chain": "sample"}})
"""These need predicates."""

ANSWERING: Played = {"react, answering at limits": (load("tape.agents", "react"), {"on_limit": "final_answer"})}
"""These need an environment that takes answers."""

PAIRS = [(agent, environment) for environment in ENVIRONMENTS for agent in EVERYWHERE]
PAIRS += [(agent, environment) for environment in ("sokoban", "tools", "gsm_hard") for agent in CHOOSING]
PAIRS += [(agent, environment) for environment in ("sokoban", "alfworld") for agent in VERIFYING]
PAIRS += [(agent, environment) for environment in ("tools", "question", "gsm_hard") for agent in ANSWERING]
AGENTS = EVERYWHERE | CHOOSING | VERIFYING | ANSWERING


class Babbling:
    """A script that answers in the form asked for, nearly so, or with anything.

    Args:
        rng: What it draws from.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._sense = rng, rng.random()

    def __call__(self, request: Request, sample: int) -> str:
        """The answer."""
        del sample
        asked = sampled(self._rng, request)
        if isinstance(request.constraint, OneOf) or self._rng.random() < self._sense:
            return asked
        return self._rng.choice((mutated(self._rng, asked), mutated(self._rng), self._rng.choice(GARBAGE)))


def episodes_of_garbage(pairs: Sequence[tuple[str, str]], seed: int, folder: Path) -> Counter[str]:
    """Play one episode of each pair, write their records and traces as a run does, and read them again.

    Returns:
        How many ended in which state, and how many there were of each agent and environment.
    """
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    lines = []
    for number, (name, where) in enumerate(pairs):
        agent, settings = AGENTS[name]
        make, prompt_formats = ENVIRONMENTS[where]
        model = ScriptedLM(Babbling(rng), prompt_format=rng.choice(prompt_formats))
        trace = folder / f"{number % 20}.jsonl"
        trace.unlink(missing_ok=True)
        with ends_within(60):
            result = agent(model, **settings).run(make(), budget=Budget(dict(BUDGET)), seed=number, trace=trace)
        state = result.end_state.partition(":")[0]
        assert state in END_STATES, (name, where, number)
        assert result.budget_violations == [], (name, where, number)
        dumped = json.loads(json.dumps(result.model_dump(mode="json"), allow_nan=False))
        lines.append(record(str(number), storable(dumped)))
        [*_, last] = read_trace(trace)
        assert isinstance(last, FinishedEvent)
        for counted in (state, f"agent: {name}", f"environment: {where}"):
            ends[counted] += 1
    written = folder / "run"
    written.mkdir()
    (written / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = RunDirectory(written).episodes()
    assert [EpisodeResult.model_validate(line["result"]).end_state for line in read] == [
        line["result"]["end_state"] for line in lines
    ]
    write_results(written, read)
    return ends


SHORT = PAIRS[::2]
LONG = [*PAIRS, *random.Random(SEED + 1).choices(PAIRS, k=1000 - len(PAIRS))]


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [SHORT, pytest.param(LONG, marks=pytest.mark.soak)], ids=len)
def test_garbage_ends_in_results(pairs: Sequence[tuple[str, str]], keep_figures: Keep, tmp_path: Path) -> None:
    ends = episodes_of_garbage(pairs, SEED + len(pairs), tmp_path)
    assert all(ends[f"agent: {name}"] and ends[f"environment: {where}"] for name, where in PAIRS)
    assert ends["success"] + ends["failure"]
    keep_figures("episodes_of_garbage", {"episodes": len(pairs), "ends": ends})
