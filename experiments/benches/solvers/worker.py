"""One backend on one instance, in a process of its own: ``python -m experiments.benches.solvers.worker``.

Reads a request as JSON from standard input and prints one row as JSON. A process of its own can be killed when it
overruns, and keeps libraries apart that cannot be loaded together.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benches.solvers.backends import BACKENDS
from solvers import PathProblem, PathSolution, Solver, Status, solve

_WARM_UP = PathProblem(3, [(0, 1), (0, 2), (1, 2)], [0.0, 0.4, 0.6], [[2], [1], [1]], [2], 0, [2], 3)
_REPEATED_WITHIN = 1.0  # seconds; who needs longer is timed once


@dataclass(frozen=True)
class Request:
    """What to measure.

    Attributes:
        problem: Path of the problem's JSON file.
        backend: A key of `BACKENDS`.
        limit: Seconds that a solve gets.
        repeats: Most timed solves of a fast backend.
    """

    problem: str
    backend: str
    limit: float
    repeats: int

    def to_json(self) -> str:
        """As read by the worker."""
        return json.dumps(asdict(self))


def measure(request: Request) -> dict[str, Any]:
    """Warms up, solves, and solves again where that is quick. Times are medians over the timed solves.

    The first solve of the instance counts only where it takes longer than `_REPEATED_WITHIN` seconds.
    """
    solver = BACKENDS[request.backend]()
    solve(_WARM_UP, solver)
    problem = PathProblem.from_json(Path(request.problem).read_text(encoding="utf-8"))
    solution, seconds = _timed(problem, solver, request.limit)
    wholes, solves, spent = [seconds], [solution.solve_seconds], seconds
    if seconds < _REPEATED_WITHIN:
        wholes, solves = [], []
        while len(wholes) < request.repeats and (len(wholes) < 3 or spent < _REPEATED_WITHIN):
            solution, seconds = _timed(problem, solver, request.limit)
            wholes.append(seconds)
            solves.append(solution.solve_seconds)
            spent += seconds
    known = [value for value in solves if value is not None]
    return {
        "status": solution.status.value,
        "objective": solution.objective,
        "bound": solution.bound,
        "message": solution.message,
        "seconds": median(wholes),
        "solve_seconds": median(known) if known else None,
        "timed": len(wholes),
    }


def _timed(problem: PathProblem, solver: Solver, limit: float) -> tuple[PathSolution, float]:
    began = time.perf_counter()
    solution = solve(problem, solver, time_limit=limit)
    return solution, time.perf_counter() - began


def main() -> int:
    """Answer one request."""
    row = measure(Request(**json.loads(sys.stdin.read())))
    print(json.dumps(row))
    return int(row["status"] == Status.ERROR.value)


if __name__ == "__main__":
    sys.exit(main())
