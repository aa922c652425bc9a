"""Tests that every solver must pass, for authors of solvers; they need pytest, which `solvers` itself does not.

A test module of your own is enough; pytest collects what its class inherits:

    from solvers.testing import SolverConformance

    class TestMine(SolverConformance):
        name = "acme:mine"  # in the registry: an entry point of the group tape.solvers

The suite holds the solver against hand-made problems with known answers (`CASES`, `RISKY_CASES`) and against
enumeration of all paths (`best`, `ranking`, `paths`) of seeded random problems (`small`, `tight`, `risky`); larger ones
for tests of your own are `layered`, `plain`, `demanding` and `endless`. `Enumeration` is brute force as a solver.
"""

import pytest

from solvers.testing.brute_force import Best, Enumeration, best, paths, ranking
from solvers.testing.instances import demanding, endless, layered, plain, risky, small, tight

pytest.register_assert_rewrite("solvers.testing.conformance")  # so that a failed assertion shows its values

from solvers.testing.conformance import CASES, RISKY_CASES, Case, SolverConformance  # noqa: E402

__all__ = [
    "CASES",
    "RISKY_CASES",
    "Best",
    "Case",
    "Enumeration",
    "SolverConformance",
    "best",
    "demanding",
    "endless",
    "layered",
    "paths",
    "plain",
    "ranking",
    "risky",
    "small",
    "tight",
]
