"""``tape run --auto-roles``: roles that a model is no good at go to what the environment declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.agents.base import Agent
from tape.agents.tape import TapeAgent
from tape.analysis.probe.measuring import ProbeLimits
from tape.analysis.probe.probing import ProbeWanted, Probing
from tape.analysis.probe.record import ProbeError
from tape.analysis.probe.report import option
from tape.budget import Budget
from tape.cli.probe import CASES, USD, dollars, measured
from tape.engine.settings import TapeConfig
from tape.engine.verification import verifying_method
from tape.interrupts import cleaning_up
from tape.lm.base import LanguageModel
from tape.plugins import load
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory

SECONDS = 300.0
"""What is measured takes so long at most; the roles alone, no episode."""


def auto_roles(
    configuration: Configuration,
    model: LanguageModel,
    tasks: Sequence[Task],
    given: frozenset[str],
    directory: RunDirectory,
    run_budget: Budget,
) -> Configuration:
    """A configuration with the settings that fit its model, as measured before or now.

    A run that has begun goes on with the roles that it began with.

    Args:
        configuration: The configuration without them.
        model: Its model, opened.
        tasks: All that its options give, however few of them the run plays: cases are made from those, as by the probe.
        given: The switches that the command line sets, which are left alone.
        directory: Of the run.
        run_budget: Its caps; measuring keeps the one on money.

    Raises:
        ProbeError: The agent has no such roles, or the model cannot be probed here.
        UnknownCostError: The model's price is unknown; what is measured has a cap on money.
    """
    spec = configuration.spec
    agent: type[Agent] = load("tape.agents", spec.agent)
    if not issubclass(agent, TapeAgent) or verifying_method(spec.config) is not None:
        verified = verifying_method(spec.config) is not None
        what = "under verification the verifier decides" if verified else f"the agent is {spec.agent!r}"
        raise ProbeError(f"--auto-roles is for the roles of the plan graph, and {what}; leave it out, or take 'tape'")
    if directory.config_file.exists():
        held = next(iter(directory.configurations().values()))
        settings = {name: getattr(held.config, name) for name in held.auto_roles}
        return _with(configuration, settings, held.auto_roles)
    caps = [cap for cap in (dollars(USD), run_budget.get("usd")) if cap is not None]
    limits = ProbeLimits(CASES, SECONDS, min(caps), spec.config.num_plans)
    wanted = ProbeWanted(
        model,
        spec.model,
        load("tape.environments", spec.environment),
        spec.environment,
        tasks,
        limits,
        episode=False,
        agent=spec.agent,
        config=spec.config,
        given=given,
    )
    probing = Probing(wanted)
    if not probing.enough:
        with cleaning_up(lambda: "what is measured is kept; the same command goes on"):
            measured(probing)
    advice = probing.advice()
    n, command = probing.probe.measured, f"tape probe {spec.model} {spec.environment}"
    lines = [f"auto-roles, by {n} cases of {probing.probe.date} ({command} shows them):"]
    lines += [f"  {option(name)} {value}: {advice.reasons[name]}" for name, value in advice.settings.items()]
    lines += [] if advice.settings else ["  the model keeps all roles"]
    lines += [f"  note: {note}" for note in advice.notes]
    print("\n".join(lines), flush=True)
    return _with(configuration, advice.settings, advice.reasons)


def _with(configuration: Configuration, settings: Mapping[str, str], reasons: Mapping[str, str]) -> Configuration:
    config = TapeConfig.make(**{**configuration.spec.config.model_dump(), **settings})
    spec = configuration.spec.model_copy(update={"config": config, "auto_roles": dict(reasons)})
    return replace(configuration, name=spec.label(), spec=spec)
