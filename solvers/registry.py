"""Solvers by name: built in, or declared by other distributions as `tape.solvers` entry points."""

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
    "pulp:cbc": "solvers.pulp_model:CbcSolver",
    "pulp:highs": "solvers.pulp_model:PulpHighsSolver",
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

    Examples:
        >>> from solvers import available
        >>> info = available()[0]
        >>> info.name, info.available, info.reason
        ('labelling', True, '')
    """

    name: str
    available: bool
    reason: str
    summary: str


def available() -> list[SolverInfo]:
    """Every solver there is, the built-in ones first, whether it can run here or not.

    Returns:
        A line for each; `reason` names what to install where one cannot run.

    Examples:
        >>> from solvers import available
        >>> [info.name for info in available()][:4]
        ['labelling', 'cp-sat', 'pulp:cbc', 'pulp:highs']
    """
    built_in = {name: _import_loader(target) for name, target in _BUILT_IN.items()}
    return [_info(name, loader) for name, loader in (built_in | _declared()).items()]


def get(name: str) -> Solver:
    """Returns the solver that goes by `name` or by an alias (`pulp` is `pulp:cbc`).

    Built-in names cannot be taken over by an entry point.

    Args:
        name: As listed by `available()`.

    Raises:
        UnknownSolverError: If there is none; it lists those there are.
        SolverUnavailableError: If it cannot run here; it says why and what to install.

    Examples:
        >>> from solvers import get
        >>> get("labelling").handles_risk
        True
    """
    name = _ALIASES.get(name, name)
    target = _BUILT_IN.get(name)
    loader = _declared().get(name) if target is None else _import_loader(target)  # the former reads all metadata
    if loader is None:
        raise UnknownSolverError(name, [*_BUILT_IN, *_declared(), *_ALIASES])
    kind, reason = _load(loader)
    if kind is None or reason:
        raise SolverUnavailableError(name, reason)
    return kind()


def _declared() -> dict[str, Callable[[], object]]:
    from importlib.metadata import entry_points  # slow to import, and not needed for the built-in solvers

    declared = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return {point.name: point.load for point in declared if point.name not in _BUILT_IN}


def _import_loader(target: str) -> Callable[[], object]:
    module, _, attribute = target.partition(":")
    return lambda: getattr(importlib.import_module(module), attribute)


def _load(loader: Callable[[], object]) -> tuple[type[Solver] | None, str]:
    """The class and why it cannot run. Whatever a foreign plugin raises must not break the others."""
    try:
        kind = loader()
        if not (isinstance(kind, type) and issubclass(kind, Solver)):
            return None, f"its entry point is {kind!r}, which is not a subclass of solvers.Solver"
        return kind, kind.unavailable_reason() or ""
    except Exception as error:
        return None, f"it could not be loaded: {type(error).__name__}: {error}"


def _info(name: str, loader: Callable[[], object]) -> SolverInfo:
    kind, reason = _load(loader)
    summary = getattr(kind, "summary", "")
    return SolverInfo(name=name, available=not reason, reason=reason, summary=summary)
