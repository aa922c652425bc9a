"""A planning problem as an environment."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from envs.pddl.domain import PddlDomain
from envs.pddl.errors import PddlError
from envs.pddl.prompts import PddlFormat, PlannedFormat
from envs.pddl.reading import bounded, load_problem
from envs.pddl.search import Bounds
from envs.pddl.state import PddlState
from envs.pddl.task import PddlTask
from tape.budget import Budget, Resources
from tape.protocols import Action, Environment, Observation
from tape.protocols.prompt_format import PromptFormat, pick

MOST_STEPS = 1000
"""Steps of an episode without a cap on them; it needs an end."""


class PddlEnvironment(Environment):
    """A problem in PDDL, with caps on what its actions use.

    Numbers that actions only increase and nothing reads, such as ``total-cost``, are resources: plans are chosen and
    refused by them. A cap on another number of the state is a condition: no action may bring the number above it.

    Args:
        domain: The file of the domain.
        problem: The file of the problem.
        caps: The most of each number, by its name in PDDL or in Python, for instance ``{"total_cost": 12}``; a number
            with objects is ``"fuel truck1"`` or ``"fuel_truck1"``. ``steps`` is the number of actions.
        bounds: How far planners and the exact search go.

    Raises:
        PddlError: A file cannot be read, has what is not supported, or a cap names no number.

    Examples:
        >>> from envs.pddl import PddlEnvironment
        >>> env = PddlEnvironment(domain="blocks.pddl", problem="tower.pddl", caps={"steps": 6})  # doctest: +SKIP
        >>> env.step("unstack(red, blue)")  # doctest: +SKIP
    """

    domain: PddlDomain

    def __init__(
        self,
        domain: Path | str,
        problem: Path | str,
        caps: Mapping[str, int | float | str | Fraction] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        files = Path(domain), Path(problem)
        parsed, preferences = load_problem(*files)
        self.domain = PddlDomain(PddlTask(parsed, preferences), bounds, files)
        budget, others = self.domain.caps({name: _amount(name, given) for name, given in (caps or {}).items()})
        if others:
            of_state = dict(bounded(self.domain.task, name, most) for name, most in others.items())
            self.domain = PddlDomain(PddlTask(parsed, preferences, of_state), bounds, files)
        self.budget = Budget({"steps": MOST_STEPS, **budget})
        self._state = self.domain.task.start

    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this problem, for general models, in the format ``chat``; ``declared`` asks no model."""
        formats = {"chat": lambda: PddlFormat(self.domain), "declared": PlannedFormat}
        return pick(formats, name, "planning problems", "Use a general model.")()

    def reset(self, seed: int) -> Observation:
        """Start again; there is no chance, so the seed is not used."""
        del seed
        self._state = self.domain.task.start
        return self._observed()

    def _observed(self) -> Observation:
        return Observation(self.domain.render(self._state), self._state)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; what does not apply changes nothing, costs a step and is explained."""
        taken = self.domain.step(self._state, action)
        cost = self.domain.cost(self._state, action)
        if taken.state is None:
            here = self._state
            self._state = PddlState(here.facts, here.numbers, here.finished, f"nothing was done: {taken.refused}")
        else:
            self._state = taken.state
        return self._observed(), cost

    def success(self) -> bool:
        """Whether the goal is reached, and the plan was ended where the last state has a price."""
        return self.domain.task.reached(self._state)


def _amount(name: str, given: int | float | str | Fraction) -> Fraction:
    try:
        most = Fraction(str(given)) if isinstance(given, float) else Fraction(given)
    except (TypeError, ValueError, ZeroDivisionError):
        raise PddlError(f"cap {name}={given}: {given!r} is no number") from None
    if most < 0:
        raise PddlError(f"cap {name}={given}: a cap must not be negative")
    return most
