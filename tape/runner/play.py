"""Plays one cohort; the same code in this process, in a worker process and on another machine."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

from tape.agents.base import Agent
from tape.lm.base import LanguageModel
from tape.lm.batching import Cohort
from tape.plugins import load
from tape.protocols import EnvironmentPlugin
from tape.runner.cells import Job
from tape.runner.work import Played, Work
from tape.trace import Event, TraceWriter

Listener = Callable[[str, Event], None]


class TextTrace(TraceWriter):
    """A trace that is kept as text until its cohort is committed.

    Args:
        episode: The episode's key.
        listener: Called with every event.
    """

    _file: Any

    def __init__(self, episode: str, listener: Listener | None = None) -> None:
        super().__init__(episode, None, listener)
        self._file = io.StringIO()

    def text(self) -> str:
        """What a trace file would hold."""
        return str(self._file.getvalue())


async def play(work: Work, model: LanguageModel, listener: Listener | None = None) -> list[Played]:
    """Play a cohort in lock-step.

    Args:
        work: The cohort.
        model: The model of its configuration, opened.
        listener: Is told every event.

    Returns:
        The episodes, in the order of the jobs.
    """
    plugin: EnvironmentPlugin = load("tape.environments", work.spec.environment)
    agent_class: type[Agent] = load("tape.agents", work.spec.agent)
    agent = agent_class(model, work.spec.config)
    cohort = Cohort(model, len(work.jobs))
    tasks = [
        asyncio.create_task(_episode(work, job, plugin, agent, cohort, i, listener)) for i, job in enumerate(work.jobs)
    ]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


async def _episode(
    work: Work,
    job: Job,
    plugin: EnvironmentPlugin,
    agent: Agent,
    cohort: Cohort,
    index: int,
    listener: Listener | None,
) -> Played:
    spec = work.spec
    try:
        env = plugin.make(job.task)
        trace = TextTrace(job.key, listener)
        result = await agent.arun(
            env,
            budget=spec.caps(job.task),
            seed=spec.episode_seed(job.task, job.repeat),
            trace=trace,
            simulator=plugin.simulator(env) if spec.config.world_model == "simulator" else None,
            model=cohort.member(index),
        )
    finally:
        await cohort.leave()
    line = {
        "key": job.key,
        "cell": work.cell,
        "environment": spec.environment,
        "level_set": job.task.level_set,
        "task": job.task.id,
        "digest": job.task.digest,
        "repeat": job.repeat,
        "agent": spec.label(),
        "model": spec.model,
        "result": result.model_dump(mode="json"),
    }
    return Played(line, trace.text())
