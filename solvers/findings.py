"""What stands in the way of every walk, and the least changes that would give one: the data of an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status


class Cause(StrEnum):
    """What stands in the way of every walk.

    NO_TERMINAL: the problem declares no terminal.
    UNREACHABLE: no terminal can be reached from the start, whatever the horizon and the budgets.
    HORIZON: the horizon is too short. Without BUDGET beside it, a longer one is enough.
    BUDGET: the budgets are too small. Beside HORIZON, either one of the two is enough or both are needed: `needs` tell.
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
        least: A value that would do: the least one if `proven`. None if no value would do (`proven`) or none was found
            in time.
        at_least: Every smaller value is proven not to do. Equal to `least` where that is proven the least; without
            meaning where no value would do.
        walk: A walk that `least` makes feasible; None without `least`.
        proven: Whether the answer is final: `least` is the least, or no value would do.
    """

    limit: str
    given: int
    least: int | None
    at_least: int
    walk: PathSolution | None
    proven: bool


@dataclass(frozen=True)
class Joint:
    """One way to relax all the budgets together, as evenly as whole percentages allow.

    Attributes:
        horizon: The horizon with which it does: the given one, or the least one of any walk to a terminal.
        budgets: K ints, none below what is given. If `proven`, none that was raised could be raised less, with the
            others as here (it is Pareto-minimal).
        walk: A walk that keeps them.
        percent: The least whole percentage by which all budgets can be raised together to make a walk feasible;
            `budgets` rise by no more. It is relative to the budget, or, where that is not positive, to the least that
            any walk uses of the resource (1 if that is 0). None where the time limit came before its proof.
        proven: Whether the budgets are proven minimal.
    """

    horizon: int
    budgets: tuple[int, ...]
    walk: PathSolution
    percent: int | None
    proven: bool


@dataclass(frozen=True)
class Findings:
    """What `solvers.explain` has found out. What is not proven is never stated as a fact.

    Attributes:
        problem: The problem explained.
        status: FEASIBLE: there is a walk after all, `walk`. INFEASIBLE: proven that there is none. TIMEOUT: neither.
            ERROR: the solver failed before either was settled.
        causes: What is proven to stand in the way, if INFEASIBLE.
        walk: A walk, if FEASIBLE; some walk, not the best.
        reached: The nodes that can be reached from the start, whatever the horizon and the budgets.
        leading: The nodes from which a terminal can be reached, whatever the horizon and the budgets.
        nearest: Moves of the shortest walk to a terminal, whatever the budgets; None if there is none.
        barred: Edges one of which every walk must take although each alone exceeds a budget; empty if that is not so.
        horizon: The least horizon that would do under the given budgets; None if that was not looked for.
        budgets: For each resource, the least budget that would do alone; empty if that was not looked for.
        joint: One way to relax all budgets together, with the horizon if it is too short for any walk; None where that
            does not apply (`joint_applies`), or none was found in time.
        faults: What the solver reported where it failed; the parts it failed on count as not proven.
    """

    problem: PathProblem
    status: Status
    causes: tuple[Cause, ...] = ()
    walk: PathSolution | None = None
    reached: tuple[int, ...] = ()
    leading: tuple[int, ...] = ()
    nearest: int | None = None
    barred: tuple[int, ...] = ()
    horizon: Need | None = None
    budgets: tuple[Need, ...] = ()
    joint: Joint | None = None
    faults: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether nothing was left open by a time limit or a failure."""
        if self.status not in (Status.FEASIBLE, Status.INFEASIBLE) or self.faults:
            return False
        needs = [*self.budgets, *([] if self.horizon is None else [self.horizon])]
        if self.joint_applies and (self.joint is None or not self.joint.proven or self.joint.percent is None):
            return False
        return all(need.proven for need in needs)

    @property
    def too_short(self) -> bool:
        """Whether no walk reaches a terminal within the horizon, whatever the budgets, although a longer one does."""
        return self.nearest is not None and self.nearest > self.problem.steps

    @property
    def joint_applies(self) -> bool:
        """Whether several limits have to be weighed against each other: two budgets, or a budget and the horizon."""
        return Cause.BUDGET in self.causes and (self.too_short or len(self.problem.budgets) > 1)
