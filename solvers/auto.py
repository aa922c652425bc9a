"""`auto`: picks a solver by what can be read off the problem at once, from a table of measured medians."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from solvers.base import Solver
from solvers.deadline import NEVER, Deadline
from solvers.errors import BackendError, SolverError
from solvers.problem import PathProblem
from solvers.reading import read_json
from solvers.solution import PathSolution

TABLE = Path(__file__).with_name("crossovers.json")

SCHEMA = "tape.solver_crossovers/1"


@dataclass(frozen=True)
class Features:
    """What the choice depends on; none of it takes solving.

    Attributes:
        resources: K.
        edge_steps: E * L, a bound on the size of the time-expanded graph.
        units: The largest budget over the greatest common divisor of its costs: how many amounts there are to tell
            apart.
    """

    resources: int
    edge_steps: int
    units: int

    @classmethod
    def of(cls, problem: PathProblem, deadline: Deadline = NEVER) -> Features:
        """Reads them off a problem.

        Raises:
            LateError: If the deadline passes.
        """
        units = 0
        for k, budget in enumerate(problem.budgets):
            divisor = 0
            for row in deadline.each(problem.costs):
                divisor = math.gcd(divisor, row[k])
            units = max(units, budget // (divisor or 1))
        return cls(len(problem.budgets), len(problem.edges) * problem.steps, units)


@dataclass(frozen=True)
class Rule:
    """A row of the table.

    Attributes:
        when: For a feature's name its least and its greatest value, either None for no limit.
        solvers: The solvers' names, the fastest first.
        measured: For a solver's name what was measured: instances, how many it closed, median milliseconds.
    """

    when: Mapping[str, tuple[int | None, int | None]]
    solvers: Sequence[str]
    measured: Mapping[str, Mapping[str, Any]]

    def holds(self, features: Features) -> bool:
        """Whether the features are within the row's limits."""
        values = asdict(features)
        return all(
            (low is None or values[name] >= low) and (high is None or values[name] <= high)
            for name, (low, high) in self.when.items()
        )

    def __str__(self) -> str:
        """The conditions, for messages."""
        parts = []
        for name, (low, high) in self.when.items():
            if low is not None and low == high:
                parts.append(f"{name} = {low}")
            else:
                parts += [f"{name} >= {low}"] if low is not None else []
                parts += [f"{name} <= {high}"] if high is not None else []
        return ", ".join(parts) or "anything"


def read_rules(path: Path = TABLE) -> tuple[Rule, ...]:
    """The rows of a table that `experiments.benches.solvers.crossovers` wrote, in order; the first that holds counts.

    Raises:
        BackendError: If the file is not such a table.
    """
    remedy = "write it with experiments.benches.solvers.crossovers"
    data = read_json(path, lambda message: BackendError(f"{message}; {remedy}"))
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("rules"), list):
        raise BackendError(f"{path}: not a table of schema {SCHEMA} with a list of rules; {remedy}")
    rules = []
    for number, row in enumerate(data["rules"]):
        if not _is_rule(row):
            raise BackendError(
                f"{path}: rules[{number}] is no object of 'when' (features with [least, greatest]), 'solvers' (names) "
                f"and 'measured'; {remedy}"
            )
        when = {name: (low, high) for name, (low, high) in row["when"].items()}
        rules.append(Rule(when, row["solvers"], row["measured"]))
    return tuple(rules)


def _is_rule(row: object) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("when"), dict) or not isinstance(row.get("measured"), dict):
        return False
    names, known = row.get("solvers"), {field.name for field in fields(Features)}
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return False
    return all(
        feature in known
        and isinstance(limits, list)
        and len(limits) == 2
        and all(limit is None or type(limit) is int for limit in limits)
        for feature, limits in row["when"].items()
    )


@cache
def _rules() -> tuple[Rule, ...]:
    return read_rules()


class AutoSolver(Solver):
    """Asks the solver that was fastest on instances of this kind, or the next one that can run here.

    The answer's `solver` is `auto:NAME`; its `message` says which row of `crossovers.json` held. A solver that cannot
    keep a risk is passed over where the problem has one. `labelling`, which needs no other package, is the last resort.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "picks one of the others by size, number of resources and budgets, from measured medians"
    handles_risk: ClassVar[bool] = True

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = Deadline(time_limit)
        features = Features.of(problem, deadline)
        rule = next((rule for rule in _rules() if rule.holds(features)), None)
        backend, passed_over = _first_able(rule.solvers if rule else (), problem)
        why = f"auto picked {backend.name}: "
        why += f"the fastest measured for {rule}" if rule else "no row of the table holds"
        why += f" (here {', '.join(f'{name} = {value}' for name, value in asdict(features).items())})"
        if passed_over:
            why += f"; passed over: {'; '.join(passed_over)}"
        deadline.check()
        answer = backend._solve(problem, deadline.left())
        message = f"{answer.message}; {why}" if answer.message else why
        return replace(answer, solver=f"{self.name}:{backend.name}", message=message)


def _first_able(names: Sequence[str], problem: PathProblem) -> tuple[Solver, list[str]]:
    """The first solver that can run here and keeps the risk, and why those before it were passed over."""
    from solvers.registry import get  # the registry lists this module

    passed_over = []
    for name in (*names, "labelling"):
        try:
            backend = get(name)
        except SolverError as error:
            passed_over.append(str(error))
            continue
        if problem.is_risky and not backend.handles_risk:
            passed_over.append(f"{name} cannot keep a risk")
            continue
        return backend, passed_over
    raise BackendError(f"no solver can answer this: {'; '.join(passed_over)}")
