"""TAPE as an engine of unified-planning: ``OneshotPlanner(name="tape")`` and ``AnytimePlanner(name="tape")``.

unified-planning 1.3 finds engines in its own list and in ``up.ini``, not by entry points; :func:`register` adds
this one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import IO, Any

from unified_planning.engines import (
    AnytimeGuarantee,
    Credits,
    Engine,
    LogLevel,
    LogMessage,
    OptimalityGuarantee,
    PlanGenerationResult,
    PlanGenerationResultStatus,
)
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin
from unified_planning.exceptions import UPException, UPUsageError
from unified_planning.model import Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan
from unified_planning.shortcuts import get_environment

from envs.pddl.domain import PddlDomain
from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom
from envs.pddl.names import FINISH
from envs.pddl.search import Bounds, TooManyStatesError, cheapest_plans
from envs.pddl.several_plans import several_plans
from envs.pddl.task import PddlTask

Status = PlanGenerationResultStatus

FEATURES = (
    "ACTION_BASED", "FLAT_TYPING", "HIERARCHICAL_TYPING", "NEGATIVE_CONDITIONS", "DISJUNCTIVE_CONDITIONS", "EQUALITIES",
    "EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS", "CONDITIONAL_EFFECTS", "FORALL_EFFECTS", "INCREASE_EFFECTS",
    "DECREASE_EFFECTS", "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS", "STATIC_FLUENTS_IN_NUMERIC_ASSIGNMENTS",
    "FLUENTS_IN_BOOLEAN_ASSIGNMENTS", "FLUENTS_IN_NUMERIC_ASSIGNMENTS", "SIMPLE_NUMERIC_PLANNING",
    "GENERAL_NUMERIC_PLANNING", "INT_FLUENTS", "REAL_FLUENTS", "ACTIONS_COST", "PLAN_LENGTH", "FINAL_VALUE",
    "STATIC_FLUENTS_IN_ACTIONS_COST", "FLUENTS_IN_ACTIONS_COST", "INT_NUMBERS_IN_ACTIONS_COST",
    "REAL_NUMBERS_IN_ACTIONS_COST", "UNDEFINED_INITIAL_NUMERIC",
)  # fmt: skip
"""The features of problems that are taken."""

SEVERAL = 8
"""Plans that the inner planner is asked for where the exact search is too large."""


class TapeEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin):  # type: ignore[misc]
    """The best plan within caps: by the exact search of all states, or of several plans of another planner.

    Args:
        caps: The most of each resource, by its name in the problem, for instance ``{"total-cost": 12, "steps": 9}``.
        planner: Who gives plans where there are too many states; empty: nobody.
        states: The most states of the exact search.
    """

    def __init__(self, caps: Mapping[str, Any] | None = None, planner: str = "pyperplan", states: int = 20_000) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        try:
            self._caps = {name: Fraction(str(most)) for name, most in (caps or {}).items()}
        except (ValueError, ZeroDivisionError) as error:
            raise UPUsageError(f"caps are numbers: {error}") from None
        self._planner, self._states = planner, states

    @property
    def name(self) -> str:
        """Its name."""
        return "tape"

    @staticmethod
    def supported_kind() -> ProblemKind:
        """What it takes."""
        return ProblemKind(FEATURES, version=2)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Whether it takes problems of a kind."""
        return bool(problem_kind <= TapeEngine.supported_kind())

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        """A plan that is satisfying; whether it is optimal, its status says."""
        return optimality_guarantee is OptimalityGuarantee.SATISFICING

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        """Each plan is better than the one before."""
        return anytime_guarantee is AnytimeGuarantee.INCREASING_QUALITY

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        """Who has written it."""
        return Credits("TAPE", "TAPE", "", "", "", "Exact plans under budgets", "Exact plans under budgets")

    def _solve(
        self,
        problem: Problem,
        heuristic: Any = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        for given, what in ((heuristic, "heuristic"), (output_stream, "output stream")):
            if given is not None:
                warnings.warn(f"tape takes no {what}", UserWarning, stacklevel=3)
        try:
            domain, remaining = self._posed(problem, timeout)
            return self._exact(domain, remaining)
        except TooManyStatesError as error:
            said = str(error)
        except PddlError as error:
            return self._unsupported(error)
        if plans := list(self._improving(domain, remaining)):
            return PlanGenerationResult(Status.SOLVED_SATISFICING, self._plan(problem, plans[-1]), self.name)
        return PlanGenerationResult(Status.UNSOLVABLE_INCOMPLETELY, None, self.name, metrics={"search": said})

    def _get_solutions(
        self, problem: Problem, timeout: float | None = None, output_stream: IO[str] | None = None
    ) -> Iterator[PlanGenerationResult]:
        if output_stream is not None:
            warnings.warn("tape takes no output stream", UserWarning, stacklevel=3)
        try:
            domain, remaining = self._posed(problem, timeout)
            for plan in self._improving(domain, remaining):
                yield PlanGenerationResult(Status.INTERMEDIATE, self._plan(problem, plan), self.name)
            yield self._exact(domain, remaining)
        except TooManyStatesError:
            return
        except PddlError as error:
            yield self._unsupported(error)

    def _unsupported(self, error: PddlError) -> PlanGenerationResult:
        log = [LogMessage(LogLevel.ERROR, str(error))]
        return PlanGenerationResult(Status.UNSUPPORTED_PROBLEM, None, self.name, log_messages=log)

    def _posed(self, problem: Problem, timeout: float | None) -> tuple[PddlDomain, dict[str, int]]:
        domain = PddlDomain(PddlTask(problem), Bounds(seconds=timeout or Bounds.seconds, states=self._states))
        remaining, unknown = domain.caps(self._caps)
        if unknown:
            known = ", ".join(("steps", *domain.kinds))
            raise UPUsageError(f"there is no resource {min(unknown)} to cap; there is: {known}")
        return domain, remaining

    def _exact(self, domain: PddlDomain, remaining: Mapping[str, int]) -> PlanGenerationResult:
        problem = domain.task.problem
        plans = cheapest_plans(domain, domain.task.start, remaining, 1, relaxed=False)
        if not plans:
            return PlanGenerationResult(Status.UNSOLVABLE_PROVEN, None, self.name)
        calls = [domain.parse(action) for action in plans[0]]
        status = Status.SOLVED_OPTIMALLY if problem.quality_metrics else Status.SOLVED_SATISFICING
        return PlanGenerationResult(status, self._plan(problem, calls), self.name)

    def _improving(self, domain: PddlDomain, remaining: Mapping[str, int]) -> Iterator[list[Atom]]:
        """Plans of the inner planner that fit, each cheaper than the one before."""
        best: int | None = None
        if self._planner not in get_environment().factory.engines:
            return
        try:
            for plan in several_plans(domain.task.problem, self._planner, SEVERAL):
                if isinstance(plan, str) or (used := domain.used(plan)) is None:
                    continue
                cost = used.get(domain.saves, 0)
                if all(used.get(kind, 0) <= most for kind, most in remaining.items()) and (best is None or cost < best):
                    best = cost
                    yield plan
        except (UPException, PddlError) as error:
            warnings.warn(f"{self._planner} has failed: {error}", UserWarning, stacklevel=3)

    @staticmethod
    def _plan(problem: Problem, calls: list[Atom]) -> SequentialPlan:
        made = problem.environment.expression_manager
        kept = [call for call in calls if call[0] != FINISH]
        steps = [
            ActionInstance(problem.action(call[0]), tuple(made.ObjectExp(problem.object(name)) for name in call[1:]))
            for call in kept
        ]
        return SequentialPlan(steps, problem.environment)


def register() -> None:
    """Let ``OneshotPlanner(name="tape")`` find the engine."""
    get_environment().factory.add_engine("tape", __name__, "TapeEngine")
