"""Configurations: a run plays each on some tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tape.agents.base import Agent
from tape.errors import ConfigError
from tape.plugins import load
from tape.protocols import Task
from tape.runner.spec import RunSpec, digest_of

MOST_EPISODES = 1_000_000
"""Most episodes of one configuration; all are listed before the first is played."""


@dataclass(frozen=True)
class Job:
    """One episode to play.

    Attributes:
        task: The task.
        repeat: The number of the repeat, from 0.
        key: Hash of everything that determines the episode.
    """

    task: Task
    repeat: int
    key: str


@dataclass(frozen=True)
class Configuration:
    """One configuration on some tasks.

    Attributes:
        name: Unique in the run, not empty; shown in tables.
        spec: The configuration.
        tasks: The tasks, in order.

    Examples:
        >>> from tape import Budget, TapeConfig
        >>> from tape.protocols import Task
        >>> from tape.runner.configurations import Configuration
        >>> from tape.runner.spec import RunSpec
        >>> config = TapeConfig()
        >>> spec = RunSpec(environment="sokoban", agent="tape", config=config, model="m", model_identity="m", repeats=2)
        >>> tasks = tuple(Task(name, "easy", Budget.of(steps=12), digest=name) for name in ("one box", "two boxes"))
        >>> [(job.task.id, job.repeat) for job in Configuration("tape", spec, tasks).jobs()]
        [('one box', 0), ('one box', 1), ('two boxes', 0), ('two boxes', 1)]
    """

    name: str
    spec: RunSpec
    tasks: tuple[Task, ...]

    def resolved(self) -> Configuration:
        """The configuration with the settings that the agent resolves, and with the digest of its tasks.

        Raises:
            UnknownNameError: There is no such agent.
            ConfigError: A switch contradicts the agent.
        """
        agent: type[Agent] = load("tape.agents", self.spec.agent)
        changes = {"config": agent.resolve(self.spec.config), "tasks_digest": digest_of(self.tasks)}
        return replace(self, spec=self.spec.model_copy(update=changes))

    def jobs(self) -> list[Job]:
        """The episodes in order: all repeats of the first task, then of the second, and so on.

        Raises:
            ConfigError: Two tasks are the same, or there are more than :data:`MOST_EPISODES`.
        """
        spec = self.spec
        if len(self.tasks) * spec.repeats > MOST_EPISODES:
            raise ConfigError(
                f"configuration {self.name!r}: {spec.repeats} repeats of {len(self.tasks)} tasks are more than "
                f"{MOST_EPISODES} episodes; take fewer (--repeats, --limit), or make several runs"
            )
        jobs = [Job(task, r, spec.episode_key(task, r)) for task in self.tasks for r in range(spec.repeats)]
        seen: dict[str, Job] = {}
        for job in jobs:
            if seen.setdefault(job.key, job) is not job:
                raise ConfigError(
                    f"configuration {self.name!r} has the task {job.task.id!r} twice; give each task once"
                )
        return jobs


def checked(configurations: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The configurations, resolved, after a check that there is one and that each has a name of its own."""
    if not configurations:
        raise ConfigError("a run needs at least one configuration")
    names = Counter(configuration.name for configuration in configurations)
    wrong = [name for name, count in names.items() if not name.strip() or count > 1]
    if wrong:
        raise ConfigError(f"every configuration of a run needs a name of its own; empty or used twice: {wrong!r}")
    return tuple(configuration.resolved() for configuration in configurations)
