"""Solvers by name: the built-in ones, and those that other distributions declare as `tape.solvers` entry points."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from solvers.base import Solver
from solvers.errors import SolverUnavailableError, UnknownSolverError

GROUP = "tape.solvers"

# Listed here as well as in the package metadata, so that a plain checkout on sys.path works.
_BUILT_IN = {
    "labelling": "solvers.labelling:LabellingSolver",
    "cp-sat": "solvers.cp_sat:CpSatSolver",
    "pulp:cbc": "solvers.pulp_backend:CbcSolver",
}

_ALIASES = {"pulp": "pulp:cbc"}


@dataclass(frozen=True)
class SolverInfo:
    """A line of `available()`.

    Attributes:
        name: The name to pass to `solve`.
        available: Whether it can run here.
        reason: Why not, naming what to install; empty if it can.
        summary: One line on what it is; empty if it could not be loaded.
    """

    name: str
    available: bool
    reason: str
    summary: str


def available() -> list[SolverInfo]:
    """Every solver there is, the built-in ones first, whether it can run here or not."""
    return [_info(name, loader) for name, loader in _loaders().items()]


def get(name: str) -> Solver:
    """Returns the solver that goes by `name` or by an alias (`pulp` is `pulp:cbc`).

    Built-in names cannot be taken over by an entry point.

    Args:
        name: As listed by `available()`.

    Raises:
        UnknownSolverError: If there is none; it lists those there are.
        SolverUnavailableError: If it cannot run here; it says why and what to install.
    """
    name = _ALIASES.get(name, name)
    if name in _BUILT_IN:  # spares the built-in solvers a scan of all installed metadata
        loader = _import_loader(_BUILT_IN[name])
    else:
        loaders = _loaders()
        if name not in loaders:
            raise UnknownSolverError(name, [*loaders, *_ALIASES])
        loader = loaders[name]
    found, reason = _load(loader)
    if found is None or reason:
        raise SolverUnavailableError(name, reason)
    return found()


def _loaders() -> dict[str, Callable[[], object]]:
    from importlib.metadata import entry_points  # slow to import, and not needed for the built-in solvers

    declared = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return {name: _import_loader(target) for name, target in _BUILT_IN.items()} | {
        point.name: point.load for point in declared if point.name not in _BUILT_IN
    }


def _import_loader(target: str) -> Callable[[], object]:
    module, _, attribute = target.partition(":")
    return lambda: getattr(importlib.import_module(module), attribute)


def _load(loader: Callable[[], object]) -> tuple[type[Solver] | None, str]:
    """The class and why it cannot run. Whatever a foreign plugin raises must not break the others."""
    try:
        found = loader()
        if not (isinstance(found, type) and issubclass(found, Solver)):
            return None, f"its entry point is {found!r}, which is not a subclass of solvers.Solver"
        return found, found.unavailable_reason() or ""
    except Exception as error:
        return None, f"it could not be loaded: {type(error).__name__}: {error}"


def _info(name: str, loader: Callable[[], object]) -> SolverInfo:
    found, reason = _load(loader)
    summary = getattr(found, "summary", "")
    return SolverInfo(name=name, available=not reason, reason=reason, summary=summary)
