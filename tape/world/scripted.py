"""A scripted model that plays a world without a language model: to try declarations, in tests and demonstrations."""

from __future__ import annotations

import inspect
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action
from tape.world.declarations import Declarations
from tape.world.errors import InvalidActionError, WorldError

MOST_STATES = 10_000
"""States that are looked at for a plan."""


class ScriptedPlayer(ScriptedLM):
    """Answers every prompt of a world by the world's own functions, but for the errors that it is given.

    It knows what no model knows, so what it plays is never a result; its name begins with ``scripted``. It reads the
    prompts alone, so that it can stand behind an endpoint (:mod:`tape.testing.endpoint`) too.

    Asked for several plans, it writes the given ones in turn; asked for one, also from inside the plan graph, the
    first. It writes what is left of the plan where only that reaches the goal from the state in the prompt, and the
    whole plan where nothing of it does. Asked for the next action alone, as ReAct asks, it takes the first action of
    that.

    Args:
        world: The world.
        plans: The plans that it writes; by default one with the fewest actions (its cost does not matter), which it
            looks for where the actions can be listed.
        wrong: Action -> the fields of the state after it that it predicts wrongly, as JSON.

    Raises:
        WorldError: A step of the world is asynchronous.

    Examples:
        >>> from pydantic import BaseModel
        >>> from tape import ReactAgent, World
        >>> from tape.world.scripted import ScriptedPlayer
        >>> class Stairs(BaseModel):
        ...     floor: int = 0
        >>> class Climb(BaseModel):
        ...     "Climb to the next floor."
        >>> class Wait(BaseModel):
        ...     "Stay."
        >>> stairs = World("stairs", rules="Climb to floor 2.", deterministic=True)
        >>> @stairs.action
        ... def climb(here: Stairs, action: Climb) -> Stairs:
        ...     return Stairs(floor=here.floor + 1)
        >>> @stairs.action
        ... def wait(here: Stairs, action: Wait) -> Stairs:
        ...     return here
        >>> @stairs.goal
        ... def on_top(here: Stairs) -> bool:
        ...     return here.floor == 2
        >>> player = ScriptedPlayer(stairs, plans=[["Wait()", "Climb()", "Climb()"]])
        >>> ReactAgent(player).run(stairs.environment(Stairs(floor=1), budget="3 steps")).actions
        ['Climb()']
    """

    def __init__(
        self,
        world: Declarations,
        plans: Sequence[Sequence[Action]] = (),
        wrong: Mapping[Action, Mapping[str, Any]] | None = None,
    ) -> None:
        if any(inspect.iscoroutinefunction(item.function) for item in world.actions.types.values()):
            raise WorldError(f"{world.name}: a scripted player calls step functions itself, which must not be async")
        self._world, self._wrong = world, dict(wrong or {})
        self._plans = [[world.actions.canonical(action) for action in plan] for plan in plans]
        super().__init__(self._answer, identity=f"scripted:{world.name}")

    def _answer(self, request: Request, sample: int) -> str:
        asked = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
        state = re.search(r"^State: (.*)$", asked, re.MULTILINE)
        if state is None:
            raise WorldError(f"this is no prompt of a world: {asked[:200]!r}")
        _, _, question = asked.partition(state[0])
        answer = self._answered(state[1], question, sample)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, separators=(",", ":"))

    def _answered(self, state: str, question: str, sample: int) -> Any:
        if "Write a plan" in question:
            plan = [*self._plan(state, sample)] or [*(self._world.actions.all or ())][:1]
            return {"thought": "", "actions": [self._written(action) for action in plan]}
        if "Suppose that these actions" in question:
            actions = re.findall(r"^\d+\. (.*)$", question, re.MULTILINE)
            states = list(self._along(state, actions))
            return {"states": [*states, *([None] * (len(actions) - len(states)))]}
        if step := re.search(r"Suppose that the action (.*) is taken in this state\.", question):
            return {"state": self._predicted(state, step[1])}
        if step := re.search(r"Then the action (.*) was taken, and", question):
            return {"quote": "", "state": self._predicted(state, step[1])}
        if "Judge this state" in question:
            return "solved" if self._solved(state) else "possible"
        if "Which of these plans" in question:
            return "1"
        if amounts := re.search(r"Answer with one of these amounts: (.*)\.$", question):
            return amounts[1].split("; ")[-1]  # the worst case, which is what an action of a world costs
        if "Which of them is the same state" in question:
            return "none"  # the keys of a world hold all that counts
        if step := re.search(r"^The next action is (.*)\.$", question, re.MULTILINE):
            return {"thought": f"Now {step[1]}.", "action": step[1]}
        planned = [*self._plan(state, sample), next(iter(self._world.actions.all or [""]))]
        return {"thought": f"Next is {planned[0]}.", "action": self._written(planned[0])}

    def _written(self, action: Action) -> Any:
        """An action as models write it."""
        kind, made = self._world.actions.parse(action)
        return {"name": kind.name, "arguments": made.model_dump(mode="json", by_alias=True)}

    def _plan(self, state: str, sample: int) -> Sequence[Action]:
        """The plan whose turn it is; what is left of it where only that solves the task from here."""
        if not self._plans:
            return self._shortest(state)
        plan = self._plans[sample % len(self._plans)]
        rests = [plan, *(plan[done:] for done in reversed(range(len(plan))))]
        return next((rest for rest in rests if self._solves(state, rest)), plan)

    def _solves(self, state: str, actions: Sequence[Action]) -> bool:
        reached: str | None = state
        for action in actions:
            reached = None if reached is None else self._after(reached, action)
        return reached is not None and self._solved(reached)

    def _shortest(self, state: str) -> Sequence[Action]:
        """A plan with the fewest actions, breadth first; empty where none is found."""
        actions: dict[str, list[Action]] = {state: []}
        queue = [state]
        for here in queue:  # grows while it is read
            if self._solved(here):
                return actions[here]
            for action in self._world.actions.all or ():
                after = self._after(here, action)
                if after is not None and after not in actions and len(actions) < MOST_STATES:
                    actions[after] = [*actions[here], action]
                    queue.append(after)
        return []

    def _solved(self, state: str) -> bool:
        return bool(self._world.goal_check(self._world.states.read(state)))

    def _after(self, state: str, action: Action) -> str | None:
        """The outcome by the world's own function; None where it refuses the action."""
        kind, made = self._world.actions.parse(action)
        drawn = [random.Random(0)] if kind.draws else []
        try:
            after = kind.function(self._world.states.read(state), made, *drawn)
        except InvalidActionError:
            return None
        return self._world.states.write(after[0] if isinstance(after, tuple) else after)

    def _predicted(self, state: str, action: Action) -> Any:
        """The state after an action as a model writes it, without context; null where it is refused."""
        after = self._after(state, action)
        if after is None:
            return None
        states = self._world.states
        return json.loads(states.key(after)) | dict(self._wrong.get(action, {}))

    def _along(self, state: str, actions: Sequence[Action]) -> Iterator[Any]:
        """The states along a plan, up to the first null."""
        for action in actions:
            predicted = self._predicted(state, action)
            yield predicted
            if predicted is None:
                break
            state = self._world.states.write(
                self._world.states.read(json.dumps(json.loads(state) | predicted, ensure_ascii=False))
            )
