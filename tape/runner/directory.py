"""A run directory: ``config.json``, ``episodes.jsonl`` (the only commit point), ``traces/``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from tape.budget import kinds
from tape.errors import RunDirectoryError, TapeError
from tape.files import partial_file, replace_file
from tape.plugins import load
from tape.runner.configurations import Configuration
from tape.runner.spec import RunSpec, versions

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

SCHEMA = 2
MOST_SHOWN = 8
"""Differing keys in one message."""


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

    def open(self, configurations: Sequence[Configuration], title: str = "") -> None:
        """Make the directory, or check that it holds this very run.

        Args:
            configurations: The run's configurations, resolved (:func:`tape.runner.configurations.checked`).
            title: What the run is, for people.

        Raises:
            RunDirectoryError: It holds another configuration (lists the differing keys) or other files.
        """
        wanted = {configuration.name: configuration.spec.model_dump(mode="json") for configuration in configurations}
        if self.config_file.exists():
            # Through the model, so that a switch which is younger than the run has its default.
            held = {name: spec.model_dump(mode="json") for name, spec in self.configurations().items()}
            different = _differing_configurations(held, wanted)
            if different:
                shown = "; ".join(f"{k}: {a!r} there, {b!r} now" for k, a, b in different[:MOST_SHOWN])
                more = f"; and {len(different) - MOST_SHOWN} more" if len(different) > MOST_SHOWN else ""
                raise RunDirectoryError(
                    f"{self.path} holds another run ({shown}{more}). Nothing was changed; name another --out or repeat "
                    "that run's command"
                )
            self._cut_torn_tail()
            (self.path / "traces").mkdir(exist_ok=True)
            return
        unfinished = partial_file(self.config_file)  # left by a kill a moment after the very start
        if self.path.exists() and any(file != unfinished for file in self.path.iterdir()):
            raise RunDirectoryError(f"{self.path} is not empty and holds no run; name another --out")
        self.path.mkdir(parents=True, exist_ok=True)
        record = {"schema": SCHEMA, "title": title, "cells": wanted, "commit": _commit()}
        record["versions"] = versions(configuration.spec for configuration in configurations)
        replace_file(self.config_file, json.dumps(record, indent=1) + "\n")
        (self.path / "traces").mkdir(exist_ok=True)

    def require_versions(self, specs: Iterable[RunSpec]) -> None:
        """Refuse to go on with a run that another version of the program began.

        Raises:
            RunDirectoryError: Lists what differs.
        """
        different = differing(self.versions(), versions(specs))
        if different:
            shown = "; ".join(f"{k}: {a!r} there, {b!r} now" for k, a, b in different)
            raise RunDirectoryError(
                f"{self.path} was begun by another version of the program ({shown}), and a run must not mix two. "
                "Nothing was changed; go on with that version, or name another --out"
            )

    def versions(self) -> dict[str, str]:
        """What the run was begun with: versions of packages, and a hash of the sources."""
        found: dict[str, str] = self._config()["versions"]
        return found

    def commit(self) -> str | None:
        """The commit that the run was begun with, where it was a git checkout."""
        found: str | None = self._config()["commit"]
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out, where the system has file locks; a killed process leaves none behind.

        Raises:
            RunDirectoryError: Another process is at work here.
        """
        if fcntl is None:
            yield
            return
        place = self.path.resolve()  # "." has no name to make a lock of
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_name(f".{place.name}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunDirectoryError(
                    f"{self.path} is in use by another process; wait for it or name another --out"
                ) from None
            yield

    def configurations(self) -> dict[str, RunSpec]:
        """The configurations by name, in order.

        Raises:
            RunDirectoryError: There is no run, or its ``config.json`` is malformed.
        """
        try:
            return {name: RunSpec.model_validate(spec) for name, spec in self._config()["cells"].items()}
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise RunDirectoryError(
                f"{self.config_file} was written by another version of the program ({where}: {first['msg']}); use the "
                "version that made it"
            ) from error

    def title(self) -> str:
        """What the run is, for people; may be empty."""
        return str(self._config()["title"])

    def _config(self) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(self.config_file.read_text(encoding="utf-8"))
            schema = record["schema"]
            if schema == SCHEMA and isinstance(record["cells"], dict) and isinstance(record["title"], str):
                return record
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunDirectoryError(f"{self.path} holds no readable run (config.json): {error}") from error
        raise RunDirectoryError(
            f"{self.config_file} has schema {schema!r}, not {SCHEMA}; use the version that made it, or another --out"
        )

    def _cut_torn_tail(self) -> None:
        """Drop a last line that a kill left unfinished."""
        if not self.episodes_file.exists():
            return
        with self.episodes_file.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)

    def episodes(self) -> list[dict[str, Any]]:
        """All committed episodes, in the order of their commits; a torn last line is not one.

        Raises:
            RunDirectoryError: A line is malformed.
        """
        if not self.episodes_file.exists():
            return []
        whole = self.episodes_file.read_bytes().rpartition(b"\n")[0]
        found = []
        for number, line in enumerate(whole.split(b"\n"), 1):
            if not line:
                continue
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise RunDirectoryError(f"{self.episodes_file}:{number}: not JSON: {error}") from error
        return found

    def append(self, lines: Sequence[Mapping[str, Any]], traces: Mapping[str, str | Path]) -> None:
        """Commit episodes together: their traces first, then their lines.

        Args:
            lines: The episodes' lines, each with its ``key``.
            traces: For every key its trace: the text, or a file to copy.
        """
        for key, trace in traces.items():
            text = trace.read_text(encoding="utf-8") if isinstance(trace, Path) else trace
            replace_file(self.trace_file(key), text)
        written = "".join(json.dumps({"schema": SCHEMA, **line}) + "\n" for line in lines)
        with self.episodes_file.open("a", encoding="utf-8") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())

    def learn_units(self) -> list[str]:
        """Import the environments whose episodes used or capped a resource that is not declared here, for its unit.

        Returns:
            For each that cannot be imported a sentence: its amounts are told as counts.
        """
        notes = []
        environments = {label: spec.environment for label, spec in self.configurations().items()}
        strange = {
            environments[line["cell"]]
            for line in self.episodes()
            if not {*line["result"]["budget"], *line["result"]["used"]} <= set(kinds())
        }
        for environment in sorted(strange):
            try:
                load("tape.environments", environment)
            except (TapeError, ImportError) as error:
                notes.append(f"amounts of {environment} are told as counts, since it cannot be imported: {error}")
        return notes

    def trace_file(self, key: str) -> Path:
        """Where a committed episode's trace is."""
        return self.path / "traces" / f"{key}.jsonl"


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


def _differing_configurations(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """What differs between two runs; the only configuration of a run is not named, since its name says nothing."""
    if len(held) == len(wanted) == 1:
        [[a], [b]] = [held.values(), wanted.values()]
        return differing(a, b) or ([] if [*held] == [*wanted] else [("configurations", [*held], [*wanted])])
    if [*held] != [*wanted]:
        return [("configurations", [*held], [*wanted])]
    return differing(held, wanted, "configurations.")


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
