"""A world of your own, declared in one object: rules in words, models of state and actions, step, goal and costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from tape.budget import Budget, BudgetLike
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.tools.results import jsonable
from tape.world.declarations import Declarations
from tape.world.domain import NOT_OF_ACTIONS, WorldDomain
from tape.world.environment import WorldEnvironment
from tape.world.errors import WorldError
from tape.world.prompts import VERSION, WorldFormat


class World(Declarations, EnvironmentPlugin):
    """A world: what can be done in it, what comes of that, and when it is solved.

    It makes environments that every agent plays, and is itself an :class:`tape.protocols.EnvironmentPlugin`, so that an
    entry point of the group ``tape.environments`` may name it. Agents get the rules, the models and the costs; what an
    action leads to they have to predict: the step functions are called by the environment alone.

    Args:
        name: As the command line and results call it.
        rules: The rules, in words, for a model to read.
        deterministic: Whether an action in a state always has the same outcome.
        pure: The step functions only compute the next state, so that they may be asked before an episode is paid for
            whether its budget reaches the goal. Nothing else of them reaches an agent.
        longest_plan: Actions of a sampled plan at most.
        model: The model that plays in ``tape run`` where ``--model`` names none: ``openai:gpt-4.1-mini`` where nothing
            is given here.

    Raises:
        WorldError: There are no rules, no name, or a number is out of range.

    Examples:
        >>> from pydantic import BaseModel
        >>> from tape import TapeAgent, World
        >>> from tape.world.scripted import ScriptedPlayer
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
        >>> result = TapeAgent(ScriptedPlayer(stairs)).run(stairs.environment(Stairs(), budget="3 steps"))
        >>> result.end_state, result.actions
        ('success', ['Climb()', 'Climb()'])
    """

    def environment(self, start: BaseModel, *, task: str = "", budget: BudgetLike = None) -> WorldEnvironment:
        """A task to play, for instance by ``TapeAgent(model).run(world.environment(start, budget=budget))``.

        Args:
            start: The state at the start.
            task: What is to be done, in words, where the rules do not say it.
            budget: Hard caps.

        Raises:
            WorldError: Something is not declared, the start is no state of the world or solved already, or the budget
                caps a resource in which no action declares what it costs.
        """
        caps = Budget.read(budget)
        declared = {name for item in self.actions.types.values() for name in item.amounts}
        self.states.write(start)
        if missing := sorted(set(caps) - declared - NOT_OF_ACTIONS):
            raise WorldError(
                f"{self.name}: the budget caps {missing[0]}, and no action declares what it costs in it: "
                f"@world.action({missing[0]}=...), 0 where it costs none"
            )
        return WorldEnvironment(self, start, task, caps)

    def add_task(self, name: str, start: BaseModel, *, task: str = "", budget: BudgetLike = None) -> None:
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
        result = []
        for name, (start, task, budget) in self._tasks.items():
            content = json.dumps([task, jsonable(dict(start))], sort_keys=True)
            facts = {"start": self.states.write(start), "task": task}
            digest = hashlib.sha256(content.encode()).hexdigest()[:16]
            result.append(Task(id=name, level_set=self.name, budget=budget, digest=digest, facts=facts))
        return result

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
        schemas += ["pure"] if self.pure else []
        schemas += [dict(item.schema) for item in self.actions.types.values()]
        return f"{VERSION}-{hashlib.sha256(json.dumps(schemas).encode()).hexdigest()[:12]}"
