"""PlanBench without a model: a planner alone, and TAPE with that planner as the source of its plans.

``python -m experiments.benches.planbench --data DIR --out experiments/results/planbench.jsonl`` goes on where it was
stopped. ``DIR`` has a folder a domain, with ``domain.pddl`` and ``instance-N.pddl``. The problems are even-numbered
ones of PlanBench (Valmeekam et al. 2023), the first forty of each domain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from envs.pddl.environment import PddlEnvironment
from envs.pddl.errors import PddlError
from envs.pddl.planners import DEFAULT, ask
from envs.pddl.search import Bounds, TooManyStatesError, state_graph
from envs.travelplanner.declared_lm import DeclaredLM
from experiments.harness.places import RESULTS
from tape import TapeAgent

MOST = 40
OPTIMAL = "fast-downward-opt"
"""The planner whose plans are optimal; installed for ``--cases`` alone."""
SHORT = Bounds(seconds=20)
"""How long planners have for ``--cases``."""
COUNTED = Bounds(seconds=5, states=5_000)
"""How far states are counted."""


def measure(domain: Path, problem: Path, planner: str, plans: int, bounds: Bounds) -> dict[str, Any]:
    """One problem: the planner alone, TAPE with it, and the number of states where there are few."""
    env = PddlEnvironment(domain, problem, bounds=bounds)
    began = time.perf_counter()
    answer = asyncio.run(ask(env.domain, planner, env.domain.task.start, 1))
    alone = {"end": answer.end, "steps": [len(plan) for plan in answer.plans], "wrong": list(answer.wrong)}
    alone["seconds"] = round(time.perf_counter() - began, 2)
    began = time.perf_counter()
    result = TapeAgent(DeclaredLM("first"), proposer=f"planner:{planner}", num_plans=plans).run(env)
    tape = {"end": result.end_state, "detail": result.detail, "steps": result.steps, "plans": result.distinct_plans}
    tape["seconds"] = round(time.perf_counter() - began, 2)
    counted = PddlEnvironment(domain, problem, bounds=COUNTED).domain
    try:
        states: int | None = len(state_graph(counted, counted.task.start).nodes)
    except TooManyStatesError:
        states = None
    return {"alone": alone, "tape": tape, "states": states}


def compare(domain: Path, problem: Path) -> dict[str, Any]:
    """A public problem: refused with what, or the cost of TAPE's plan by two planners and Fast Downward's optimum."""
    try:
        env = PddlEnvironment(domain, problem, bounds=SHORT)
    except PddlError as error:
        return {"refused": str(error).partition(": ")[2]}
    row: dict[str, Any] = {"objects": len(env.domain.names.objects)}
    start, saves = env.domain.task.start, env.domain.saves
    answer = asyncio.run(ask(env.domain, OPTIMAL, start, 1))
    row["optimum"] = answer.end
    if answer.plans:
        used = env.domain.used([env.domain.parse(action) for action in answer.plans[0]])
        row["optimum"] = None if used is None else used.get(saves, 0)
    for planner in (DEFAULT, OPTIMAL):
        result = TapeAgent(DeclaredLM("first"), proposer=f"planner:{planner}", num_plans=4).run(env)
        row[planner] = result.used.get(saves, 0) if result.success else result.detail
    return row


def cases(folder: Path) -> list[dict[str, Any]]:
    """Every problem below a folder, each beside its domain."""
    rows = []
    for file in sorted(folder.rglob("*.pddl")):
        [domain] = [other for other in file.parent.glob("*.pddl") if "domain" in other.stem or other.stem == "d"]
        if file != domain:
            rows.append({"problem": str(file.relative_to(folder)), **compare(domain, file)})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line a domain, in Markdown."""
    by_domain: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_domain[row["domain"]].append(row)
    lines = [
        "| domain | n | planner alone: plan | reported unsolvable | neither in 60 s | TAPE: goal reached | reported "
        "unsolvable | shorter | longer | states, median | seconds alone | seconds TAPE |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for domain, held in sorted(by_domain.items()):
        ends = [row["alone"]["end"] for row in held]
        solved, unsolvable = ends.count("solved"), ends.count("unsolvable")
        won = [row for row in held if row["tape"]["end"] == "success" and row["alone"]["steps"]]
        both = [(row["alone"]["steps"][0], row["tape"]["steps"]) for row in won]
        reached = sum(row["tape"]["end"] == "success" for row in held)
        told = sum("reported unsolvable" in row["tape"]["detail"] for row in held)
        sizes = [row["states"] for row in held if row["states"] is not None]
        size = f"{median(sizes):,.0f}" if 2 * len(sizes) > len(held) else f"above {COUNTED.states:,}"
        alone, tape = (median(row[who]["seconds"] for row in held) for who in ("alone", "tape"))
        cells = [domain, len(held), solved, unsolvable, len(held) - solved - unsolvable, reached, told]
        cells += [sum(t < a for a, t in both), sum(t > a for a, t in both), size, f"{alone:.1f}", f"{tape:.1f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def committed() -> str:
    """The table of the committed measurements."""
    return table(map(json.loads, (RESULTS / "planbench.jsonl").read_text().splitlines())) + "\n"


def compared() -> str:
    """The public problems whose optimum Fast Downward proved, beside the plans that TAPE selected; and the others."""
    rows = list(map(json.loads, (RESULTS / "up_cases.jsonl").read_text().splitlines()))
    proven = [row for row in rows if isinstance(row.get("optimum"), int)]
    lines = [f"| problem | objects | optimum | TAPE, {DEFAULT} | TAPE, {OPTIMAL} |", "|---|---|---|---|---|"]
    for row in proven:
        costs = [row[name] if isinstance(row[name], int) else "no plan" for name in (DEFAULT, OPTIMAL)]
        lines.append(f"| {row['problem']} | {row['objects']} | {row['optimum']} | {costs[0]} | {costs[1]} |")
    ends = [row.get("optimum", "refused") for row in rows]
    refused, late, numeric = map(ends.count, ("refused", "time", "failed"))
    last = f"Problems: {len(rows)}; refused: {refused}; not proven in time: {late}; numeric conditions: {numeric}."
    return "\n".join([*lines, "", last, ""])


def main() -> None:
    """Measure what is not measured yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--domains", nargs="*")
    parser.add_argument("--planner", default=DEFAULT)
    parser.add_argument("--plans", type=int, default=4)
    parser.add_argument("--cases", type=Path, help="instead: compare public problems with Fast Downward's optimum")
    args = parser.parse_args()
    if args.cases:
        args.out.write_text("".join(json.dumps(row) + "\n" for row in cases(args.cases)))
        return
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    done = {(row["domain"], row["problem"]) for row in rows}
    folders = sorted(path for path in args.data.iterdir() if path.is_dir()) if args.data else []
    for folder in (path for path in folders if not args.domains or path.name in args.domains):
        problems = sorted(folder.glob("instance-*.pddl"), key=lambda file: int(file.stem.partition("-")[2]))[:MOST]
        for problem in (file for file in problems if (folder.name, file.stem) not in done):
            row = {"domain": folder.name, "problem": problem.stem, "planner": args.planner}
            row |= measure(folder / "domain.pddl", problem, args.planner, args.plans, Bounds())
            rows.append(row)
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(
                folder.name, problem.stem, row["alone"]["end"], row["tape"]["end"], row["tape"]["seconds"], flush=True
            )
    print(table(rows))


if __name__ == "__main__":
    main()
