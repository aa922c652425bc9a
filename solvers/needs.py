"""What stands in the way of every path, and what the limits would have to be; the parts of an `Explanation`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from solvers.solution import PathSolution


class Cause(StrEnum):
    """What stands in the way of every path.

    NO_TERMINAL: the problem declares no terminal.
    UNREACHABLE: no terminal can be reached from the start, whatever the horizon and the budgets.
    HORIZON: the horizon is too short. Without BUDGET beside it, a longer one is enough.
    BUDGET: the budgets are too small. Beside HORIZON, either one of the two is enough or both are needed, as `horizon`,
        `budgets` and `joint` say.

    Examples:
        >>> from solvers import Cause, PathProblem, explain
        >>> problem = PathProblem(2, [], rewards=[0, 1], costs=[], budgets=[], start=0, terminals=[1], horizon=1)
        >>> explain(problem).causes == (Cause.UNREACHABLE,)
        True
    """

    NO_TERMINAL = "no_terminal"
    UNREACHABLE = "unreachable"
    HORIZON = "horizon"
    BUDGET = "budget"


@dataclass(frozen=True)
class Need:
    """What one limit would have to be, with all the others as they are.

    Attributes:
        limit: `"horizon"`, or the resource's name.
        given: What it is.
        least: A value that would do: the least one if `proven` (of a lower limit, the greatest). None if no value would
            do (`proven`) or none was found in time.
        at_least: Every smaller value (of a lower limit, greater one) is proven not to do. Equal to `least` where that
            is proven the least; without meaning where no value would do.
        path: A path that `least` makes feasible; None without `least`, and of shortest paths.
        proven: Whether the answer is final: `least` is the least, or no value would do.
        side: Whether it is an upper limit or a lower one.
        alone: Of shortest paths: the least that any path uses (with a lower limit: the most), were this the only limit;
            None if there is no most, or if that is not known.

    Examples:
        >>> from solvers import PathProblem, explain
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[2], start=0, terminals=[1], horizon=1
        ... )
        >>> need = explain(problem).budgets[0]
        >>> need.limit, need.given, need.least, need.path.edges
        ('r0', 2, 3, (0,))
    """

    limit: str
    given: Any
    least: Any
    at_least: Any
    path: PathSolution | None
    proven: bool
    side: Literal["upper", "lower"] = "upper"
    alone: Any = None

    @property
    def excludes(self) -> bool:
        """Whether no path keeps this limit, even were it the only one."""
        if self.alone is None:
            return False
        return bool(self.alone > self.given if self.side == "upper" else self.alone < self.given)

    def sentences(self, amount: Callable[[Any], str] = str, more: str = "") -> Iterator[str]:
        """What is short and what would do; only what is proven is stated as a fact.

        `amount` writes an amount; `more` says of `least` how much more it is.
        """
        name, given, upper = self.limit, amount(self.given), self.side == "upper"
        if self.excludes and self.alone != self.least:
            every = "Every path takes" if upper else "No path takes more than"
            yield f"{every} {amount(self.alone)} of {name}: {given} given."
        if self.least is not None:
            short = f"{name} is short: {given} given" if upper else f"{name} has too high a lower limit: {given} given"
            yield f"{short}, {amount(self.least)} would do{more}, everything else unchanged."
            if not self.proven:
                yield f"Whether less {name} would do is open; less than {amount(self.at_least)} would not."
        elif self.proven:
            yield f"No amount of {name} alone would do."
        else:
            yield f"Whether {'more' if upper else 'less'} {name} alone would do is open."


@dataclass(frozen=True)
class Joint:
    """One way to relax all the budgets together, as evenly as whole percentages allow.

    Attributes:
        horizon: The horizon with which it does: the given one, or the least one of any path to a terminal.
        budgets: K ints, none below what is given. If `proven`, none that was raised could be raised less, with the
            others as here (it is Pareto-minimal).
        path: A path that keeps them.
        percent: The least whole percentage by which all budgets can be raised together to make a path feasible;
            `budgets` rise by no more. It is relative to the budget, or, where that is not positive, to the least that
            any path uses of the resource (1 if that is 0). None where the time limit came before its proof.
        proven: Whether the budgets are proven minimal.

    Examples:
        >>> from solvers import PathProblem, explain
        >>> edges, costs = [(0, 1), (0, 1)], [[3, 5], [6, 3]]
        >>> problem = PathProblem(
        ...     2, edges, rewards=[0, 1], costs=costs, budgets=[2, 2], start=0, terminals=[1], horizon=1
        ... )
        >>> joint = explain(problem).joint
        >>> joint.budgets, joint.percent, joint.path.edges
        ((3, 5), 150, (0,))
    """

    horizon: int
    budgets: tuple[int, ...]
    path: PathSolution
    percent: int | None
    proven: bool
