"""The package loads no library but NumPy, and uses backends that do not break each other."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable

import pytest

from solvers import available
from tests.places import ROOT

LOADED = """
import sys
before = set(sys.modules)
import solvers
assert "numpy" not in sys.modules
solvers.available()
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(tops - set(sys.stdlib_module_names) - {"solvers"}))
"""


def test_listing_the_solvers_needs_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(done.stdout.split()) <= {"numpy"}


BACKENDS = ["labelling", "cp-sat", "pulp:cbc", "pulp:highs"]

# In one fresh process for each first backend: it is used, and then all the others, in orders that between them have
# every backend before every other.
USE = """
import sys
from solvers import PathProblem, solve
problem = PathProblem(2, [(0, 1)], [0.0, 1.0], [], [], start=0, terminals=[1], horizon=2)
for name in sys.argv[1:]:
    answer = solve(problem, name)
    assert (answer.status, answer.objective) == ("OPTIMAL", 2.0), answer
print(sorted({"ortools", "highspy", "pulp"} & set(sys.modules)))
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
@pytest.mark.parametrize(
    "first", ["labelling", "cp-sat", *(pytest.param(b, marks=pytest.mark.soak) for b in BACKENDS[2:])]
)
def test_every_backend_first(first: str) -> None:
    names = installed()
    if first not in names:
        pytest.skip(f"{first} cannot run here")
    others = [name for name in names if name != first]
    assert use([first, *others, first, *reversed(others), first]) == "[]"  # no library is loaded into this process


# The libraries themselves, should a caller load several of them into one process, which ours never do.
# Each before and after each other; in the sweep each of them also once first and once last.
LIBRARIES = ["ortools.sat.python.cp_model", "highspy", "pulp", "networkx"]
ROTATED = [[*LIBRARIES[first:], *LIBRARIES[:first]] for first in range(1, len(LIBRARIES))]
ORDERS = [LIBRARIES, LIBRARIES[::-1], *(pytest.param(order, marks=pytest.mark.soak) for order in ROTATED)]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(name.split(".")[-1] for name in order))
def test_libraries_of_the_user_do_not_matter(order: list[str]) -> None:
    for module in order:
        pytest.importorskip(module.split(".")[0])
    use(installed(), imported=order)


def test_every_header_is_listed() -> None:
    [extension] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    headers = sorted(f"solvers/native/{path.name}" for path in (ROOT / "solvers/native").glob("*.hpp"))
    assert extension["depends"] == headers
    assert extension["optional"] is True
