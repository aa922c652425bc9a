"""Every (instance, competitor) in turn, in child processes; what is done is kept and not done again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.benches.rcsp.catalogue import Entry
from experiments.benches.rcsp.competitors import ERROR, TIMEOUT
from experiments.benches.rcsp.registry import OURS, TOGETHER, competes
from experiments.benches.rcsp.worker import MARK, Request
from experiments.benches.rows import ROWS, read_rows

_GRACE = 60.0  # seconds beyond the limit: for imports, building the instance, the other variants, and our own calls

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One competitor on one instance."""

    entry: Entry
    competitor: str

    @property
    def key(self) -> str:
        """Names the job; unique."""
        return f"{self.entry.name} {self.competitor}"


def jobs(found: Sequence[Entry], competitors: Sequence[str]) -> list[Job]:
    """What is to be run, by instance; ours alone comes first."""
    return [
        Job(entry, name)
        for entry in found
        for name in (OURS, *competitors)
        if name == OURS or competes(name, entry.part, entry.place)
    ]


def run(folder: Path, todo: Sequence[Job], data: Path | None, limit: float, repeats: int) -> Iterator[Row]:
    """Runs what is not yet done, appending each row to the folder as it comes.

    Args:
        folder: Where the rows are; it exists.
        todo: The jobs.
        data: The folder of files.
        limit: Seconds that a call gets.
        repeats: How many timed calls of each side.

    Yields:
        Each new row.
    """
    done = read_rows(folder, "competitor")
    path = folder / ROWS
    if path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("a", encoding="utf-8") as rows:
            rows.write("\n")
    left = [job for job in todo if job.key not in done]
    while left:
        first = left[0]
        group = [
            job for job in left if job.entry is first.entry and {job.competitor, first.competitor} <= set(TOGETHER)
        ]
        group = group or [first]
        for job, row in zip(group, _child(group, data, limit, repeats), strict=False):
            left.remove(job)
            named = {"instance": job.entry.name, "part": job.entry.part, "competitor": job.competitor} | row
            with path.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps(named) + "\n")
            yield named


def _child(group: Sequence[Job], data: Path | None, limit: float, repeats: int) -> list[Row]:
    """What a worker measured, in the order of the jobs; the last row may say what became of it instead."""
    names = [job.competitor for job in group]
    request = Request(group[0].entry.name, str(data or ""), names, limit, repeats)
    began = time.perf_counter()
    # A session of its own, so that what a competitor started ends with it.
    child = subprocess.Popen(
        [sys.executable, "-m", "experiments.benches.rcsp.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    failure: Row = {}
    try:
        told, errors = child.communicate(request.to_json(), timeout=len(group) * limit + _GRACE)
    except subprocess.TimeoutExpired as expired:
        told = (expired.stdout or b"").decode() if isinstance(expired.stdout, bytes) else expired.stdout or ""
        failure = {"status": TIMEOUT, "message": "killed: it did not come back in time", "seconds": limit}
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself, and nothing of it is left
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
    found: list[Row] = [json.loads(line.removeprefix(MARK)) for line in told.splitlines() if line.startswith(MARK)]
    if len(found) < len(group):
        if not failure:
            note = f"the worker ended with code {child.returncode}: {errors.strip()[-300:]}"
            failure = {"status": ERROR, "message": note, "seconds": time.perf_counter() - began}
        found.append(failure)
    return found
