"""The first solve of a fresh process, and the first after installation: from before the import to the answer."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from experiments.benches.solvers.catalogue import shape
from experiments.benches.solvers.instances import Spec
from experiments.harness.places import ROOT

_CODE = """
import sys, time
began = time.perf_counter()
import solvers
problem = solvers.PathProblem.from_json(sys.stdin.read())
answer = solvers.solve(problem)
print(time.perf_counter() - began, answer.status.value)
"""

_SPEC = Spec("folded", shape(world="plane", M=16, L=30), resources=2, budget=0.5)


def measure_cold(repeats: int = 5) -> dict[str, Any]:
    """Times fresh processes, each with its own imports; the start of Python itself is left out.

    `first_ever` is as after an installation: no byte code of any package and no cache of the user's can be read.
    """
    problem = _SPEC.build().problem.to_json()
    fresh = [_fresh(problem, dict(os.environ)) for _ in range(repeats)]
    first = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="bench-cold-") as empty:
            nothing = {"PYTHONPYCACHEPREFIX": empty, "XDG_CACHE_HOME": empty, "NUMBA_CACHE_DIR": empty}
            first.append(_fresh(problem, {**os.environ, **nothing}))
    return {
        "instance": _SPEC.name,
        "n": repeats,
        "fresh": {"median": median(fresh), "max": max(fresh)},
        "first_ever": {"median": median(first), "max": max(first)},
    }


def _fresh(problem: str, environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _CODE], input=problem, capture_output=True, text=True, check=True, env=environment,
        cwd=ROOT,
    )  # fmt: skip
    seconds, status = done.stdout.split()
    if status != "OPTIMAL":
        raise RuntimeError(f"the first solve ended as {status}")
    return float(seconds)
