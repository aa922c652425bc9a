"""Run directories with made-up episodes, so that reports are tested without any model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, split
from tape.engine.result import EpisodeResult
from tape.runner.cells import Cell, Job, checked
from tape.runner.directory import RunDirectory

Solves = Callable[[str, int, int], bool]
"""Method, number of the level and repeat -> success."""


def options(**changes: Any) -> Options:
    settings: dict[str, Any] = {"seeds": 2, "models": ("bundled:nano-750",), "limit": 3, "identify": lambda name: name}
    return Options(**settings | changes)


def make_run(
    experiment: Experiment, path: Path, solves: Solves, chosen: Options | None = None, shuffle: int = 0
) -> Path:
    """Fill a run directory; with another ``shuffle`` the commits come in another order, and times differ."""
    cells = checked(experiment.cells(chosen or options()))
    directory = RunDirectory(path)
    directory.open(cells, title=experiment.name)
    found = [(cell, number, job) for cell in cells for number, job in _numbered(cell)]
    Random(shuffle).shuffle(found)
    lines = [_line(cell, job, solves(split(cell.name)[2], number, job.repeat), shuffle) for cell, number, job in found]
    directory.append(lines, {})
    return path


def _numbered(cell: Cell) -> list[tuple[int, Job]]:
    return [(index // cell.spec.repeats, job) for index, job in enumerate(cell.jobs())]


def _line(cell: Cell, job: Job, success: bool, shuffle: int) -> dict[str, Any]:
    budget = dict(cell.spec.caps(job.task))
    result = EpisodeResult(
        end_state="success" if success else "budget:steps",
        success=success,
        steps=budget["steps"] - 2 * success,
        lm_calls={"act": 10},
        prompt_tokens={"act": 200},
        completion_tokens={"act": 50},
        budget=budget,
        solver_seconds=0.001 * (1 + shuffle),
    )
    return {
        "key": job.key,
        "cell": cell.name,
        "environment": "sokoban",
        "level_set": job.task.level_set,
        "task": job.task.id,
        "digest": job.task.digest,
        "repeat": job.repeat,
        "agent": cell.spec.label(),
        "model": cell.spec.model,
        "result": result.model_dump(mode="json"),
    }
