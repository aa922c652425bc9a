"""What a `solvers.Session` saves after a replan, as ratios to fresh solves in the same run.

``python -m experiments.benches.session`` takes under a minute and writes ``experiments/results/bench_session.json``.

Each instance of the solver benchmark is followed through replans: the start moves two steps along the walk, horizon and
budgets shrink, and one edge is added somewhere. In the harder case the walk's next edge is refuted as well, so that the
rest of the old walk is gone. The answers of both sides are compared at every step.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from experiments.benches.solvers.catalogue import catalogue
from experiments.harness.places import RESULTS
from solvers import PathProblem, PathSolution, Session, solve

FILE = RESULTS / "bench_session.json"
REPLANS = 6
REPEATS = 3


@dataclass(frozen=True)
class Row:
    """One instance: the time of all its fresh solves over that of the session's, search only and whole call."""

    family: str
    case: str
    instance: str
    replans: int
    search_ratio: float
    call_ratio: float


def after_replan(problem: PathProblem, answer: PathSolution, rng: random.Random, *, refuted: bool) -> PathProblem:
    """The problem after two moves and a mismatch."""
    start, budgets = problem.start, list(problem.budgets)
    for edge in answer.edges[:2]:
        start = problem.edges[edge][1]
        budgets = [have - cost for have, cost in zip(budgets, problem.costs[edge], strict=True)]
    edges, costs = list(problem.edges), list(problem.costs)
    if refuted and len(answer.edges) > 2:
        edges.pop(answer.edges[2])
        costs.pop(answer.edges[2])
    like = rng.randrange(len(edges))
    edges.append((edges[like][0], edges[rng.randrange(len(edges))][1]))
    costs.append(costs[like])
    return replace(problem, edges=edges, costs=costs, budgets=budgets, start=start, horizon=max(1, problem.horizon - 2))


def sequence(problem: PathProblem, name: str, *, refuted: bool) -> list[PathProblem]:
    """The problem and those after up to `REPLANS` replans."""
    rng, problems = random.Random(name), [problem]
    for _ in range(REPLANS):
        answer = solve(problems[-1])
        if len(answer.edges) < 2 or problems[-1].horizon < 4:
            break
        problems.append(after_replan(problems[-1], answer, rng, refuted=refuted))
    return problems


def times(problems: Sequence[PathProblem]) -> tuple[float, float, float, float]:
    """Seconds of all solves but the first: fresh search and call, session search and call."""
    session, spent = Session(), [0.0, 0.0, 0.0, 0.0]
    session.solve(problems[0])
    for problem in problems[1:]:
        began = time.perf_counter()
        fresh = solve(problem)
        between = time.perf_counter()
        kept = session.solve(problem)
        ended = time.perf_counter()
        if (fresh.status, fresh.edges) != (kept.status, kept.edges):
            raise AssertionError(f"the session and a fresh solve disagree: {problem.to_json()}")
        for index, seconds in enumerate(
            (fresh.solve_seconds or 0.0, between - began, kept.solve_seconds or 0.0, ended - between)
        ):
            spent[index] += seconds
    return spent[0], spent[1], spent[2], spent[3]


def measure(families: Sequence[str]) -> list[Row]:
    """All instances, both cases; the best of a few repeats for each side."""
    rows = []
    specs = [spec for spec in catalogue() if spec.family in families]
    for number, spec in enumerate(specs):
        print(f"\r{number + 1}/{len(specs)} {spec.name:70s}", end="", file=sys.stderr, flush=True)
        problem = spec.build().problem
        for case in ("rest of the walk still there", "next edge refuted"):
            problems = sequence(problem, spec.name, refuted=case == "next edge refuted")
            if len(problems) < 2:
                continue
            runs = [times(problems) for _ in range(REPEATS)]
            fresh_search, fresh_call, search, call = (min(run[index] for run in runs) for index in range(4))
            if search > 0:
                ratios = fresh_search / search, fresh_call / call
                rows.append(Row(spec.family, case, spec.name, len(problems) - 1, *ratios))
    print(file=sys.stderr)
    return rows


def table(rows: Sequence[Row]) -> str:
    """A markdown table: per family and case the median, least and greatest ratio."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.family, row.case].append(row)
    lines = [
        "| family | after the replan | n | fresh / session, whole call: median (least to greatest) | search only |",
        "|---|---|---|---|---|",
    ]
    for (family, case), members in groups.items():
        call, search = [row.call_ratio for row in members], [row.search_ratio for row in members]
        lines.append(
            f"| {family} | {case} | {len(members)} "
            f"| {statistics.median(call):.2f} ({min(call):.2f} to {max(call):.1f}) | {statistics.median(search):.2f} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.session",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    families = ["folded", "grid", "layered", "stress"]
    parser.add_argument("--families", nargs="+", choices=families, default=families)
    parser.add_argument("--out", type=Path, default=FILE, help="where the JSON goes")
    args = parser.parse_args(argv)
    rows = measure(args.families)
    args.out.write_text(json.dumps({"schema": "tape.bench_session/1", "rows": [asdict(row) for row in rows]}, indent=1))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
