"""Cases of environments that bring none, made by playing them: what an action leads to, and whether a plan succeeds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tape.errors import TapeError, UnknownNameError
from tape.protocols import Action, Environment, EnvironmentPlugin, State, Task
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import JudgedAnswer, RoleCase, judged_by
from tape.seeds import derive

MOST_WALK = 4
"""Actions from the start to where a case is."""


def cases_of(
    plugin: EnvironmentPlugin, tasks: Sequence[Task], prompts: str, count: int, seed: int = 0
) -> dict[str, list[RoleCase]]:
    """Cases of every role, in the order of an episode; empty where none can be made.

    They are those that the environment brings (``role_cases`` of its plugin), where it has any in this prompt format.
    Elsewhere they are made by acting in its tasks, where these change nothing outside (``replayable``).

    Args:
        plugin: The environment.
        tasks: Its tasks; not asked for where the environment brings cases.
        prompts: The prompt format.
        count: Of each role.
        seed: Of the cases.
    """
    if plugin.roles:
        try:
            return {role: plugin.role_cases(prompts, role, count, seed) for role in plugin.roles}
        except UnknownNameError:
            pass  # not in this prompt format
    if not plugin.replayable or not tasks:
        return {}
    if plugin.make(tasks[0]).domain.search_task is not None:
        return {}  # search agents ask other roles than these
    made = {
        role: [case for number in range(count) if (case := make(plugin, tasks, prompts, number, seed)) is not None]
        for role, make in (("plan", _plan), ("next", _next))
    }
    return {role: cases for role, cases in made.items() if cases}


@dataclass(frozen=True)
class _Place:
    """Somewhere in a task."""

    env: Environment
    state: State
    again: Callable[[], Environment]


def _step(env: Environment, action: Action) -> State:
    observation, _ = env.step(action)
    return env.domain.project(observation)


def _place(plugin: EnvironmentPlugin, task: Task, rng: random.Random) -> _Place:
    """A state some random actions from the start, none of which ends the task."""
    env = plugin.make(task)
    state, taken = env.domain.project(env.reset(0)), list[Action]()
    for _ in range(rng.randrange(MOST_WALK)):
        if not (actions := _harmless(env, state)):
            break
        action = rng.choice(actions)
        after = _step(env, action)
        if env.success():
            env = _at(plugin, task, taken)
            break
        state, taken = after, [*taken, action]
    return _Place(env, state, lambda: _at(plugin, task, taken))


def _at(plugin: EnvironmentPlugin, task: Task, taken: Sequence[Action]) -> Environment:
    env = plugin.make(task)
    env.reset(0)
    for action in taken:
        _step(env, action)
    return env


def _harmless(env: Environment, state: State) -> list[Action]:
    domain = env.domain
    listed = domain.admissible(state) or ()
    return [name for name in listed if not domain.destructive(name)]


def _next(plugin: EnvironmentPlugin, tasks: Sequence[Task], prompts: str, number: int, seed: int) -> RoleCase | None:
    """What a random action leads to; None where outcomes are declared, drawn at random, or actions are open."""
    rng = random.Random(derive(seed, "probe", plugin.name, "next", number))
    task = tasks[number % len(tasks)]
    here = _place(plugin, task, rng)
    domain = here.env.domain
    if domain.outcomes is not None or not domain.deterministic or plugin.reads:
        return None
    if not (actions := _harmless(here.env, here.state)):
        return None
    action = rng.choice(actions)
    form = here.env.prompt_format(prompts)
    after = _step(here.again(), action)
    [before, truth] = (domain.key(domain.hooks.plain(state)) for state in (here.state, after))

    def right(state: State | None) -> bool | str:
        if state is None:
            return before == truth or "predicted to be impossible"
        key = domain.key(domain.hooks.plain(state))
        return key == truth or f"{key} instead of {truth}"

    judge = judged_by(lambda text: form.read_next(here.state, text), right)
    return RoleCase("next", f"{seed}-{number}", form.next_request(here.state, action), judge, "")


def _plan(plugin: EnvironmentPlugin, tasks: Sequence[Task], prompts: str, number: int, seed: int) -> RoleCase | None:
    """Whether a plan succeeds when it is played as it is; None where a model has to read what comes of its actions."""
    if plugin.reads or number >= len(tasks):
        return None  # from elsewhere than the start there may be no way to the goal
    task = tasks[number]
    form, start = _begun(plugin, task, prompts)

    def judge(text: str) -> JudgedAnswer:
        plan = form.read_plan(start, text)
        if not plan.valid or not plan.actions:
            return JudgedAnswer(False, False, "no plan")
        env = _at(plugin, task, ())
        shown = " ".join(plan.actions)[:160]
        for action in plan.actions[: task.budget.get("steps")]:
            domain = env.domain
            if domain.destructive(action):
                return JudgedAnswer(True, False, f"{shown}: not tried, it may destroy something")
            try:
                _step(env, action)
            except TapeError as error:
                return JudgedAnswer(True, False, f"{shown}: {error}"[:200])
            if env.success():
                return JudgedAnswer(True, True)
        return JudgedAnswer(True, False, shown)

    return RoleCase("plan", f"{seed}-{number}", form.plan_request(start, dict(task.budget)), judge, "")


def _begun(plugin: EnvironmentPlugin, task: Task, prompts: str) -> tuple[PromptFormat, State]:
    env = plugin.make(task)
    return env.prompt_format(prompts), env.domain.project(env.reset(0))
