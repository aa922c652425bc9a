"""What is declared of a world: rules in words, models of state and actions, step functions, goal and costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from pydantic import BaseModel

from tape.budget import Budget
from tape.world.actions import Actions, ActionType, Amount, signature
from tape.world.errors import WorldError
from tape.world.state import StateType

MODEL = "openai:gpt-4.1-mini"
"""The model that plays in ``tape run`` by default."""

F = TypeVar("F", bound=Callable[..., Any])


class Declarations:
    """What can be done in a world, what comes of that, and when it is solved: the base of :class:`tape.world.World`."""

    def __init__(
        self,
        name: str,
        *,
        rules: str,
        deterministic: bool,
        pure: bool = False,
        longest_plan: int = 20,
        model: str = MODEL,
    ) -> None:
        if not name:
            raise WorldError("a world needs a name, for tables and for `tape run NAME`")
        self.rules = inspect.cleandoc(rules).strip() if isinstance(rules, str) else ""
        if not self.rules:
            raise WorldError(f"{name}: rules are missing: they are all that a model knows of this world")
        if not isinstance(deterministic, bool):
            raise WorldError(f"{name}: deterministic is True or False, got {deterministic!r}")
        if pure not in (False, deterministic):
            raise WorldError(f"{name}: pure is True only where deterministic is, else False, got {pure!r}")
        if not isinstance(longest_plan, int) or longest_plan < 1:
            raise WorldError(f"{name}: longest_plan is a whole number from 1, got {longest_plan!r}")
        self.name, self.deterministic, self.longest_plan = name, deterministic, longest_plan
        self.pure, self.model = pure, model
        self._tasks: dict[str, tuple[BaseModel, str, Budget]] = {}
        self.observer: Callable[[Any], str] | None = None
        self.lost_check: Callable[[Any], bool] | None = None
        self._goal: Callable[[Any], bool] | None = None
        self._states: StateType | None = None
        self.actions = Actions([])

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
            amounts: What it costs at most, in units; None where it is unknown; or a function of state and action, which
                the agent may ask about states that it predicts. A step unless ``steps`` is among them.

        Raises:
            WorldError: The type hints or the models cannot be used; the message gives the reason.
            ConfigError: A resource is not declared.
        """
        if function is None:
            return lambda decorated: self._declared(decorated, destructive, amounts)
        if not callable(function):
            raise WorldError(f"{self.name}: amounts have names: @world.action(coins=2), got {function!r}")
        return self._declared(function, destructive, amounts)

    def _declared(self, function: F, destructive: bool, amounts: Mapping[str, Amount]) -> F:
        result = signature(function)
        name = getattr(function, "__name__", "a step")
        if result.draws and self.deterministic:
            raise WorldError(f"{name} draws at random, but the world is declared deterministic")
        if self._states is None:
            self._states = StateType(result.state)
        elif self._states.model is not result.state:
            raise WorldError(f"{name}: the state of this world is {self._states.name}, got {result.state.__name__}")
        if self.pure and (inspect.iscoroutinefunction(function) or self.states.hidden):
            raise WorldError(
                f"{name}: with pure=True a step does not wait, and its state hides no field; leave pure out"
            )
        known = set(self.actions.types)
        for model in result.actions:
            if model.__name__ in known:
                raise WorldError(f"{name}: there is an action {model.__name__} already; give each a name of its own")
            known.add(model.__name__)
        costs = {"steps": 1, **amounts}
        more = [ActionType(model, function, result.draws, costs, destructive) for model in result.actions]
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
