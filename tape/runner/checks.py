"""What can be known to go wrong before a run begins, so that it fails at the start and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.agents.base import Agent
from tape.budget import Budget
from tape.engine.context import unplayed
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError, UnknownCostError
from tape.lm.base import LanguageModel
from tape.lm.price_table import missing_price
from tape.plugins import load
from tape.protocols import EnvironmentPlugin
from tape.runner.configurations import Configuration


def check_before(
    configurations: Sequence[Configuration], models: Mapping[str, LanguageModel], run_budget: Budget, workers: str
) -> None:
    """Check a run's budgets against its models and environments.

    Raises:
        UnknownCostError: US dollars are capped and a model has no price.
        MissingExtraError: What plays the environment is not installed.
        UnknownNameError: The environment has no prompts that a model reads.
        ConfigError: A cap cannot be kept, the environment lacks a part that the configuration needs, a model's prompts
            lack a role, or a context window is too small for a task.
    """
    if run_budget and workers.startswith("ray:"):
        from tape.runner.ray_pool import NO_BUDGET

        raise ConfigError(NO_BUDGET)
    if "wall_seconds" in run_budget:
        raise ConfigError("wall_seconds is a deadline of single episodes; cap it with --budget, not with --run-budget")
    for configuration in configurations:
        capped = "usd" in run_budget or any("usd" in configuration.spec.caps(task) for task in configuration.tasks)
        model = models.get(configuration.spec.model)
        if capped and model is not None and model.price is None:
            raise UnknownCostError(missing_price(configuration.spec.model))
        agent: type[Agent] = load("tape.agents", configuration.spec.agent)
        config = agent.resolve(configuration.spec.config)
        if configuration.tasks:
            _check_first(configuration, agent, config, model)
        if model is not None:
            plugin: EnvironmentPlugin = load("tape.environments", configuration.spec.environment)
            agent.require_context_budget(config, ((task.id, plugin.make(task)) for task in configuration.tasks), model)


def _check_first(
    configuration: Configuration, agent: type[Agent], config: TapeConfig, model: LanguageModel | None
) -> None:
    """Check agent, environment and model by the first task."""
    plugin: EnvironmentPlugin = load("tape.environments", configuration.spec.environment)
    plugin.require_installed()
    environment = plugin.make(configuration.tasks[0])
    agent.require(config, environment)
    if model is not None:
        agent.require_prompts(config, environment, unplayed(environment, model))
    if config.world_model == "simulator":
        plugin.simulator(environment)
    if config.world_model == "copy" and environment.copies is None:
        raise ConfigError(f"{plugin.name} has no state of which copies can be made; leave world_model at lm")
