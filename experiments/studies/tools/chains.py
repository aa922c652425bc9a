"""Tool chains by level and kind of change: ``python -m experiments.studies.tools.chains``.

Every method plays the same problems with the same caps. A share counts episodes whose calls are the oracle's, no more
and no others. What is wanted is read by the script of ``envs.tool_chains.scripted_reader`` except under methods whose
name says which model reads. Methods marked as simulated choose among legal chains or calls by
``declared:random``, which knows nothing of prices. Dijkstra's algorithm is the oracle and no competitor.

What is found is written to ``--out``, in the place of what it had of the same methods, and printed as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import Settings, generate
from envs.tool_chains.oracle import dijkstra
from envs.tool_chains.problem import CENT, CHANGES, Offer, Problem
from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNPlanAndActAgent, BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.files import replace_file
from tape.lm.base import LanguageModel
from tape.lm.registry import open_model
from tape.reading import read_json
from tape.seeds import derive
from tape.show.document import table
from tape.statistics import success_interval
from tape.tools.calls import answer
from tape.tools.typed.domain import as_action, as_typed

OUT = Path("experiments/results/tool_chains.json")

LEVELS = ((5, 20), (6, 60), (7, 100), (8, 150), (9, 220), (10, 300))
"""Stages and tools."""

ORACLE = "Dijkstra (oracle)"
EXACT = "TAPE, exact planner"
GREEDY = "greedy choice (ReAct, cheapest next call)"
SIMULATED = "simulated model"
DECLARED = {"proposer": "declared", "scorer": "declared"}
KINDS = (*CHANGES, "tight", "short")
"""The kinds of change, and the two static kinds of caps under which the cheapest chain does not fit."""


@dataclass(frozen=True)
class Method:
    """Who plays.

    Attributes:
        name: As it is shown.
        agent: Made of a model and settings; None for the oracle.
        model: The model.
        settings: Of the agent.
        reader: Who reads requests.
    """

    name: str
    agent: Callable[..., Agent] | None
    model: str = "declared:random"
    settings: tuple[tuple[str, Any], ...] = ()
    reader: str = "scripted"


METHODS = (
    Method(ORACLE, None),
    Method(EXACT, TapeAgent, settings=tuple(DECLARED.items())),
    Method(f"TAPE, {SIMULATED}", TapeAgent),
    Method(f"TAPE, {SIMULATED}, M = 32", TapeAgent, settings=(("num_plans", 32),)),
    Method(f"Best-of-N ReAct, {SIMULATED}", BestOfNReactAgent),
    Method(f"Best-of-N Plan-and-Act, {SIMULATED}", BestOfNPlanAndActAgent),
    Method(f"Plan-and-Act, replanning, {SIMULATED}", PlanAndActReplanAgent),
    Method(f"Plan-and-Act, {SIMULATED}", PlanAndActAgent),
    Method(f"open loop, {SIMULATED}", OpenLoopAgent),
    Method(f"ReAct, {SIMULATED}", ReactAgent),
    Method(GREEDY, ReactAgent, model="declared:first"),
)


def read_by(model: str) -> Method:
    """TAPE with the exact planner where a model reads the requests."""
    forced = {**DECLARED, "execution": "forced"}  # what is planned is called, and not written by the model once more
    return Method(f"{EXACT}, {model} reads", TapeAgent, model, tuple(forced.items()), "lm")


def problems(kind: str, level: int, tools: int, count: int) -> list[Problem]:
    """The problems of a kind of change or cap; those of the set ``study``, which nothing was tuned on."""
    caps = kind if kind in ("tight", "short") else "fit"
    settings = Settings(level, tools, "none" if caps != "fit" else kind, caps)
    return [generate("study", number, settings) for number in range(count)]


def play(method: Method, model: LanguageModel | None, problem: Problem) -> dict[str, Any]:
    """One episode: what counts of it."""
    began = time.process_time()
    played = ToolChainsEnvironment(problem, method.reader)
    if method.agent is None:
        end, steps, read = _oracle(played), len(played.called), 1.0
        over = _over(played, problem)
    else:
        agent = method.agent(model, **dict(method.settings))
        result = agent.run(played, budget=problem.budget, seed=derive(0, problem.id))
        end, steps, read = result.end_state, len(played.called), played.measures().get("read", 1.0)
        over = bool(result.budget_violations) or _over(played, problem)
    measures = played.measures()
    return {
        "id": problem.id,
        "cheapest": measures["cheapest"] == 1.0,
        "success": played.success(),
        "end": end,
        "calls": steps,
        "over_budget": over,
        "over_least": measures.get("over_least"),
        "read": read == 1.0,
        "seconds": time.process_time() - began,
    }


def _over(played: ToolChainsEnvironment, problem: Problem) -> bool:
    """Whether more was used than the caps allow, counted apart from the ledger."""
    return (played.used["usd"] or 0) > problem.cents * CENT or (played.used["seconds"] or 0) > problem.millis


def _oracle(played: ToolChainsEnvironment) -> str:
    """Play by Dijkstra's algorithm on what is known, a call at a time; caps are not looked at."""
    problem = played.problem
    observation = played.reset(0)
    while True:
        state = as_typed(observation.data)
        tools = played.domain.tools(state)
        offers = [
            Offer(t.name, t.takes[0], t.gives, (t.worst["usd"] or 0) // CENT, t.worst["seconds"] or 0) for t in tools
        ]
        assert state.wanted is not None, "the scripted reader reads all our own requests"
        found = dijkstra(offers, [problem.start, *state.at_hand], state.wanted)
        if found is None:
            return "infeasible"
        by_name = {item.name: item for item in tools}
        action = as_action(by_name[found.tools[0]]) if found.tools else answer(state.wanted).text
        observation, _ = played.step(action)
        if played.ended():
            return "success" if played.success() else "failure"


def summary(method: Method, kind: str, level: int, tools: int, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row of the results."""
    count = len(found)
    counted = [bool(one["cheapest"]) for one in found]
    if kind == "short":  # right is to report that before the first call
        counted = [one["end"] == "infeasible" and one["calls"] == 0 for one in found]
    low, high, _ = success_interval(counted, [one["id"] for one in found])
    paid = [one["over_least"] for one in found if one["over_least"] is not None]
    ends: dict[str, int] = {}
    for one in found:
        ends[one["end"]] = ends.get(one["end"], 0) + 1
    return {
        "method": method.name,
        "cell": kind,
        "level": level,
        "tools": tools,
        "n": count,
        "right": sum(counted),
        "ci95": [round(low, 3), round(high, 3)],
        "success": sum(one["success"] for one in found),
        "over_budget": sum(one["over_budget"] for one in found),
        "over_least": round(sum(paid) / len(paid), 3) if paid else None,
        "read": sum(one["read"] for one in found),
        "ends": dict(sorted(ends.items())),
        "cpu_seconds": round(sum(one["seconds"] for one in found), 2),
    }


def keep(file: Path, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put rows into the file, in the place of earlier ones of the same methods and kinds; returns all."""
    held = read_json(file, dict[str, Any])["rows"] if file.exists() else []
    fresh = {_name(row): row for row in rows}
    every = {_name(row): row for row in held} | fresh
    order = [method.name for method in METHODS]
    ranked = sorted(
        every.values(),
        key=lambda row: (
            order.index(row["method"]) if row["method"] in order else len(order),
            row["method"],
            KINDS.index(row["cell"]),
            row["level"],
        ),
    )
    lines = ",\n".join(json.dumps(row) for row in ranked)
    replace_file(file, f'{{"rows": [\n{lines}\n]}}\n')
    return ranked


def _name(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["method"], row["cell"], row["level"]


def by_change(rows: Sequence[dict[str, Any]]) -> str:
    """Methods by kind of change, all levels together, as Markdown."""
    names = {"none": "static", "tight": "time binds", "short": "none fits"}
    kinds = [kind for kind in KINDS if any(row["cell"] == kind for row in rows)]
    head = ["", *(names.get(kind, kind) for kind in kinds), "over budget", "cost beside the oracle's"]
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        shown = [method]
        for kind in kinds:
            some = [row for row in mine if row["cell"] == kind]
            shown.append(f"{sum(r['right'] for r in some)} of {sum(r['n'] for r in some)}" if some else "-")
        over = f"{sum(row['over_budget'] for row in mine)} of {sum(row['n'] for row in mine)}"
        paid = [(row["over_least"], row["success"]) for row in mine if row["over_least"] is not None]
        beside = sum(a * n for a, n in paid) / sum(n for _, n in paid) if paid else None
        lines.append([*shown, over, "-" if beside is None else f"{beside:.2f}"])
    return table(head, lines) + "\n"


def by_level(rows: Sequence[dict[str, Any]], methods: Sequence[str]) -> str:
    """Some methods by level, static and changing, as Markdown."""
    levels = sorted({(row["level"], row["tools"]) for row in rows})
    head = ["", *(f"{level} stages, {tools} tools" for level, tools in levels)]
    lines = []
    for method in methods:
        for what, kinds in (("static", ("none",)), ("changing", CHANGES[1:])):
            shown = [f"{method}, {what}"]
            for level, _ in levels:
                some = [r for r in rows if r["method"] == method and r["level"] == level and r["cell"] in kinds]
                shown.append(f"{sum(r['right'] for r in some)} of {sum(r['n'] for r in some)}" if some else "-")
            lines.append(shown)
    return table(head, lines) + "\n"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="python -m experiments.studies.tools.chains", description=__doc__)
    found.add_argument("--count", type=int, default=8, help="problems of each kind (default: 8)")
    found.add_argument("--method", action="append", help="only methods whose name begins so; may be repeated")
    found.add_argument("--read-by", action="append", default=[], metavar="MODEL", help="TAPE with this model as reader")
    found.add_argument("--level", type=int, action="append", help="only this level; may be repeated")
    found.add_argument("--out", type=Path, default=OUT)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, keep and print."""
    asked = parser()
    args = asked.parse_args(arguments)
    chosen = [m for m in METHODS if not args.method or any(m.name.startswith(name) for name in args.method)]
    if args.read_by:
        chosen = [*(chosen if args.method else ()), *map(read_by, args.read_by)]
    if not chosen:
        asked.error(f"there is no such method; there is: {'; '.join(method.name for method in METHODS)}")
    levels = [one for one in LEVELS if not args.level or one[0] in args.level]
    every: list[dict[str, Any]] = []
    for method in chosen:
        mine = []
        model = None if method.agent is None else open_model(method.model)
        for kind in KINDS:
            if method.agent is None and kind in ("tight", "short"):
                continue  # it looks at no caps
            for level, tools in levels:
                found = [play(method, model, problem) for problem in problems(kind, level, tools, args.count)]
                mine.append(summary(method, kind, level, tools, found))
        every = keep(args.out, mine)
        cpu = sum(row["cpu_seconds"] for row in mine)
        print(f"{method.name}: {sum(r['n'] for r in mine)} episodes, {cpu:.0f} s", file=sys.stderr, flush=True)
    print(by_change(every))
    print(by_level(every, [EXACT, f"TAPE, {SIMULATED}, M = 32", GREEDY]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
