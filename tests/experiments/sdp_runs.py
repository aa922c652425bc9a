"""Run directories with made-up SDP episodes, so that diagnostics and ablations are tested without any model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from experiments.harness.methods import Method
from experiments.studies.tape.levels import on_levels
from tape.protocols.result import EpisodeResult
from tape.runner.configurations import checked
from tape.runner.directory import RunDirectory
from tape.trace import FinishedEvent, StartedEvent, TraceWriter, read_trace
from tests.experiments.studies.sdp_synthetic import Synthetic
from tests.experiments.synthetic import line, options

AS_GIVEN = {"SDP": {"skill": 0.45}, "SDP, other": {"skill": 0.8, "cascade": False, "score": True}}


def make_sdp_run(path: Path, methods: Mapping[str, Mapping[str, Any]] = AS_GIVEN, limit: int = 8) -> Path:
    """A run of which nothing is Sokoban but the names of the tasks.

    By configuration ``methods`` has the settings of :class:`Synthetic`; empty ones make episodes without a chain.
    """
    chosen = options(limit=limit, seeds=2)
    configurations = checked(
        [
            on_levels(
                # Another cap for each, since equal configurations have their episodes in common.
                Method(label, "sdp" if made else "react", {"max_replans": number}),
                "bundled:nano-750",
                chosen,
                levels="easy",
            )
            for number, (label, made) in enumerate(methods.items())
        ]
    )
    directory = RunDirectory(path)
    directory.open(configurations, title="made up")
    for configuration, settings in zip(configurations, methods.values(), strict=True):
        for job in configuration.jobs():
            trace = path / f"{job.key}.jsonl"
            if settings:
                Synthetic(Random(f"{configuration.name} {job.key}"), **settings).write(trace)
            else:
                _without_chain(trace)
            *_, last = read_trace(trace)
            assert isinstance(last, FinishedEvent)
            directory.append([line(configuration, job, last.result)], {job.key: trace})
            trace.unlink()
    return path


def _without_chain(path: Path) -> None:
    writer = TraceWriter(path.stem, path)
    writer.write(StartedEvent(config={"agent": "react", "model": "m"}, budget={}, seed=0))
    writer.write(FinishedEvent(result=EpisodeResult(end_state="failure", success=False).model_dump()))
    writer.close()
