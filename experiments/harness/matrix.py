"""The matrix of a study: which methods play which tasks with which models. Every study makes it here.

A configuration is named ``SETTING / MODEL / METHOD``: the report finds its way by these three parts alone, so it can be
rebuilt from a run directory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from experiments.harness.methods import Method
from tape.agents.base import Agent
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task, prompt_version
from tape.runner.configurations import Configuration
from tape.runner.play import open_at_price
from tape.runner.spec import RunSpec

SEPARATOR = " / "
PUBLISHED: Mapping[str, Any] = MappingProxyType({"execution": "constrained", "on_infeasible": "partial"})
"""What every published result was played with, where its method does not set it; the engine's own defaults depend on
the domain."""

T = TypeVar("T")


class Identified(NamedTuple):
    """What a configuration knows of its model.

    Attributes:
        identity: Name, checksum and listed price.
        prompt_format: Which prompts it reads.
    """

    identity: str
    prompt_format: str


@lru_cache(maxsize=64)
def identified(model: str, prices: Path | None = None) -> Identified:
    """A model's identity and prompt format; loads it once.

    Args:
        model: The model's string.
        prices: A price file of the user's own.

    Raises:
        UnknownNameError: There is no such model.
    """
    opened = open_at_price(model, prices=prices)
    return Identified(opened.identity, opened.prompt_format)


def unopened(model: str) -> Identified:
    """A stand-in for a dry run, which opens no model."""
    return Identified(model, "")


@dataclass(frozen=True)
class Options:
    """What the command line decides.

    Attributes:
        seeds: Episodes per task, each with its own derived seed.
        models: Models; an experiment has its own defaults.
        limit: Only the first tasks of every set.
        seed: The root of all seeds.
        identify: Gives a model's identity and prompt format.
        batch: Episodes that advance together; it shapes batches of LM requests, so it is part of what is played.
    """

    seeds: int
    models: tuple[str, ...]
    limit: int | None = None
    seed: int = 0
    identify: Callable[[str], Identified] = identified
    batch: int = 8

    def only(self, model: str) -> Options:
        """The same for one model."""
        return replace(self, models=(model,))


@dataclass(frozen=True)
class TaskSet:
    """Tasks of one environment.

    Attributes:
        name: First part of the configurations' names.
        environment: Its name.
        own: The environment's own options, without ``limit``.
        tasks: The tasks, already cut to ``options.limit``.
    """

    name: str
    environment: str
    own: Mapping[str, Any]
    tasks: Sequence[Task]


def configuration(method: Method, model: str, options: Options, tasks: TaskSet) -> Configuration:
    """One method with one model on some tasks.

    Args:
        method: The agent and its settings.
        model: The model's string.
        options: Seeds, and how a model is identified.
        tasks: The tasks.

    Raises:
        ConfigError: A setting of the method is wrong.
        UnknownNameError: There is no such environment or model.
    """
    known = options.identify(model)
    spec = RunSpec(
        environment=tasks.environment,
        options={**tasks.own, "limit": options.limit},
        agent=method.agent,
        config=TapeConfig.make(**{**PUBLISHED, **method.changes}),
        model=model,
        model_identity=known.identity,
        seed=options.seed,
        repeats=options.seeds,
        batch=options.batch,
        prompt_version=prompt_version(plugin_of(tasks.environment), known.prompt_format),
    )
    return Configuration(named(tasks.name, model, method.label), spec, tuple(tasks.tasks))


def named(setting: str, model: str, method: str) -> str:
    """A configuration's name."""
    return SEPARATOR.join([setting, short(model), method])


def short(model: str) -> str:
    """A model's name in tables."""
    return model.removeprefix("bundled:")


def split(name: str) -> tuple[str, str, str]:
    """Setting, model and method of a configuration's name."""
    setting, model, method = name.split(SEPARATOR, 2)
    return setting, model, method


def plugin_of(environment: str) -> EnvironmentPlugin:
    """The environment.

    Raises:
        UnknownNameError: There is none of that name.
    """
    plugin: EnvironmentPlugin = load("tape.environments", environment)
    return plugin


def agent_class(name: str) -> type[Agent]:
    """An agent's class.

    Raises:
        UnknownNameError: There is none of that name.
    """
    agent: type[Agent] = load("tape.agents", name)
    return agent


def own_options(
    environment: str, argv: Sequence[str] = (), defaults: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """An environment's own options as a command line gives them; what it does not know is passed over.

    Args:
        environment: Its name.
        argv: The command line.
        defaults: In the place of the environment's.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    plugin_of(environment).add_arguments(parser)
    parser.set_defaults(**defaults)
    return vars(parser.parse_known_args(argv)[0])


def tasks_of(environment: str, own: Mapping[str, Any]) -> tuple[Task, ...]:
    """The tasks that an environment's options name; made once.

    Raises:
        ConfigError: There is none.
        TapeError: The environment cannot be played here; says what is missing.
    """
    tasks = _tasks(environment, tuple(sorted(own.items())))
    if not tasks:
        raise ConfigError(f"{environment}: these options name no task")
    return tasks


@lru_cache(maxsize=64)
def _tasks(environment: str, own: tuple[tuple[str, Any], ...]) -> tuple[Task, ...]:
    return tuple(plugin_of(environment).tasks(dict(own)))


def spread(tasks: Sequence[T], count: int | None) -> tuple[T, ...]:
    """As many of the tasks, evenly from the whole, since sets are sorted by type; all of them where count is None."""
    if count is None or count >= len(tasks):
        return tuple(tasks)
    return tuple(tasks[i * len(tasks) // count] for i in range(count))


def most_calls(configuration: Configuration, task: Task) -> int | None:
    """An upper bound on the LM requests of one episode of a configuration; None if its agent knows none."""
    steps = configuration.spec.caps(task)["steps"]
    # A plan in the bundled models' grammar never has more moves than steps remain.
    bound = agent_class(configuration.spec.agent).most_lm_calls(configuration.spec.config, int(steps), int(steps))
    return None if bound is None else bound + plugin_of(configuration.spec.environment).reads * (int(steps) + 1)
