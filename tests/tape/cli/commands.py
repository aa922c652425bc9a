"""Commands that take a while, and what they read."""

import json
import sys
from pathlib import Path

from envs.sokoban.xsb import write
from solvers.testing import endless
from tape.budget import kind_of
from tape.lm.bundled import sizes
from tests.tape.cli.interrupting import Ended
from tests.tape.helpers import CORRIDOR
from tests.tape.show.view_runs import episode, graph, write_run

TAPE = [sys.executable, "-m", "tape"]
CPU_SECONDS = 10.0
"""More than this after the signal is work that goes on: two workers that are just importing end after about one."""
MODEL = f"bundled:{sizes('compact')[0]}"
MANY = 5_000
"""Repeats that no run is done with soon."""

SLEEPY = """
import asyncio, os, time
from pathlib import Path
from envs.gsm_hard.plugin import GsmHardPlugin
from tape.runner import runner
from tape.tools.environment import ToolEnvironment
from tape.tools.making import make_tool

HOW = os.environ["SLEEPY"]

def begun():
    Path(os.environ["SLEEPY_MARK"]).touch()

def sleeps(a: float) -> float:
    "Wait."
    begun()
    time.sleep(3600)
    return a

async def stays(a: float) -> float:
    "Wait."
    begun()
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

def spins(*_):
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass

def returns(a: float) -> float:
    "Give it back."
    return a

def summarises(*_):
    begun()
    spins()

if HOW == "spins":
    runner.write_derived = spins
if HOW == "summarises":
    runner.write_derived = summarises

class Plugin(GsmHardPlugin):
    def make(self, task):
        function = {"sleeps": sleeps, "summarises": returns}.get(HOW, stays)
        function.__annotations__.update(a=float)
        tools = [make_tool(function, kind="wait", variant="long")]
        return ToolEnvironment("Wait.", tools, judge=lambda answer: True)

PLUGIN = Plugin()
"""
CALL = "wait_long(a=1)"


def make_data(folder: Path) -> Path:
    """What :func:`places` makes, a graph that no solver is done with soon, an environment whose tools do not end."""
    places(folder)
    problem = endless(0)
    named = ["calls", "seconds", "steps", "tokens", "usd"]  # those that every process knows
    nodes = [
        {"id": str(i), "label": str(i), "reward": reward, "goal": i in problem.terminals, "plan_end": False,
         "support": 1}
        for i, reward in enumerate(problem.rewards)
    ]  # fmt: skip
    links = [
        {"id": n, "key": n, "action": f"a{n}", "source": str(a), "target": str(b), "votes": 1, "confidence": 1.0,
         "certified": False, "refuted": False, "cost": dict(zip(named, problem.costs[n], strict=False))}
        for n, (a, b) in enumerate(problem.edges)
    ]  # fmt: skip
    graph = {"schema": 1, "kind": "plan_graph", "start": "0", "directed": True, "multigraph": True, "graph": {}}
    (folder / "hard.json").write_text(json.dumps(graph | {"nodes": nodes, "links": links}))
    caps = [f"{kind}={kind_of(kind).amount(cap)}" for kind, cap in zip(named, problem.budgets, strict=False)]
    (folder / "caps").write_text(",".join(caps))
    plugin = folder / "plugin"
    (plugin / "sleepy-1.dist-info").mkdir(parents=True)
    (plugin / "sleepy.py").write_text(SLEEPY)
    (plugin / "sleepy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: sleepy\nVersion: 1\n")
    (plugin / "sleepy-1.dist-info" / "entry_points.txt").write_text("[tape.environments]\nsleepy = sleepy:PLUGIN\n")
    (plugin / "calls.json").write_text(json.dumps([CALL] * 40))
    return folder


def places(folder: Path) -> dict[str, str]:
    """A run, a graph, levels and a script."""
    run = write_run(folder / "run", [episode(), episode(success=False)])
    graph().save(folder / "graph.json", start="start")
    write(folder / "levels.xsb", [CORRIDOR])
    (folder / "script.json").write_text(json.dumps(['{"thought": "right", "actions": ["right", "right"]}']))
    return {
        "run": str(run),
        "graph": str(folder / "graph.json"),
        "levels": str(folder / "levels.xsb"),
        "script": f"scripted:{folder / 'script.json'}",
    }


def playing(data: Path, out: Path, repeats: int = MANY) -> list[str]:
    """The arguments of a run of a script, which needs no torch."""
    levels, script = (str(data / name) for name in ("levels.xsb", "script.json"))
    play = ["run", "sokoban", "--levels", levels, "--agent", "open_loop", "--model", f"scripted:{script}"]
    return [*play, "--repeats", str(repeats), "--batch", "2", "--out", str(out)]


def solving(data: Path, *more: str) -> list[str]:
    caps = (data / "caps").read_text()
    return [*TAPE, "solve", str(data / "hard.json"), "--budget", caps, "--horizon", "100", *more]


def commands(data: Path, out: Path) -> dict[str, list[str]]:
    run = [*TAPE, *playing(data, out)]
    loads = [*TAPE, "run", "sokoban", "--levels", "easy", "--model", MODEL, "--out", str(out)]
    return {
        "run": run, "workers": [*run, "--workers", "2"], "loads": loads, "loads in workers": [*loads, "--workers", "2"],
        "solve": solving(data), "solve apart": solving(data, "--solver", "cp-sat"), "models": [*TAPE, "models"],
    }  # fmt: skip


def check(ended: Ended, name: str, status: int = 130) -> None:
    """It has ended as an interrupted command does."""
    # What is loaded is written before, perhaps in the moment between the look at it and the signal.
    lines = [line for line in ended.said.splitlines(keepends=True) if not line.startswith("loading ")]
    assert (ended.status, len(lines), ended.left, ended.files) == (status, 1, [], []), ended
    assert lines[0].startswith(f"{name}: interrupted"), ended.said
    assert lines[0].endswith("\n")
    assert ended.cpu <= CPU_SECONDS, ended
