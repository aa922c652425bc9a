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

from experiments.benches.solvers.backends import competes, missing
from experiments.benches.solvers.instances import Instance, Spec
from experiments.benches.solvers.worker import Request
from tape.errors import ConfigError
from tape.reading import read_json

ROWS = "rows.jsonl"
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


def collect(
    folder: Path, specs: Sequence[Spec], backends: Sequence[str], settings: Settings
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Run what is not yet done, a line of progress each, and read all rows.

    Args:
        folder: Where the rows are kept.
        specs: The instances.
        backends: Who solves them.
        settings: Those of all rows in the folder.

    Returns:
        The rows, and why a backend cannot run here.

    Raises:
        ConfigError: The folder holds rows of other settings.
    """
    absent = {name: reason for name in backends if (reason := missing(name))}
    for name, reason in absent.items():
        print(f"skipped: {name}: {reason}")
    todo = jobs(specs, [name for name in backends if name not in absent])
    folder.mkdir(parents=True, exist_ok=True)
    _check_settings(folder, settings)
    for row in run(folder, todo, settings):
        print(f"{row['instance']} {row['backend']}: {row['status']} {1e3 * row['seconds']:.3g} ms", flush=True)
    keys = {job.key for job in todo}
    return [row for key, row in _read_rows(folder).items() if key in keys], absent


def _check_settings(folder: Path, settings: Settings) -> None:
    """A folder of results has one set of settings; a new one takes them on."""
    path, mine = folder / "settings.json", asdict(settings)
    if not path.exists():
        path.write_text(json.dumps(mine) + "\n", encoding="utf-8")
    there = read_json(path, dict[str, Any])
    clash = ", ".join(f"{key}: {there.get(key)} there, {mine[key]} now" for key in mine if there.get(key) != mine[key])
    if clash:
        raise ConfigError(f"{folder} has rows of other settings ({clash}); choose another --out")


def _read_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """The finished rows by job key. A line that a crash cut short is left out, and its job done again."""
    path = folder / ROWS
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            print(f"{path}: a line that was cut short is left out: {line[:40]!r}", file=sys.stderr)
            continue
        rows[f"{row['instance']} {row['backend']}"] = row
    return rows


def run(folder: Path, todo: Sequence[Job], settings: Settings) -> Iterator[dict[str, Any]]:
    """Runs what is not yet done, appending each row to the folder as it comes.

    Args:
        folder: Where the rows are; it exists.
        todo: The jobs.
        settings: Those of all rows in the folder.

    Yields:
        Each new row.
    """
    done = _read_rows(folder)
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
    empty = dict.fromkeys(("objective", "bound", "solve_seconds"))
    return {**empty, "status": status, "message": message, "seconds": seconds, "timed": 1}


def _end(child: subprocess.Popen[str]) -> None:
    """Ends the child's whole session; nothing is left running, on Ctrl-C neither."""
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself, and nothing of it is left
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
