"""The errors that `solvers` raises; every message says what was wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

_LONGEST = 200


class SolverError(Exception):
    """Base of every error raised by this package.

    Examples:
        >>> from solvers import SolverError, get
        >>> try:
        ...     get("nothing")
        ... except SolverError as error:
        ...     print(type(error).__name__)
        UnknownSolverError
    """


class ProblemError(SolverError, ValueError):
    """A malformed input.

    Attributes:
        field: The offending field, e.g. `"costs"`.
        index: Where in the field: an index, an (edge, resource) pair, or None for a scalar field.
        value: The offending value.

    Examples:
        >>> from solvers import PathProblem
        >>> PathProblem(2, [(0, 1)], rewards=[0, 1], costs=[[-3]], budgets=[2], start=0, terminals=[1], horizon=1)
        Traceback (most recent call last):
            ...
        solvers.errors.ProblemError: costs[0][0] = -3: must not be negative
    """

    def __init__(self, field: str, index: int | tuple[int, ...] | None, value: object, message: str) -> None:
        places = () if index is None else (index if isinstance(index, tuple) else (index,))
        where = field + "".join(f"[{place}]" for place in places)
        super().__init__(f"{where} = {_shown(value)}: {message}")
        self.field = field
        self.index = index
        self.value = value


def _shown(value: object) -> str:
    """A value in a message, whatever it is: not all of a long one, and no integer that Python refuses to write out."""
    try:
        text = repr(value)
    except Exception as error:  # a repr of the caller's, or too many digits
        return f"a value of type {type(value).__name__} that cannot be shown ({type(error).__name__})"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


class FileFormatError(ProblemError):
    """A file that cannot be read, or holds something else than it should.

    Attributes:
        path: The file.
        line: The line, from 1; None if it is none in particular.

    Examples:
        >>> from pathlib import Path
        >>> from solvers import read_rcsp
        >>> _ = Path("tiny.txt").write_text("two nodes")
        >>> read_rcsp("tiny.txt")
        Traceback (most recent call last):
            ...
        solvers.errors.FileFormatError: tiny.txt:1: ...
    """

    def __init__(self, path: str | PathLike[str], line: int | None, message: str) -> None:
        SolverError.__init__(self, f"{path}: {message}" if line is None else f"{path}:{line}: {message}")
        self.path = self.field = str(path)
        self.line = self.index = line
        self.value = None


class EndlessError(SolverError):
    """There is no best path, or no horizon is enough: going round in a circle gains for ever, or for very long.

    Attributes:
        circle: Its edges, in order.
        reason: Why it does not end.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> edges, costs = [(0, 0), (0, 1)], [[0], [0]]
        >>> problem = PathProblem(
        ...     2, edges, rewards=[1, 0], costs=costs, budgets=[7], start=0, terminals=[1], objective="visit"
        ... )
        >>> solve(problem)
        Traceback (most recent call last):
            ...
        solvers.errors.EndlessError: the circle of edges 0 has no end: it earns and takes nothing of what is capped; ...
    """

    def __init__(self, circle: Sequence[Any], reason: str, remedy: str = "set a horizon") -> None:
        edges = ", ".join(map(str, circle))
        super().__init__(f"the circle of edges {edges} has no end: {reason}; {remedy}")
        self.circle = tuple(circle)
        self.reason = reason


class UnknownSolverError(SolverError, LookupError):
    """No solver goes by the name that was asked for.

    Attributes:
        name: The name asked for.
        known: The names there are.

    Examples:
        >>> from solvers import get
        >>> get("nothing")
        Traceback (most recent call last):
            ...
        solvers.errors.UnknownSolverError: no solver is called 'nothing'; there are: ...
    """

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no solver is called {name!r}; there are: {', '.join(sorted(known))}")
        self.name = name
        self.known = tuple(sorted(known))


class SolverUnavailableError(SolverError):
    """The solver is known, but cannot run here.

    Attributes:
        name: The solver's name.
        reason: Why it cannot run, naming the package or extra to install where one is missing.

    Examples:
        >>> from solvers import SolverUnavailableError
        >>> raise SolverUnavailableError("acme:states", "it needs the package 'acme': pip install acme")
        Traceback (most recent call last):
            ...
        solvers.errors.SolverUnavailableError: solver 'acme:states' cannot run here: ...
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"solver {name!r} cannot run here: {reason}")
        self.name = name
        self.reason = reason


class RiskUnsupportedError(SolverError):
    """The solver cannot keep budgets at a risk; nothing was solved.

    Attributes:
        solver: The solver's name.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], spreads=[[1]], budgets=[9], start=0, terminals=[1], horizon=1
        ... )
        >>> solve(problem, "cp-sat", risk=0.1)
        Traceback (most recent call last):
            ...
        solvers.errors.RiskUnsupportedError: solver 'cp-sat' cannot keep budgets at a risk; ...
    """

    def __init__(self, solver: str) -> None:
        super().__init__(
            f"solver {solver!r} cannot keep budgets at a risk; use 'labelling', which does so exactly, or give up the "
            "risk (dataclasses.replace(problem, risk=None)), which keeps the budgets for the mean costs only"
        )
        self.solver = solver


class BackendError(SolverError):
    """A backend met something it cannot answer; `solve` turns it into an answer with status ERROR.

    Examples:
        >>> from solvers import BackendError, PathProblem, Solver, solve
        >>> class Refusing(Solver):
        ...     name, summary = "refusing", "solves nothing"
        ...     def _solve(self, problem, time_limit):
        ...         raise BackendError("it has a circle; use labelling")
        >>> problem = PathProblem(1, [], rewards=[0], costs=[], budgets=[], start=0, terminals=[0], horizon=1)
        >>> answer = solve(problem, Refusing())
        >>> answer.status.value, answer.message
        ('ERROR', 'BackendError: it has a circle; use labelling')
    """


class TooLargeError(BackendError):
    """A solve would take more memory than it may; the message says how much, and what would help."""


class LateError(SolverError):
    """The time was up in the middle of something; `solve` turns it into an answer with status TIMEOUT."""
