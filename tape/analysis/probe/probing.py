"""One probe from beginning to end: what is in the cache, what is still to be measured, an episode, advice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from tape.analysis.probe.advice import FEWEST, Advice, advise
from tape.analysis.probe.measuring import EPISODE_SHARE, ProbeLimits, Prober
from tape.analysis.probe.own import cases_of
from tape.analysis.probe.record import Probe, ProbeError, fingerprint, keep, kept
from tape.engine.settings import TapeConfig
from tape.errors import UnknownCostError
from tape.lm.base import LanguageModel
from tape.lm.price_table import missing_price
from tape.lm.registry import open_model
from tape.protocols import EnvironmentPlugin, Task
from tape.protocols.role_cases import RoleCase
from tape.waiting import one_loop

Noted = Callable[[Probe], None]


@dataclass(frozen=True)
class ProbeWanted:
    """What is to be probed.

    Attributes:
        model: The model, opened.
        name: The model's string.
        plugin: The environment.
        environment: Its name.
        tasks: Its tasks.
        limits: How much is measured at most.
        seed: Of the cases.
        episode: Whether an episode of the first task is played, with the settings that fit.
        agent: Who plays it.
        config: The agent's switches otherwise.
        given: Those of them that were set explicitly, which are left alone.
        cached: Whether what was measured before counts, and is kept.
    """

    model: LanguageModel
    name: str
    plugin: EnvironmentPlugin
    environment: str
    tasks: Sequence[Task]
    limits: ProbeLimits = field(default_factory=ProbeLimits)
    seed: int = 0
    episode: bool = True
    agent: str = "tape"
    config: TapeConfig = field(default_factory=TapeConfig)
    given: frozenset[str] = frozenset()
    cached: bool = True


class Probing:
    """Probes a model in an environment. What is measured is kept as it comes in, so an interrupt loses next to nothing.

    Args:
        wanted: What is to be probed.
        fresh: Forget what was measured before.

    Raises:
        ProbeError: The environment has no cases in the model's prompt format.
        UnknownCostError: Money is capped and the model's price is unknown.
    """

    def __init__(self, wanted: ProbeWanted, *, fresh: bool = False) -> None:
        model = wanted.model
        if wanted.limits.usd is not None and model.price is None:
            raise UnknownCostError(missing_price(wanted.name))
        if not wanted.tasks:
            raise ProbeError(f"{wanted.environment} has no tasks with these options; nothing can be probed in it")
        self.wanted = wanted
        self._cases = self._made()
        before = None if fresh or not wanted.cached else kept(model.identity, wanted.environment, wanted.seed)
        self.probe = before or Probe(
            environment=wanted.environment,
            model=wanted.name,
            identity=model.identity,
            prompts=model.prompt_format,
            seed=wanted.seed,
            date=f"{date.today():%Y-%m-%d}",
            usd=None if model.price is None else 0,
        )
        self.probe.model, self.probe.prompts = wanted.name, model.prompt_format
        self.before = self._answered()
        """Cases that were answered before."""

    def _made(self) -> dict[str, list[RoleCase]]:
        wanted = self.wanted
        count = wanted.limits.cases
        cases = cases_of(wanted.plugin, wanted.tasks, wanted.model.prompt_format, count, wanted.seed)
        if not cases:
            raise ProbeError(
                f"{wanted.environment} has no cases with known answers in the prompt format "
                f"{wanted.model.prompt_format!r}, and none can be made by playing it: it is not declared `replayable`, "
                "a model has to read what comes of actions, or it is for search agents; see docs/reference/probe.md"
            )
        return cases

    def _answered(self) -> int:
        known = {answer.request for record in self.probe.roles.values() for answer in record.answers}
        identity = self.wanted.model.identity
        return sum(fingerprint(case, identity) in known for cases in self._cases.values() for case in cases)

    def share(self, parts: int) -> None:
        """Take one of so many equal parts of the time and the money, before anything is measured."""
        limits = self.wanted.limits
        usd = None if limits.usd is None else limits.usd // parts
        self.wanted = replace(self.wanted, limits=replace(limits, seconds=limits.seconds / parts, usd=usd))

    @property
    def total(self) -> int:
        """Cases that are to be answered in all."""
        return sum(map(len, self._cases.values()))

    @property
    def enough(self) -> bool:
        """Whether every role can be judged by what was measured before."""
        identity = self.wanted.model.identity
        for role, cases in self._cases.items():
            record = self.probe.roles.get(role)
            asked = {fingerprint(case, identity) for case in cases}
            held = 0 if record is None else sum(answer.request in asked for answer in record.answers)
            if held < min(FEWEST, len(cases)):
                return False
        return True

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to measure."""
        played = self.probe.episode is not None or not self.wanted.episode
        return self._answered() == self.total and played

    def run(self, noted: Noted = lambda _: None) -> None:
        """Measure what is missing.

        Args:
            noted: Called with the probe whenever there is more in it.

        Raises:
            ProbeError: The model answers in no role, or the cache cannot be written.
        """
        wanted = self.wanted

        def more() -> None:
            if wanted.cached:
                keep(self.probe)
            noted(self.probe)

        prober = Prober(wanted.model, self.probe, wanted.limits, more)
        with one_loop() as run_here:
            try:
                run_here(prober.ask(self._cases, share=1 - EPISODE_SHARE * wanted.episode))
                if wanted.episode and not prober.spent:
                    settings = self.advice().settings
                    run_here(prober.episode(wanted.plugin, wanted.tasks[0], wanted.agent, settings))
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None  # only an interrupt cancels; see tape.runner.workers

    def advice(self) -> Advice:
        """The settings that fit what was measured."""
        wanted = self.wanted
        return advise(self.probe, wanted.plugin, wanted.tasks[0], wanted.config, wanted.given, wanted.agent)


def probe(
    model: LanguageModel | str,
    plugin: EnvironmentPlugin,
    tasks: Sequence[Task] | None = None,
    *,
    cases: int = 24,
    minutes: float = 10.0,
    usd: int | None = 500_000,
    seed: int = 0,
    episode: bool = True,
) -> tuple[Probe, Advice]:
    """Measure what a model can do in an environment, for instance in a world of your own; nothing is cached.

    Args:
        model: A model or its name.
        plugin: The environment. One that brings no cases is acted in where it is declared ``replayable``.
        tasks: Its tasks; by default those without options.
        cases: Of each role, at most.
        minutes: In all, at most.
        usd: In millionths of a US dollar, at most; None: no cap.
        seed: Of the cases.
        episode: Whether an episode of the first task is played.

    Returns:
        What was measured, and the settings that fit (:func:`tape.analysis.probe.report.report` prints both).

    Raises:
        ProbeError: There are no cases, or the model answers in no role.
        UnknownCostError: Money is capped and the model's price is unknown.
    """
    opened = open_model(model) if isinstance(model, str) else model
    result = list(plugin.tasks({})) if tasks is None else list(tasks)
    limits = ProbeLimits(cases, 60 * minutes, usd)
    wanted = ProbeWanted(opened, opened.name, plugin, plugin.name, result, limits, seed, episode, cached=False)
    probing = Probing(wanted)
    probing.run()
    return probing.probe, probing.advice()
