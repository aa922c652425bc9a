"""One task of a world, played: the real state, the real step, the real goal check."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from tape.budget import Budget, Resources
from tape.budget.deadline import blocking
from tape.protocols import Action, Environment, Observation, State
from tape.protocols.parts import ExactRules
from tape.protocols.prompt_format import PromptFormat, pick
from tape.seeds import derive
from tape.tools.results import LONGEST_NOTE, LONGEST_TEXT, cut
from tape.waiting import run_sync
from tape.world.actions import ActionType
from tape.world.declarations import Declarations
from tape.world.domain import STEP, WorldDomain
from tape.world.errors import InvalidActionError, WorldError
from tape.world.prompts import WorldFormat
from tape.world.state import WorldState, as_state


class WorldEnvironment(Environment):
    """One task; made by :meth:`tape.world.World.environment`.

    Args:
        world: What it is a task of.
        start: The state at the start.
        task: What is to be done, in words.
        budget: Hard caps.

    Raises:
        WorldError: The start is no state of the world, or reached already; or the budget caps what no action declares.

    Examples:
        >>> from pydantic import BaseModel
        >>> from tape.world import World
        >>> class Stairs(BaseModel):
        ...     floor: int = 0
        >>> class Climb(BaseModel):
        ...     "Climb to the next floor."
        >>> stairs = World("stairs", rules="Climb to floor 2.", deterministic=True)
        >>> @stairs.action
        ... def climb(here: Stairs, action: Climb) -> Stairs:
        ...     return Stairs(floor=here.floor + 1)
        >>> @stairs.goal
        ... def on_top(here: Stairs) -> bool:
        ...     return here.floor == 2
        >>> env = stairs.environment(Stairs())
        >>> observation, used = env.step("Climb()")
        >>> env.state, dict(used), env.success()
        (Stairs(floor=1), {'steps': 1}, False)
    """

    domain: WorldDomain
    records = True

    def __init__(self, world: Declarations, start: BaseModel, task: str, budget: Budget) -> None:
        self.world, self.budget = world, budget
        self.domain = WorldDomain(
            world.states,
            world.actions,
            deterministic=world.deterministic,
            task=task,
            reads=world.reads,
            rules=PureRules(world) if world.pure else None,
        )
        self.domain.longest_plan = world.longest_plan
        self._start = start.model_copy(deep=True)
        self._known = WorldState(world.states.write(start))
        self._state, self._seed, self._taken = start, 0, 0
        self._outcome: Mapping[str, Any] = {}
        self._recorded: Mapping[str, Any] | None = None
        self.reset(0)
        if self.success():
            raise WorldError(f"the goal is reached at the start already: {start!r}")

    @property
    def state(self) -> BaseModel:
        """A copy of the real state, hidden fields included; for people, not for agents."""
        return self._state.model_copy(deep=True)

    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this task, for general models alone, in the format ``chat``."""
        function = pick({"chat": WorldFormat}, name, f"the world {self.world.name}", "Use a general model.")
        return function(self.domain, self.world.rules, self.world.longest_plan)

    def reset(self, seed: int) -> Observation:
        """Start again. What steps draw depends on the seed and on how many were taken before."""
        self._state, self._seed, self._taken = self._start.model_copy(deep=True), seed, 0
        self._known = WorldState(self.world.states.write(self._state))
        return self._observed()

    def _observed(self) -> Observation:
        return Observation(self._known.seen or self.domain.render(self._known), self._known)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; see :meth:`astep`."""
        return run_sync(self.astep(action))

    def outcome(self) -> Mapping[str, Any]:
        """The state after the last action and what it used, or why it was refused."""
        return self._outcome

    async def restore(self, action: Action, outcome: Mapping[str, Any]) -> tuple[Observation, Resources]:
        """Take an action as taken."""
        if outcome.get("lost"):
            raise WorldError(f"the state after {action} is unknown, so it cannot be assumed as done; resume with retry")
        self._recorded = outcome
        try:
            return await self.astep(action)
        finally:
            self._recorded = None

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Take an action. One that is refused changes nothing, costs its steps alone and is explained."""
        self._taken += 1
        worst = STEP
        try:
            kind, made = self.world.actions.parse(action)
            worst = kind.cost(self._state, made)
            after, used = await self._stepped(kind, made, worst)
        except InvalidActionError as error:
            self._outcome = {"refused": str(error)}
            self._known = WorldState(self._known.text, note=cut(f"refused: {error}", LONGEST_NOTE))
            return self._observed(), Resources({"steps": worst["steps"]})
        text = self.world.states.write(after)
        self._state = after
        self._outcome = {"state": after.model_dump_json(), "used": dict(used)}
        if self.world.observer is None:
            self._known = WorldState(text)
        else:
            seen = self._result_of(self.world.observer, str)
            self._known = WorldState(self._known.text, seen=cut(seen, LONGEST_TEXT) or "nothing", action=action)
        return self._observed(), used

    async def _stepped(self, kind: ActionType, made: BaseModel, worst: Resources) -> tuple[BaseModel, Resources]:
        """The state after an action and what it used, taken anew or as recorded."""
        known = self._recorded
        if known is None:
            after = await self._called(kind, made)
            return self._used(kind, after) if isinstance(after, tuple) else (after, worst)
        if "refused" in known:
            raise InvalidActionError(known["refused"])
        return self.world.states.model.model_validate_json(known["state"]), Resources(known["used"])

    async def _called(self, kind: ActionType, made: BaseModel) -> Any:
        """The function's own answer; it gets a copy of the state, which it may change."""
        given: list[Any] = [self._state.model_copy(deep=True), made]
        if kind.draws:
            given.append(random.Random(derive(self._seed, "step", self._taken)))
        if inspect.iscoroutinefunction(kind.function):
            return await kind.function(*given)
        return await blocking(partial(kind.function, *given), f"action {kind.name}")

    def _used(self, kind: ActionType, answer: tuple[Any, ...]) -> tuple[Any, Resources]:
        """The state and what was used, of a function that returns both."""
        if len(answer) != 2 or not isinstance(answer[1], Mapping):
            raise WorldError(f"{kind.name}: a step returns a state, or (state, amounts used), got {answer!r}")
        if undeclared := sorted(answer[1].keys() - kind.amounts.keys()):
            raise WorldError(
                f"{kind.name} used {undeclared[0]}, which it does not declare: @world.action({undeclared[0]}=AT_MOST)"
            )
        return answer[0], Resources.of(**{"steps": 1, **answer[1]})

    def _result_of(self, function: Any, kind: type) -> Any:
        """The result of a function of the world on the real state."""
        result = function(self._state.model_copy(deep=True))
        if not isinstance(result, kind):
            name = getattr(function, "__name__", "a function")
            raise WorldError(f"{name} returns a {kind.__name__}, got {result!r}")
        return result

    def projected(self, state: State) -> None:
        """Take over what a model has read in what was seen last; the next observation begins from there."""
        self._known = as_state(state)

    def success(self) -> bool:
        """The goal check, of the real state."""
        return bool(self._result_of(self.world.goal_check, bool))

    def ended(self) -> bool:
        """Whether all is lost, by the check that the world has for it."""
        return self.world.lost_check is not None and bool(self._result_of(self.world.lost_check, bool))


class PureRules(ExactRules):
    """The rules of a world with ``pure=True``."""

    def __init__(self, world: Declarations) -> None:
        self._world = world

    def after(self, state: State, action: Action) -> WorldState | None:
        """What the step function returns."""
        world = self._world
        here, (kind, made) = world.states.read(as_state(state).text), world.actions.parse(action)
        if world.lost_check is not None and world.lost_check(here):
            return None
        try:
            function = kind.function(here, made)
        except InvalidActionError:
            return None
        if isinstance(function, tuple):
            raise WorldError(f"{kind.name} returns what it used; with pure=True it returns the next state alone")
        return WorldState(world.states.write(function))

    def reached(self, state: State) -> bool:
        """The world's own goal check."""
        return bool(self._world.goal_check(self._world.states.read(as_state(state).text)))
