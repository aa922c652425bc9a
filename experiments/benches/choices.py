"""How choices grow, and what proofs cost: ``python -m experiments.benches.choices --out FILE``.

A graph has layers of nodes, as folded plans have: each node leads to three of the next layer. Amounts and values are
drawn, and each budget is 0.9 times what a drawn path takes on average. For growth each choice is made in a process of
its own. Proofs are also of OR-Library's twelve instances, where ``TAPE_TEST_DATA`` names them, each from its file on.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments.evidence.grounds import data
from solvers import PathProblem, read_rcsp, shortest_path, solve
from solvers.proof import prove

GROWTH = ((4, 10), (40, 10), (40, 30), (400, 30), (4_000, 30), (11_500, 30), (3_500, 100))
PROVEN = ((4, 6), (8, 10), (12, 20), (40, 30))
"""Nodes of a layer, and layers."""
SECONDS, MOST, TIMES = 30.0, 20, 5


def drawn(width: int, layers: int, budgets: int, seed: int = 0) -> PathProblem:
    """A graph of so many layers."""
    rng = random.Random(seed)
    nodes = 2 + width * layers
    edges = [(0, 1 + place) for place in range(width)]
    for first in range(1, 1 + width * (layers - 1), width):
        edges += [(first + a, first + width + rng.randrange(width)) for a in range(width) for _ in range(3)]
    edges += [(nodes - 2 - place, nodes - 1) for place in range(width)]
    costs = [[rng.randint(1, MOST) for _ in range(budgets)] for _ in edges]
    most = round(0.9 * (MOST + 1) / 2 * (layers + 1))
    rewards = [round(rng.random(), 3) for _ in range(nodes)]
    return PathProblem(nodes, edges, rewards, costs, [most] * budgets, 0, [nodes - 1], objective="visit")


def grown(width: int, layers: int, budgets: int) -> dict[str, object]:
    """One choice, in this process."""
    problem = drawn(width, layers, budgets)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    answer = solve(problem, time_limit=SECONDS)
    took, more = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"arcs": f"{len(problem.edges):,}", "steps": layers + 1, "budgets": budgets, "status": answer.status.value,
            "seconds": f"{took:.3f}" if took < 10 else f"{took:.0f}", "memory": f"{more / 1024:,.0f} MB"}  # fmt: skip


def least(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def plan_graphs() -> Iterator[tuple[float, float, float]]:
    """For each: how many times longer with the proof, and the check; and the size of the proof to its problem's."""
    for width, layers, budgets, seed in [(*size, k, seed) for size in PROVEN for k in (1, 2, 3) for seed in range(5)]:
        problem = drawn(width, layers, budgets, seed)
        proof = solve(problem, proof=True).proof
        assert proof is not None
        alone, proven = least(lambda: solve(problem)), least(lambda: solve(problem, proof=True))  # noqa: B023
        yield proven / alone, least(proof.check) / alone, len(proof.text) / len(proof.problem)


def or_library() -> Iterator[tuple[float, float, float]]:
    """The same of files of the OR-Library, read each time."""
    for file in [data("rcsp", f"rcsp{number}.txt") for number in range(1, 24, 2)]:
        path = [*map(int, shortest_path(read_rcsp(file)).edges)]
        proof = prove(file.read_text(), {"budgets": {}}, path)
        alone = least(lambda: shortest_path(read_rcsp(file)))  # noqa: B023
        more = least(lambda: prove(file.read_text(), {"budgets": {}}, path))  # noqa: B023
        yield (alone + more) / alone, least(proof.check) / alone, len(proof.text) / len(proof.problem)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.choices", description=__doc__)
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--one", help="one size, for instance 40,30,2: its row is printed")
    args = parser.parse_args(argv)
    if args.one:
        print(json.dumps(grown(*map(int, args.one.split(",")))))
        return 0
    if args.out is None:
        parser.error("name a file by --out")
    rows: dict[str, list[dict[str, object]]] = {"proofs": [], "growth": []}
    for name, part in (("plan graphs, 32 to 3,560 arcs", plan_graphs()), ("OR-Library", or_library())):
        ratios, checks, sizes = zip(*part, strict=True)
        rows["proofs"].append({"problems": name, "n": len(ratios), "median": f"{median(ratios):.2f} x",
            "worst": f"{max(ratios):.1f} x", "check": f"{median(checks):.1f} x", "size": f"{median(sizes):.2f}",
            "largest": f"{max(sizes):.2f}"})  # fmt: skip
    for size in [f"{width},{layers},{budgets}" for width, layers in GROWTH for budgets in (0, 1, 2, 3)]:
        command = [sys.executable, "-m", "experiments.benches.choices", "--one", size]
        rows["growth"].append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        print(rows["growth"][-1], flush=True)
    args.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
