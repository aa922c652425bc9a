"""The package loads no library but NumPy, and uses backends that do not break each other."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from solvers import available
from tests.places import ROOT

LOADED = """
import sys
before = set(sys.modules)
import solvers
assert "numpy" not in sys.modules
solvers.available(), solvers.schedule
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


@pytest.mark.slow
@pytest.mark.parametrize("first", ["labelling", *(pytest.param(name, marks=pytest.mark.soak) for name in BACKENDS[1:])])
def test_every_backend_first(first: str) -> None:
    names = installed()
    if first not in names:
        pytest.skip(f"{first} cannot run here")
    others = [name for name in names if name != first]
    command = [sys.executable, "-c", USE, first, *others, first, *reversed(others), first]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr  # no library is loaded into this process


def test_every_header_is_listed() -> None:
    [extension] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    headers = sorted(f"solvers/native/{path.name}" for path in (ROOT / "solvers/native").glob("*.hpp"))
    assert extension["depends"] == headers
    assert extension["optional"] is True
