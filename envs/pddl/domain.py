"""What a planning problem declares to the engine: exact states, calls, goals and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from pathlib import Path

from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom, written
from envs.pddl.names import FINISH, in_python
from envs.pddl.search import Bounds, SearchedDomain, cheapest_plans
from envs.pddl.state import PddlState, as_state
from envs.pddl.task import PddlStep, PddlTask
from tape.budget import Resources, declare, kind_of, kinds
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.parts import ExactPlanner, GoalTest

_CALL = re.compile(r"(\w+)\(\s*((?:\w+\s*(?:,\s*\w+\s*)*)?)\)")

DIGITS = 6
"""Amounts are counted in millionths: what is used is rounded up and caps are rounded down, so that no cap is passed."""

UNIT = "unit"
"""Of all numbers of problems. Resources of another unit are somebody else's, and no number is named as they are."""


@dataclass(frozen=True)
class PddlNames:
    """Names of Python for those of a problem.

    Attributes:
        actions: The identifier of each action, and of what ends a plan where plans say where they end.
        objects: The identifier of each object.
    """

    actions: Mapping[str, str]
    objects: Mapping[str, str]

    @classmethod
    def of(cls, task: PddlTask) -> PddlNames:
        """The names of a problem."""
        actions = in_python(task.schemas)
        if task.finishes:
            actions[FINISH] = in_python(["finish"], actions.values())["finish"]
        return cls(actions, in_python(item.name for item in task.problem.all_objects))

    def call(self, action: Atom) -> Action:
        """An action as a call: ``unstack(red, blue)``."""
        return f"{self.actions[action[0]]}({', '.join(self.objects[item] for item in action[1:])})"


