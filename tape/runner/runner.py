"""Runs the episodes of a run that are not committed yet, cohort by cohort."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.agents.base import Agent
from tape.errors import UnknownNameError
from tape.lm.base import LanguageModel
from tape.lm.batching import Cohort
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec, digest_of
from tape.runner.summary import write_summary
from tape.trace import Event, TraceWriter

Line = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One episode to run."""

    task: Task
    repeat: int
    key: str


@dataclass
class Watcher:
    """What a display is told; each is called in the runner's own thread.

    Attributes:
        started: A cohort begins: its jobs.
        event: An event of an episode: key and event.
        finished: A committed episode, how many are done, how many there are.
    """

    started: Callable[[Sequence[Job]], None] = lambda _: None
    event: Callable[[str, Event], None] = lambda _key, _event: None
    finished: Callable[[Line, int, int], None] = lambda _line, _done, _total: None


class Runner:
    """Runs, resumes and summarises one run directory.

    Args:
        spec: The run.
        directory: Where it is kept.
        model: The model, opened.
        watcher: A display.
    """

    def __init__(
        self, spec: RunSpec, directory: RunDirectory, model: LanguageModel, watcher: Watcher | None = None
    ) -> None:
        self._directory, self._model = directory, model
        self._watcher = watcher or Watcher()
        self._plugin: EnvironmentPlugin = load("tape.environments", spec.environment)
        agent_class: type[Agent] = load("tape.agents", spec.agent)
        self._agent = agent_class(model, spec.config)
        self.spec = spec.model_copy(update={"config": self._agent.config})  # as the agent resolves it

    def run(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Run what is missing and write the summary.

        Args:
            tasks: All tasks of the run.

        Returns:
            The summary's groups.

        Raises:
            RunDirectoryError: The directory holds another run, or another process is at work in it.
            KeyboardInterrupt: Passed on after the summary of what is committed is written; the
                cohort in flight is dropped and will be run again as a whole.
        """
        with self._directory.locked():
            return self._run(tasks)

    def _run(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        self.spec = self.spec.model_copy(update={"tasks_digest": digest_of(tasks)})
        self._directory.open(self.spec)
        jobs = [Job(t, r, self.spec.episode_key(t, r)) for t in tasks for r in range(self.spec.repeats)]
        committed = {line["key"] for line in self._directory.episodes()}
        done = sum(job.key in committed for job in jobs)
        try:
            # One event loop for all cohorts: an interrupt between two finds nothing half made.
            with asyncio.Runner() as loop:
                for first in range(0, len(jobs), self.spec.cohort):
                    cohort = jobs[first : first + self.spec.cohort]
                    if all(job.key in committed for job in cohort):
                        continue
                    self._watcher.started(cohort)
                    lines = loop.run(self._cohort(cohort))
                    fresh = [line for line in lines if line["key"] not in committed]
                    self._directory.append(fresh)
                    self._directory.drop_unfinished(job.key for job in cohort)
                    for line in fresh:
                        done += 1
                        self._watcher.finished(line, done, len(jobs))
        finally:
            groups = write_summary(self._directory, self.spec)
        return groups

    async def _cohort(self, jobs: Sequence[Job]) -> list[Line]:
        """Run a cohort in lock-step; its lines come back in order."""
        cohort = Cohort(self._model, len(jobs))
        tasks = [asyncio.create_task(self._episode(job, cohort, i)) for i, job in enumerate(jobs)]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _episode(self, job: Job, cohort: Cohort, index: int) -> Line:
        spec = self.spec
        env = self._plugin.make(job.task)
        simulator = self._plugin.simulator(env) if spec.config.world_model == "simulator" else None
        trace = TraceWriter(job.key, self._directory.unfinished_trace_file(job.key), self._watcher.event)
        try:
            result = await self._agent.arun(
                env,
                budget=spec.caps(job.task),
                seed=spec.episode_seed(job.task, job.repeat),
                trace=trace,
                simulator=simulator,
                model=cohort.member(index),
            )
        finally:
            trace.close()
            await cohort.leave()
        return {
            "key": job.key,
            "environment": spec.environment,
            "level_set": job.task.level_set,
            "task": job.task.id,
            "digest": job.task.digest,
            "repeat": job.repeat,
            "agent": spec.label(),
            "model": spec.model,
            "result": result.model_dump(mode="json"),
        }


def errored(groups: Sequence[Mapping[str, Any]]) -> int:
    """Episodes that ended by a fault of model, environment or solver."""
    faults = ("model_error", "env_error", "solver_error")
    return sum(group["end_states"].get(fault, 0) for group in groups for fault in faults)


def find_episode(directory: RunDirectory, name: str | None) -> Line:
    """An episode by key, task id, or number from 1; the first one by default.

    Raises:
        UnknownNameError: There is no such episode.
    """
    episodes = directory.episodes()
    if name is None and episodes:
        return episodes[0]
    for match in (lambda i, _: str(i), lambda _, line: line["key"], lambda _, line: line["task"]):
        for number, line in enumerate(episodes, 1):
            if match(number, line) == name:
                return line
    known = [f"{i} ({line['task']})" for i, line in enumerate(episodes, 1)]
    raise UnknownNameError("episode", str(name), known)
