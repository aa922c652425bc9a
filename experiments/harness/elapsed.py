"""How long a run took and on how many cores, over all the times that it was resumed; kept beside the run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tape.files import replace_file
from tape.reading import read_json
from tape.runner.directory import RunDirectory


def file_of(directory: RunDirectory) -> Path:
    """Where it is kept."""
    return directory.path / "elapsed.json"


@contextmanager
def stopwatch(directory: RunDirectory, workers: str = "1") -> Iterator[None]:
    """Add the seconds, cores and episodes of one sitting, however it ends; nothing where no episode was added.

    Args:
        directory: The run.
        workers: As the command line says: a number of processes, or where a cluster is.
    """
    began, before = time.monotonic(), len(directory.episodes())
    try:
        yield
    finally:
        episodes = len(directory.episodes()) - before
        if episodes:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            sitting = {"seconds": round(time.monotonic() - began, 1), "episodes": episodes}
            sitting |= {"cores": cores or 1, "workers": int(workers) if workers.isdigit() else 0}
            replace_file(file_of(directory), json.dumps([*sittings(directory), sitting]) + "\n")


def in_all(values: list[dict[str, Any]]) -> str:
    """A sentence on the time so far; empty where none is known.

    Args:
        values: What :func:`sittings` gives.
    """
    if not values:
        return ""
    seconds, episodes = (sum(sitting[key] for sitting in values) for key in ("seconds", "episodes"))
    machines = {(sitting["cores"], sitting["workers"]) for sitting in values if "cores" in sitting}
    on = " and ".join(_machine(cores, workers) for cores, workers in sorted(machines))
    took = f"Took {seconds:.0f} s on {on}" if on else f"Took {seconds:.0f} s"
    return f"{took} for {episodes:.0f} episodes, those copied from other runs included."


def _machine(cores: int, workers: int) -> str:
    return f"{cores} cores ({workers} worker{'s' * (workers != 1)})" if workers else "a cluster"


def sittings(directory: RunDirectory) -> list[dict[str, Any]]:
    """The sittings of a run, the oldest first."""
    file = file_of(directory)
    return read_json(file, list[dict[str, Any]]) if file.exists() else []
