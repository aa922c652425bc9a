"""A world of your own, declared in one object: rules in words, models of state and actions, step, goal and costs."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from pydantic import BaseModel

from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.tools.results import jsonable
from tape.world.actions import Actions, ActionType, Amount, signature
from tape.world.domain import NOT_OF_ACTIONS, WorldDomain
from tape.world.environment import WorldEnvironment
from tape.world.errors import WorldError
from tape.world.prompts import VERSION, WorldFormat
from tape.world.state import StateType

F = TypeVar("F", bound=Callable[..., Any])

MODEL = "openai:gpt-4.1-mini"
"""The model that plays by default."""


class World(EnvironmentPlugin):
    """A world: what can be done in it, what comes of that, and when it is solved.

    It makes environments that every agent plays, and is itself an :class:`tape.protocols.EnvironmentPlugin`, so that an
    entry point of the group ``tape.environments`` may name it. Agents get the rules, the models and the costs; what an
    action leads to they have to predict: the step functions are called by the environment alone.

    Args:
        name: As the command line and results call it.
        rules: The rules, in words, for a model to read.
        deterministic: Whether an action in a state always has the same outcome.
        longest_plan: Actions of a sampled plan at most.
        model: The model that plays by default.

    Raises:
        WorldError: There are no rules, no name, or a number is out of range.
    """

    def __init__(
        self, name: str, *, rules: str, deterministic: bool, longest_plan: int = 20, model: str = MODEL
    ) -> None:
        if not name:
            raise WorldError("a world needs a name, for tables and for `tape run NAME`")
        self.rules = inspect.cleandoc(rules).strip() if isinstance(rules, str) else ""
        if not self.rules:
            raise WorldError(f"{name}: rules are missing: a model knows of this world what they say and nothing else")
        if not isinstance(deterministic, bool):
            raise WorldError(f"{name}: deterministic is True or False, got {deterministic!r}")
        if not isinstance(longest_plan, int) or longest_plan < 1:
            raise WorldError(f"{name}: longest_plan is a whole number from 1, got {longest_plan!r}")
        self.name, self.deterministic, self.longest_plan, self.model = name, deterministic, longest_plan, model
        self.observer: Callable[[Any], str] | None = None
        self.lost_check: Callable[[Any], bool] | None = None
        self._goal: Callable[[Any], bool] | None = None
        self._states: StateType | None = None
        self.actions = Actions([])
        self._tasks: dict[str, tuple[BaseModel, str, Budget]] = {}

    @overload
    def action(self, function: F, /) -> F: ...

    @overload
    def action(self, /, *, destructive: bool = False, **amounts: Amount) -> Callable[[F], F]: ...

    def action(self, function: Any = None, /, *, destructive: bool = False, **amounts: Amount) -> Any:
        """Declare what comes of an action: ``@world.action(coins=2)`` over ``def walk(state: S, action: Walk) -> S``.

        The type hints name the state model and the action model; a union of action models declares all of them. The
        function returns the next state, or ``(state, {"coins": 1})`` where less than declared was used, and raises
        :class:`InvalidActionError` where the action cannot be taken. A third parameter of the type ``random.Random``
        gets a seeded generator. The function may be asynchronous.

        Args:
            function: The function, where nothing else is declared.
            destructive: The action may do what cannot be undone.
            amounts: What it costs at most, in units; None where nobody knows; or a function of state and action, which
                the agent may ask about states that it predicts. A step unless ``steps`` is among them.

        Raises:
            WorldError: The type hints or the models cannot be used; says why.
            ConfigError: A resource is not declared.
        """
        if function is None:
            return lambda decorated: self._declared(decorated, destructive, amounts)
        if not callable(function):
            raise WorldError(f"{self.name}: amounts have names: @world.action(coins=2), got {function!r}")
        return self._declared(function, destructive, amounts)

    def _declared(self, function: F, destructive: bool, amounts: Mapping[str, Amount]) -> F:
        found = signature(function)
        name = getattr(function, "__name__", "a step")
        if found.draws and self.deterministic:
            raise WorldError(f"{name} draws at random, but the world is declared deterministic")
        if self._states is None:
            self._states = StateType(found.state)
        elif self._states.model is not found.state:
            raise WorldError(f"{name}: the state of this world is {self._states.name}, got {found.state.__name__}")
        known = set(self.actions.types)
        for model in found.actions:
            if model.__name__ in known:
                raise WorldError(f"{name}: there is an action {model.__name__} already; give each a name of its own")
            known.add(model.__name__)
        costs = {"steps": 1, **amounts}
        more = [ActionType(model, function, found.draws, costs, destructive) for model in found.actions]
        self.actions = Actions([*self.actions.types.values(), *more])
        return function

    def goal(self, function: F) -> F:
        """Declare the goal check: from a state to whether the goal is reached. It alone decides success."""
        self._goal = function
        return function

    def lost(self, function: F) -> F:
        """Declare when an episode is over without success: from a state to whether nothing can be done any more."""
        self.lost_check = function
        return function

    def observe(self, function: F) -> F:
        """Declare what is seen after an action: from the state to a text.

        Without it the state itself is seen, but for its hidden fields. With it only the start is known; after each
        action the model reads the text and writes the state as it must be now.
        """
        self.observer = function
        return function

    @property
    def states(self) -> StateType:
        """The states."""
        if self._states is None:
            raise WorldError(f"{self.name}: no action is declared: put @world.action() over a step function")
        return self._states

    @property
    def goal_check(self) -> Callable[[Any], bool]:
        """The goal check."""
        if self._goal is None:
            raise WorldError(f"{self.name}: no goal is declared: put @world.goal over a function of the state")
        return self._goal

    @property
    def reads(self) -> bool:
        """Whether a model has to read what is observed."""
        return self.observer is not None

    def environment(self, start: BaseModel, *, task: str = "", budget: Budget | None = None) -> WorldEnvironment:
        """A task to play, for instance by ``TapeAgent(model).run(world.environment(start, budget=budget))``.

        Args:
            start: The state at the start.
            task: What is to be done, in words, where the rules do not say it.
            budget: Hard caps.

        Raises:
            WorldError: Something is not declared, the start is no state of the world or solved already, or the budget
                caps a resource in which no action declares what it costs.
        """
        if budget is not None and not isinstance(budget, Budget):
            raise WorldError(f"{self.name}: budget is {budget!r}; write Budget.of(steps=5, coins=2)")
        caps = budget or Budget()
        declared = {name for item in self.actions.types.values() for name in item.amounts}
        self.states.write(start)
        if missing := sorted(set(caps) - declared - NOT_OF_ACTIONS):
            raise WorldError(
                f"{self.name}: the budget caps {missing[0]}, and no action declares what it costs in it: "
                f"@world.action({missing[0]}=...), 0 where it costs none"
            )
        return WorldEnvironment(self, start, task, caps)

    def add_task(self, name: str, start: BaseModel, *, task: str = "", budget: Budget | None = None) -> None:
        """Add a task for ``tape run`` and for :meth:`tasks`.

        Args:
            name: Unique in this world.
            start: The state at the start.
            task: What is to be done, in words, where the rules do not say it.
            budget: The task's hard caps.

        Raises:
            WorldError: The name is taken; or what :meth:`environment` raises.
        """
        if name in self._tasks:
            raise WorldError(f"{self.name}: there is a task {name!r} already")
        environment = self.environment(start, task=task, budget=budget)
        self._tasks[name] = (environment.state, task, environment.budget)

    def tasks(self, options: Mapping[str, Any] | None = None) -> list[Task]:
        """All tasks, in the order in which they were added.

        Args:
            options: None are known.

        Raises:
            WorldError: There is none.
        """
        del options
        if not self._tasks:
            raise WorldError(f"{self.name} has no tasks: world.add_task(NAME, START, budget=...)")
        found = []
        for name, (start, task, budget) in self._tasks.items():
            content = json.dumps([task, jsonable(dict(start))], sort_keys=True)
            facts = {"start": self.states.write(start), "task": task}
            digest = hashlib.sha256(content.encode()).hexdigest()[:16]
            found.append(Task(id=name, level_set=self.name, budget=budget, digest=digest, facts=facts))
        return found

    def make(self, task: Task) -> Environment:
        """A fresh environment of a task; the runner passes the task's budget.

        Raises:
            WorldError: There is no such task.
        """
        if task.id not in self._tasks:
            raise WorldError(f"{self.name} has no task {task.id!r}; it has {', '.join(self._tasks) or 'none'}")
        start, words, _ = self._tasks[task.id]
        return self.environment(start, task=words)

    @property
    def prompt_version(self) -> str:
        """Changes whenever rules, models or prompts do."""
        domain = WorldDomain(self.states, self.actions, deterministic=self.deterministic)
        written = WorldFormat(domain, self.rules, self.longest_plan)
        schemas = [written.system, self.states.predicted.model_json_schema(), self.longest_plan, self.deterministic]
        schemas += [dict(item.schema) for item in self.actions.types.values()]
        return f"{VERSION}-{hashlib.sha256(json.dumps(schemas).encode()).hexdigest()[:12]}"
