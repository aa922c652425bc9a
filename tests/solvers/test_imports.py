"""The package's imports go in no circle; importing it loads no library, and listing the solvers none but NumPy."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp

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


def test_no_circle() -> None:
    graph = grimp.build_graph("solvers", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(list(TopologicalSorter(imported).static_order())) == len(imported) > 40  # a circle raises CycleError


def test_listing_the_solvers_needs_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(done.stdout.split()) <= {"numpy"}
