"""Whether solvers keep a time limit and the memory cap: ``python -m experiments.benches.solvers.limits [SOLVER ...]``.

Each (case, solver) runs in a process of its own, with the solver's worker started and warm. A row says how long the
call took over the limit of 0.2 s, what it answered, and by how much memory grew, that of its worker included.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from solvers import PathProblem, available, explain, k_best, solve
from solvers.session import Session
from solvers.testing import layered
from solvers.testing.reference import Reference

LIMIT = 0.2
PATIENCE = 40.0

CASES: dict[str, tuple[int, int, int, int, str]] = {
    # nodes, edges, horizon, resources, objective
    "1e6 edge-steps": (250, 1_000, 1_000, 2, "stay"),
    "1e7 edge-steps": (2_500, 10_000, 1_000, 2, "stay"),
    "1e7 edge-steps, wide": (25_000, 100_000, 100, 2, "stay"),
    "1e8 edge-steps": (2_500, 10_000, 10_000, 2, "stay"),
    "1e8 edge-steps, wide": (250_000, 1_000_000, 100, 2, "stay"),
    "1e9 edge-steps": (25_000, 100_000, 10_000, 2, "stay"),
    "1e8, visit": (25_000, 100_000, 1_000, 1, "visit"),
    "1e8, no budget": (2_500, 10_000, 10_000, 0, "stay"),
    "3 nodes, L = 1e9": (3, 4, 10**9, 1, "stay"),
    "3 nodes, L = 1e9, a free circle that earns": (3, 4, 10**9, 0, "stay"),
    "3 nodes, L = 1e18, visit": (3, 4, 10**18, 1, "visit"),
}


def case(name: str) -> PathProblem:
    """A random graph of so many edges; three nodes are 0 -> 1 -> 2 with a circle between the first two."""
    nodes, count, horizon, resources, objective = CASES[name]
    rng = random.Random(name)
    edges = [(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(count)]
    rewards = [rng.randint(0, 10) / 10 for _ in range(nodes)]
    ends = sorted(rng.sample(range(1, nodes), max(1, nodes // 50)))
    if nodes == 3:
        edges, ends = [(0, 1), (1, 0), (1, 2), (0, 2)], [2]
        rewards = [0.5, 1.0, 0.25]
    return PathProblem(
        n_nodes=nodes,
        edges=edges,
        rewards=rewards,
        costs=[[rng.randint(1, 9) for _ in range(resources)] for _ in edges],
        budgets=[3 * horizon if horizon <= 10_000 else 40] * resources,
        start=0,
        terminals=ends,
        horizon=horizon,
        objective=objective,  # type: ignore[arg-type]
    )


def _numpy(problem: PathProblem) -> object:
    return solve(problem, Reference(), LIMIT)


CALLS: dict[str, Callable[[PathProblem], object]] = {
    "labelling in NumPy": _numpy,
    "k_best": lambda problem: k_best(problem, 5, time_limit=LIMIT),
    "session": lambda problem: Session().solve(problem, LIMIT),
    "explain": lambda problem: explain(problem.with_valid(budgets=(1,) * len(problem.budgets)), LIMIT),
}


def _measured(name: str, solver: str) -> dict[str, object]:
    call = CALLS.get(solver, lambda problem: solve(problem, solver, LIMIT))
    warm = layered(0, n=20, horizon=5, resources=0)
    solve(warm, "labelling" if solver in CALLS else solver)
    problem = case(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, worked = time.perf_counter(), time.process_time()
    try:
        answer = call(problem)
        said = f"{answer.status} {getattr(answer, 'message', '')}"  # type: ignore[attr-defined]
    except Exception as error:  # the row says which
        said = f"{type(error).__name__}: {error}"
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    from solvers.worker import stop_workers

    stop_workers()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": seconds, "cpu": cpu, "mb": grown / 1024, "worker_mb": workers / 1024, "said": said}


def main(solvers: list[str]) -> None:
    """Prints the table."""
    known = [one.name for one in available() if one.available and one.name.count(":") < 2]
    for name in CASES:
        for solver in solvers or [*known, *CALLS]:
            command = [sys.executable, "-m", "experiments.benches.solvers.limits", "--one", name, solver]
            row = {"seconds": PATIENCE, "cpu": 0.0, "mb": 0.0, "worker_mb": 0.0, "said": "killed: too late"}
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
                row = json.loads(done.stdout.splitlines()[-1])
            except subprocess.TimeoutExpired:
                pass
            except subprocess.CalledProcessError as error:
                row["said"] = f"died: {error.returncode} {error.stderr[-80:]}"
            late = "" if row["seconds"] <= LIMIT * 1.1 + 0.05 else "LATE"
            took = f"{row['seconds']:7.3f} s {row['cpu']:7.3f} s CPU {late:4s}"
            memory = f"{row['mb']:6.0f} MB {row['worker_mb']:6.0f} MB"
            print(f"{name:45s} {solver:20s} {took} {memory} {row['said'][:90]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(_measured(sys.argv[2], sys.argv[3])))
    else:
        main(sys.argv[1:])
