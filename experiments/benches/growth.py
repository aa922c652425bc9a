"""How time and memory of a choice grow with the graph: ``python -m experiments.benches.growth --out FILE``.

A graph has layers of nodes, as folded plans have: each node leads to three of the next layer. Amounts and values are
drawn, and each budget is 0.9 times what a drawn path takes on average. Each choice is made in a process of its own,
with a limit of time, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from solvers import PathProblem, solve

SIZES = (
    (4, 10),
    (12, 10),
    (40, 10),
    (40, 30),
    (130, 30),
    (400, 30),
    (1_200, 30),
    (4_000, 30),
    (11_500, 30),
    (3_500, 100),
)
"""Nodes of a layer, and layers."""
BUDGETS, SECONDS, MOST = (0, 1, 2, 3), 30.0, 20


def drawn(width: int, layers: int, budgets: int, seed: int = 0) -> PathProblem:
    """A graph of so many layers."""
    rng = random.Random(seed)
    nodes = 2 + width * layers
    edges = [(0, 1 + place) for place in range(width)]
    for layer in range(layers - 1):
        first = 1 + layer * width
        edges += [(first + a, first + width + rng.randrange(width)) for a in range(width) for _ in range(3)]
    edges += [(nodes - 2 - place, nodes - 1) for place in range(width)]
    costs = [[rng.randint(1, MOST) for _ in range(budgets)] for _ in edges]
    most = round(0.9 * (MOST + 1) / 2 * (layers + 1))
    rewards = [round(rng.random(), 3) for _ in range(nodes)]
    return PathProblem(nodes, edges, rewards, costs, [most] * budgets, 0, [nodes - 1], objective="visit")


def measure(width: int, layers: int, budgets: int) -> dict[str, object]:
    """One choice, in this process."""
    problem = drawn(width, layers, budgets)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    answer = solve(problem, time_limit=SECONDS)
    took = time.perf_counter() - began
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "arcs": f"{len(problem.edges):,}", "steps": layers + 1, "budgets": budgets, "status": answer.status.value,
        "seconds": f"{took:.3f}" if took < 10 else f"{took:.0f}", "memory": f"{more / 1024:,.0f} MB",
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all sizes, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.growth", description=__doc__)
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--one", help="one size, for instance 40,30,2: its row is printed")
    args = parser.parse_args(argv)
    if args.one:
        print(json.dumps(measure(*map(int, args.one.split(",")))))
        return 0
    rows = []
    for width, layers in SIZES:
        for budgets in BUDGETS:
            command = [sys.executable, "-m", "experiments.benches.growth", "--one", f"{width},{layers},{budgets}"]
            rows.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
            print(rows[-1], flush=True)
    if args.out:
        args.out.write_text(json.dumps({"growth": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
