"""Using one backend never breaks another in the same process, in whatever order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from solvers import available
from tests.places import ROOT

BACKENDS = ["labelling", "cp-sat", "mathopt:scip", "mathopt:highs", "pulp:cbc", "pulp:highs", "networkx"]

# In one fresh process for each first backend: it is used, and then all the others, in orders that between them have
# every backend before every other.
USE = """
import sys
from solvers import PathProblem, solve
problem = PathProblem(2, [(0, 1)], [0.0, 1.0], [], [], start=0, terminals=[1], horizon=2)
for name in sys.argv[1:]:
    answer = solve(problem, name)
    assert (answer.status, answer.objective) == ("OPTIMAL", 2.0), answer
print(sorted({"ortools", "highspy", "pulp", "networkx"} & set(sys.modules)))
"""


def installed() -> list[str]:
    usable = {info.name for info in available() if info.available}
    return [name for name in BACKENDS if name in usable]


def use(names: list[str], imported: Iterable[str] = ()) -> str:
    command = [sys.executable, "-c", "".join(f"import {name}\n" for name in imported) + USE, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("first", BACKENDS)
def test_every_backend_first(first: str) -> None:
    names = installed()
    if first not in names:
        pytest.skip(f"{first} cannot run here")
    others = [name for name in names if name != first]
    assert use([first, *others, first, *reversed(others), first]) == "[]"  # no library is loaded into this process


# The libraries themselves, should a caller load several of them into one process, which ours never do.
# Each of them once first and once last, and each before and after each other.
LIBRARIES = ["ortools.sat.python.cp_model", "ortools.math_opt.python.mathopt", "pulp", "networkx"]
ORDERS = [[*LIBRARIES[first:], *LIBRARIES[:first]] for first in range(len(LIBRARIES))]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(name.split(".")[-1] for name in order))
def test_libraries_of_the_user_do_not_matter(order: list[str]) -> None:
    for module in order:
        pytest.importorskip(module.split(".")[0])
    use(installed(), imported=order)
