"""A run directory: ``config.json``, ``episodes.jsonl`` (the only commit point), ``traces/``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tape.errors import RunDirectoryError
from tape.runner.spec import RunSpec, versions

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

SCHEMA = 1


class RunDirectory:
    """Opens or makes a run directory.

    Args:
        path: The folder.

    Raises:
        RunDirectoryError: It is a file, or holds things that are no run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.json"
        self.episodes_file = path / "episodes.jsonl"
        if path.exists() and not path.is_dir():
            raise RunDirectoryError(f"{path} is a file, not a folder; name another --out")

    def open(self, spec: RunSpec) -> None:
        """Make the directory, or check that it holds this very run.

        Raises:
            RunDirectoryError: It holds another configuration (lists the differing keys) or other files.
        """
        wanted = spec.model_dump(mode="json")
        if self.config_file.exists():
            held = self.config()
            different = differing(held, wanted)
            if different:
                shown = "; ".join(f"{k}: {a!r} there, {b!r} now" for k, a, b in different)
                raise RunDirectoryError(
                    f"{self.path} holds another run ({shown}). Nothing was changed; name another --out or repeat "
                    "that run's command"
                )
            self._cut_torn_tail()
            return
        if self.path.exists() and any(self.path.iterdir()):
            raise RunDirectoryError(f"{self.path} is not empty and holds no run; name another --out")
        (self.path / "traces").mkdir(parents=True, exist_ok=True)
        record = {"schema": SCHEMA, "run": wanted, "versions": versions(), "commit": _commit()}
        partial = self.config_file.with_suffix(".partial")
        partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(self.config_file)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out, where the system has file locks; a killed process leaves none behind.

        Raises:
            RunDirectoryError: Another process is at work here.
        """
        if fcntl is None:
            yield
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f".{self.path.name}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunDirectoryError(
                    f"{self.path} is in use by another process; wait for it or name another --out"
                ) from None
            yield

    def config(self) -> dict[str, Any]:
        """The resolved configuration held here.

        Raises:
            RunDirectoryError: There is none, or it is malformed.
        """
        try:
            record = json.loads(self.config_file.read_text(encoding="utf-8"))
            held: dict[str, Any] = record["run"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunDirectoryError(f"{self.path} holds no readable run (config.json): {error}") from error
        return held

    def _cut_torn_tail(self) -> None:
        """Drop a last line that a kill left unfinished."""
        if not self.episodes_file.exists():
            return
        with self.episodes_file.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)

    def episodes(self) -> list[dict[str, Any]]:
        """All committed episodes.

        Raises:
            RunDirectoryError: A line is malformed.
        """
        if not self.episodes_file.exists():
            return []
        found = []
        for number, line in enumerate(self.episodes_file.read_text(encoding="utf-8").split("\n"), 1):
            if not line:
                continue
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise RunDirectoryError(f"{self.episodes_file}:{number}: not JSON: {error}") from error
        return found

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Commit the episodes of a cohort together: their traces first, then their lines."""
        lines = list(lines)
        for line in lines:
            self.unfinished_trace_file(line["key"]).replace(self.trace_file(line["key"]))
        text = "".join(json.dumps({"schema": SCHEMA, **line}) + "\n" for line in lines)
        with self.episodes_file.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def trace_file(self, key: str) -> Path:
        """Where a committed episode's trace is."""
        return self.path / "traces" / f"{key}.jsonl"

    def unfinished_trace_file(self, key: str) -> Path:
        """Where the trace of an episode in flight is; it is renamed when its cohort is committed."""
        return self.path / "traces" / f"{key}.partial"

    def drop_unfinished(self, keys: Iterable[str]) -> None:
        """Remove traces of episodes that ran again although they were committed (their cohort was not)."""
        for key in keys:
            self.unfinished_trace_file(key).unlink(missing_ok=True)


def differing(held: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Keys whose values differ, nested ones by dotted path."""
    found: list[tuple[str, Any, Any]] = []
    for key in sorted({*held, *wanted}):
        a, b = held.get(key), wanted.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += differing(a, b, f"{prefix}{key}.")
        elif a != b:
            found.append((prefix + key, a, b))
    return found


def _commit() -> str | None:
    """The commit of the source tree, where it is a git checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
