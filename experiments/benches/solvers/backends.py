"""Who competes, and on which instances."""

from __future__ import annotations

from collections.abc import Callable

from experiments.benches.solvers.catalogue import HARD
from experiments.benches.solvers.instances import Spec
from solvers import Solver, SolverError, SolverUnavailableError, get
from solvers.cp_sat import CpSatSolver

OURS = "labelling"
CP_SAT = "cp-sat:2"
CBC = "pulp:cbc"


def _two_workers() -> Solver:
    reason = CpSatSolver.unavailable_reason()
    if reason:
        raise SolverUnavailableError(CP_SAT, reason)
    return CpSatSolver(workers=2)


def _named(name: str) -> Callable[[], Solver]:
    return lambda: get(name)


BACKENDS: dict[str, Callable[[], Solver]] = {
    OURS: _named(OURS),
    CP_SAT: _two_workers,
    "cp-sat": _named("cp-sat"),
    CBC: _named(CBC),
    "pulp:highs": _named("pulp:highs"),
}

BENCHED = tuple(name for name in BACKENDS if name != "cp-sat")
"""Those that the benchmark runs unless told; one worker of CP-SAT is measured for `auto` only."""

SAMPLED = ("pulp:highs",)
"""Backends that answer one instance in `SAMPLE_EVERY`."""

SAMPLE_EVERY = 10
_HARD_SEEDS = (2, 3)
_HALF = (0, 3)  # every second instance without binding budgets, of small and large ones alike, is for CP-SAT too
_LARGEST_SAMPLED = 12_000  # edge-steps


def missing(name: str) -> str | None:
    """Why a backend cannot run here, or None."""
    try:
        BACKENDS[name]()
    except SolverError as error:
        return str(error)
    return None


def competes(backend: str, spec: Spec, size: int, place: int) -> bool:
    """Whether a backend runs on an instance; the slow ones cost what the whole benchmark costs.

    CBC runs on all instances but most of the hard grids, CP-SAT on half of those whose budgets do not bind.

    Args:
        backend: A key of `BACKENDS`.
        spec: The instance.
        size: Its edge-steps.
        place: Its place among the instances of its family.
    """
    if backend == OURS:
        return True
    if spec.family == "stress" or (spec.shape == HARD and spec.seed not in _HARD_SEEDS):
        return False
    binds = spec.budget is not None and spec.budget < 1
    if backend in SAMPLED:
        return place % SAMPLE_EVERY == 0 and size <= _LARGEST_SAMPLED
    if backend == CP_SAT:
        return not binds and spec.seed % 4 in _HALF
    return True