class PddlDomain(SearchedDomain, GoalTest, ExactPlanner):
    """What a problem declares.

    An action's outcome is known exactly, as the problem gives its rules. Only the state at the goal, or after
    ``finish()``, is an end; of several ends the cheapest by the metric is best.

    Args:
        task: The problem.
        bounds: Of a search of its own.
        files: The domain and the problem, for planners that read files.
    """

    deterministic = True
    voted = False
    on_infeasible = "budget"

    def __init__(self, task: PddlTask, bounds: Bounds | None = None, files: tuple[Path, Path] | None = None) -> None:
        self.task, self.names, self.files = task, PddlNames.of(task), files
        self.bounds = bounds or Bounds()
        self._actions = {name: action for action, name in self.names.actions.items()}
        self._objects = {name: item for item, name in self.names.objects.items()}
        self.kinds = in_python(
            sorted({*task.counted, *task.metric.priced}), {kind for kind in kinds() if kind_of(kind).unit != UNIT}
        )
        for kind in self.kinds.values():
            declare(kind, UNIT, f"1e-{DIGITS}")
        self.saves = self.kinds.get(task.metric.name, "steps")
        self.step = lru_cache(maxsize=100_000)(self._step)

    def parse(self, action: Action) -> Atom:
        """A call as an action of the problem.

        Raises:
            PddlError: It is no call of an action with objects of the problem; names what is unknown.
        """
        match = _CALL.fullmatch(action.strip())
        if match is None:
            raise PddlError(f"{action!r} is no call: write {next(iter(self._actions), 'ACTION')}(OBJECT, ...)")
        given = [item.strip() for item in match[2].split(",")] if match[2].strip() else []
        if match[1] not in self._actions:
            raise PddlError(f"there is no action {match[1]}; there is: {', '.join(self._actions)}")
        if unknown := [item for item in given if item not in self._objects]:
            raise PddlError(f"there is no object {unknown[0]}")
        return (self._actions[match[1]], *(self._objects[item] for item in given))

    def _step(self, state: PddlState, action: Action) -> PddlStep:
        try:
            call = self.parse(action)
        except PddlError as error:
            return PddlStep(None, {}, str(error))
        return self.task.step(state, call)

    def amounts(self, used: Mapping[str, Fraction]) -> dict[str, int]:
        """What was used, in counts of its resources."""
        return {self.kinds[name]: ceil(amount * 10**DIGITS) for name, amount in used.items()}

    def used(self, plan: Sequence[Atom]) -> dict[str, int] | None:
        """What a plan from the start to the goal uses, in counts, steps included; None where it is no such plan."""
        step = self.task.follow(self.task.start, plan)
        return None if step.state is None else {"steps": len(plan), **self.amounts(step.used)}

    def caps(self, given: Mapping[str, Fraction]) -> tuple[dict[str, int], dict[str, Fraction]]:
        """Caps as what plans may still use, in counts; and the caps that name no resource, as they were given.

        Raises:
            PddlError: A resource is above its cap at the start.
        """
        budget, others = dict[str, int](), dict[str, Fraction]()
        names = {kind: name for name, kind in self.kinds.items()} | {name: name for name in self.kinds}
        for cap, most in given.items():
            if cap == "steps":
                budget[cap] = floor(most)
            elif cap in names:
                left = most - self.task.used_at_start.get(names[cap], Fraction(0))
                if left < 0:
                    raise PddlError(f"cap {cap}={most}: it is {most - left} at the start already")
                kind, count = self.kinds[names[cap]], floor(left * 10**DIGITS)
                budget[kind] = min(count, budget.get(kind, count))
            else:
                others[cap] = most
        return budget, others

    # --- what every environment declares ----------------------------------------------------------

    def task_text(self) -> str:
        """The goal in PDDL."""
        return f"Reach the goal of {self.task.problem.name}: {' and '.join(map(str, self.task.problem.goals)) or '()'}"

    def key(self, state: State) -> str:
        """The exact state."""
        return as_state(state).key

    def render(self, state: State) -> str:
        """What is true, an atom a line."""
        here = as_state(state)
        return "\n".join([*here.lines(), *([f"({here.note})"] if here.note else [])])

    def project(self, observation: Observation) -> PddlState:
        """The state as it was observed."""
        return as_state(observation.data)

    def admissible(self, state: State) -> None:
        """Calls are not listed, since there may be very many; one that does not apply is explained."""

    def declared_costs(self) -> Mapping[str, Resources]:
        """A step for each action; what else one uses depends on the state (:meth:`cost`)."""
        return dict.fromkeys(map(self.names.actions.__getitem__, self.task.schemas), Resources({"steps": 1}))

    def applicable(self, state: PddlState) -> Sequence[Action]:
        """The calls that apply."""
        calls = map(self.names.call, self.task.applicable(state))
        return [call for call in calls if self.step(state, call).state is not None]

    def cost(self, state: State, action: Action) -> Resources:
        """What the action adds to the numbers that are counted, and a step; to end the plan is none."""
        step = self.step(as_state(state), action)
        ended = step.state is not None and step.state.finished
        return Resources({"steps": int(not ended), **self.amounts(step.used)})

    def spelled_out(self, state: State, action: Action) -> str:
        """The action in PDDL."""
        del state
        try:
            return written(self.parse(action))
        except PddlError:
            return action

    # --- optional parts ---------------------------------------------------------------------------

    def outcome(self, state: State, action: Action) -> Prediction:
        """The exact state after an action."""
        return Prediction(self.step(as_state(state), action).state)

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """The action alone."""
        del state
        return [action]

    def is_end(self, state: State) -> bool:
        """Whether the goal is reached."""
        return self.task.reached(as_state(state))

    def satisfied(self, state: State) -> bool:
        """Whether the goal is reached."""
        return self.is_end(state)

    def plans(self, state: State, remaining: Mapping[str, int], count: int) -> Sequence[Sequence[Action]]:
        """The best plans within what remains, by a search through all states (:mod:`envs.pddl.search`).

        Raises:
            PddlError: There are more states than its bounds allow.
        """
        return cheapest_plans(self, as_state(state), remaining, count)
