"""Every (instance, backend) in turn, each in a child process; what is done is kept and not done again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.benches.rows import ROWS, read_rows
from experiments.benches.solvers.backends import competes
from experiments.benches.solvers.instances import Instance, Spec
from experiments.benches.solvers.worker import Request
from tape.reading import read_json

_GRACE = 5.0  # seconds beyond the limit, before a child is killed that does not come back
_STARTING = 10.0  # for imports, the warm-up and reading the problem


@dataclass(frozen=True)
class Settings:
    """What a row depends on besides instance and backend; a folder of results has one of these.

    Attributes:
        limit: Seconds that a solve gets.
        repeats: Most timed solves of a fast backend.
    """

    limit: float
    repeats: int


@dataclass(frozen=True)
class Job:
    """One backend on one instance."""

    spec: Spec
    backend: str
    place: int

    @property
    def key(self) -> str:
        """Names the job; unique."""
        return f"{self.spec.name} {self.backend}"


def jobs(specs: Sequence[Spec], backends: Sequence[str]) -> list[Job]:
    """All pairs, by instance, so that an interrupted run has compared what it has touched."""
    seen: Counter[str] = Counter()
    found = []
    for spec in specs:
        found += [Job(spec, backend, seen[spec.family]) for backend in backends]
        seen[spec.family] += 1
    return found


def settings_clash(folder: Path, settings: Settings) -> str:
    """How the settings differ from those of the rows already there; empty if not. A new folder takes them on."""
    path, mine = folder / "settings.json", asdict(settings)
    if not path.exists():
        path.write_text(json.dumps(mine) + "\n", encoding="utf-8")
    there = read_json(path, dict[str, Any])
    return ", ".join(f"{key}: {there.get(key)} there, {mine[key]} now" for key in mine if there.get(key) != mine[key])


def run(folder: Path, todo: Sequence[Job], settings: Settings) -> Iterator[dict[str, Any]]:
    """Runs what is not yet done, appending each row to the folder as it comes.

    Args:
        folder: Where the rows are; it exists.
        todo: The jobs.
        settings: Those of all rows in the folder.

    Yields:
        Each new row.
    """
    done = read_rows(folder, "backend")
    path = folder / ROWS
    if path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("a", encoding="utf-8") as rows:
            rows.write("\n")
    built: Instance | None = None
    for job in todo:
        if job.key in done:
            continue
        if built is None or built.spec != job.spec:
            built = job.spec.build()
        if not competes(job.backend, job.spec, built.size, job.place):
            continue
        row = {**_described(built), "backend": job.backend, **_child(folder, built, job.backend, settings)}
        with path.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")
        yield row


def _described(one: Instance) -> dict[str, Any]:
    problem = one.problem
    return {
        "instance": one.name,
        "spec": asdict(one.spec),
        "share": one.share,
        "nodes": problem.n_nodes,
        "edges": len(problem.edges),
        "horizon": problem.horizon,
        "edge_steps": one.size,
    }


def _child(folder: Path, one: Instance, backend: str, settings: Settings) -> dict[str, Any]:
    """The measurements of a worker, or what became of it."""
    problem = folder / "problem.json"
    problem.write_text(one.problem.to_json(), encoding="utf-8")
    request = Request(str(problem), backend, settings.limit, settings.repeats)
    began = time.perf_counter()
    # A session of its own, so that what a backend started ends with it.
    child = subprocess.Popen(
        [sys.executable, "-m", "experiments.benches.solvers.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        # Several timed solves only where each takes less than two seconds.
        told, errors = child.communicate(request.to_json(), timeout=settings.limit + _GRACE + _STARTING)
    except subprocess.TimeoutExpired:
        return _failed("TIMEOUT", "killed: it did not come back in time", settings.limit)
    finally:
        _end(child)
        problem.unlink(missing_ok=True)
    try:
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        note = f"the worker ended with code {child.returncode}: {errors.strip()[-300:]}"
        return _failed("ERROR", note, time.perf_counter() - began)
    return found


def _failed(status: str, message: str, seconds: float) -> dict[str, Any]:
    empty = dict.fromkeys(("objective", "bound", "solve_seconds", "growth_mb", "pass_seconds"))
    return {**empty, "status": status, "message": message, "seconds": seconds, "timed": 1}


def _end(child: subprocess.Popen[str]) -> None:
    """Ends the child's whole session; nothing is left running, on Ctrl-C neither."""
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself, and nothing of it is left
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
