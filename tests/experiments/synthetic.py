"""Run directories with made-up episodes, so that reports are tested without any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, split, unopened
from experiments.harness.measured import Measured
from experiments.studies.tape.catalogue import find
from tape.protocols.result import EpisodeResult
from tape.runner.configurations import Configuration, Job, checked
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory

Solves = Callable[[str, int, int], bool]
"""Method, number of the level and repeat -> success."""


def options(**changes: Any) -> Options:
    settings: dict[str, Any] = {"seeds": 2, "models": ("bundled:nano-750",), "limit": 3, "identify": unopened}
    return Options(**settings | changes)


def make_run(
    experiment: Experiment, path: Path, solves: Solves, chosen: Options | None = None, shuffle: int = 0
) -> Path:
    """Fill a run directory; with another ``shuffle`` the commits come in another order, and times differ."""
    configurations = checked(experiment.configurations(chosen or options()))
    directory = RunDirectory(path)
    directory.open(configurations, title=experiment.name)
    pairs = [
        (configuration, number, job) for configuration in configurations for number, job in _numbered(configuration)
    ]
    Random(shuffle).shuffle(pairs)
    lines = [
        line(configuration, job, _result(configuration, job, solves, number, shuffle))
        for configuration, number, job in pairs
    ]
    directory.append(lines, {})
    return path


def measured(name: str, path: Path, solves: Solves, levels: int = 3) -> Measured:
    """A made-up run of a study."""
    directory = RunDirectory(make_run(find(name), path, solves, options(limit=levels)))
    return Measured.load(directory, write_derived(directory))


def line(configuration: Configuration, job: Job, result: Mapping[str, Any]) -> dict[str, Any]:
    """The line of an episode."""
    return {
        "key": job.key, "cell": configuration.name, "environment": "sokoban", "level_set": job.task.level_set,
        "task": job.task.id, "digest": job.task.digest, "repeat": job.repeat, "agent": configuration.spec.label(),
        "model": configuration.spec.model, "result": dict(result), "trace_hash": "",
    }  # fmt: skip


def _numbered(configuration: Configuration) -> list[tuple[int, Job]]:
    return [(index // configuration.spec.repeats, job) for index, job in enumerate(configuration.jobs())]


def _result(configuration: Configuration, job: Job, solves: Solves, number: int, shuffle: int) -> dict[str, Any]:
    budget = dict(configuration.spec.caps(job.task))
    success = solves(split(configuration.name)[2], number, job.repeat)
    result = EpisodeResult(
        end_state="success" if success else "budget:steps", success=success, steps=budget["steps"] - 2 * success,
        lm_calls={"act": 10}, prompt_tokens={"act": 200}, completion_tokens={"act": 50}, budget=budget,
        solver_seconds=0.001 * (1 + shuffle),
    )  # fmt: skip
    return result.model_dump(mode="json")
