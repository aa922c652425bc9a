"""How long a run took, over all the times that it was resumed; kept beside the run, and in no result."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tape.files import replace_file
from tape.reading import read_json
from tape.runner.directory import RunDirectory


def file_of(directory: RunDirectory) -> Path:
    """Where it is kept."""
    return directory.path / "elapsed.json"


@contextmanager
def stopwatch(directory: RunDirectory) -> Iterator[None]:
    """Add the seconds and the episodes of one sitting, however it ends; nothing where no episode was added."""
    began, before = time.monotonic(), len(directory.episodes())
    try:
        yield
    finally:
        episodes = len(directory.episodes()) - before
        if episodes:
            sittings = [*_sittings(directory), {"seconds": round(time.monotonic() - began, 1), "episodes": episodes}]
            replace_file(file_of(directory), json.dumps(sittings) + "\n")


def in_all(directory: RunDirectory) -> str:
    """A sentence on the time so far; empty where none is known."""
    sittings = _sittings(directory)
    if not sittings:
        return ""
    seconds, episodes = (sum(sitting[key] for sitting in sittings) for key in ("seconds", "episodes"))
    return f"Took {seconds:.0f} s for {episodes:.0f} episodes, those copied from other runs included."


def _sittings(directory: RunDirectory) -> list[dict[str, float]]:
    file = file_of(directory)
    return read_json(file, list[dict[str, float]]) if file.exists() else []
