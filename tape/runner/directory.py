"""A run directory: ``config.json``, ``episodes.jsonl`` (the only commit point), ``traces/``."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from tape.budget import kinds
from tape.errors import RunDirectoryError, TapeError
from tape.files import partial_file, replace_file, what_is_odd, why
from tape.plugins import load
from tape.reading import read_json, read_text, shaped, short, storable
from tape.redaction import redacted, redacted_lines
from tape.runner.commits import KEY, EpisodesFile, unwritten
from tape.runner.configurations import Configuration
from tape.runner.spec import RunSpec, versions
from tape.trace import chained_anew
from tape.trace.links import hash_of

SCHEMA = 2
MOST_SHOWN = 8
"""Differing keys in one message."""
_LONGEST = 200


class _Config(BaseModel):
    """``config.json``."""

    schema_: int = Field(alias="schema")
    title: str
    cells: dict[str, dict[str, Any]]
    commit: str | None
    versions: dict[str, str]


class RunDirectory:
    """Opens or makes a run directory.

    Nothing is read or written through links, so nothing in the folder leads out of it.

    Args:
        path: The folder.

    Raises:
        RunDirectoryError: It is a file, or can never be a folder.

    Examples:
        >>> from pathlib import Path
        >>> from tape.runner.directory import RunDirectory
        >>> directory = RunDirectory(Path("run"))
        >>> directory.episodes()
        []
        >>> Path("notes.txt").touch()
        >>> RunDirectory(Path("notes.txt"))
        Traceback (most recent call last):
            ...
        tape.errors.RunDirectoryError: notes.txt is a file, not a folder; name another --out
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.json"
        self.episodes_file = path / "episodes.jsonl"
        self._file = EpisodesFile(self.episodes_file)
        try:
            is_file = path.exists() and not path.is_dir()
        except (OSError, ValueError) as error:  # too long a name, a zero byte
            raise RunDirectoryError(f"{str(path)[:200]!r} can be no folder ({why(error)}); name another") from error
        if is_file:
            raise RunDirectoryError(f"{path} is a file, not a folder; name another --out")

    def open(self, configurations: Sequence[Configuration], title: str = "") -> None:
        """Make the directory, or check that it holds this very run.

        Args:
            configurations: The run's configurations, resolved (:func:`tape.runner.configurations.checked`).
            title: A title of the run, for people.

        Raises:
            RunDirectoryError: It holds another configuration (lists the differing keys) or other files.
        """
        wanted = {configuration.name: configuration.spec.model_dump(mode="json") for configuration in configurations}
        if self.config_file.exists():
            different = _differing_configurations(self._config().cells, wanted)
            if different:
                shown = "; ".join(f"{k}: {_shown(a)} there, {_shown(b)} now" for k, a, b in different[:MOST_SHOWN])
                more = f"; and {len(different) - MOST_SHOWN} more" if len(different) > MOST_SHOWN else ""
                raise RunDirectoryError(
                    f"{self.path} holds another run ({shown}{more}). Nothing was changed; name another --out or repeat "
                    "that run's command"
                )
            self._file.cut_torn_tail()
            self.make_folder("traces")
            return
        if storable(wanted) != wanted:
            raise RunDirectoryError(
                f"{self.path}: a run records what it was asked for, and a part of that, such as a file's name, is no "
                "UTF-8 text; rename it"
            )
        self._make_folder()
        record = {"schema": SCHEMA, "title": title, "cells": wanted, "commit": git_commit()}
        record["versions"] = versions(configuration.spec for configuration in configurations)
        self._write(self.config_file, json.dumps(record, indent=1) + "\n")
        self.make_folder("traces")

    def require_versions(self, specs: Iterable[RunSpec]) -> None:
        """Refuse to go on with a run that another version of the program began.

        Raises:
            RunDirectoryError: Lists the differences.
        """
        different = differing(self.versions(), versions(specs))
        if different:
            shown = "; ".join(f"{k}: {_shown(a)} there, {_shown(b)} now" for k, a, b in different)
            raise RunDirectoryError(
                f"{self.path} was begun by another version of the program ({shown}), and a run must not mix two. "
                "Nothing was changed; go on with that version, or name another --out"
            )

    def versions(self) -> dict[str, str]:
        """The versions of packages and the hash of the sources when the run began."""
        return self._config().versions

    def commit(self) -> str | None:
        """The commit of the sources when the run began, if they were a git checkout."""
        return self._config().commit

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder if it is missing, and lock it against other processes, if the system has file locks.

        A killed process leaves no lock behind.

        Raises:
            RunDirectoryError: Another process has the lock, or the folder holds something else or cannot be used.
        """
        if not self.config_file.exists():
            self._make_folder()
        with self._file.locked():
            yield

    def require_held(self) -> None:
        """Refuse to write if this process has lost its lock (:meth:`EpisodesFile.require_held`)."""
        self._file.require_held()

    def _make_folder(self) -> None:
        """Make the folder of a new run, or check that it is empty."""
        # A kill right after the start leaves these files.
        ours = {partial_file(self.config_file), self.episodes_file}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            others = any(file not in ours for file in self.path.iterdir())
            empty = not self.episodes_file.exists() or self.episodes_file.stat().st_size == 0
        except (OSError, ValueError) as error:
            raise RunDirectoryError(
                f"{self.path} cannot be made or looked into ({why(error)}); name another --out"
            ) from error
        if others or not empty:
            raise RunDirectoryError(f"{self.path} is not empty and holds no run; name another --out")

    def make_folder(self, name: str) -> Path:
        """A folder of this run (:meth:`folder`), made if it is missing; raises the same error if it cannot be."""
        folder = self.folder(name)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritten(folder, error) from error
        return folder

    def _write(self, path: Path, text: str) -> None:
        try:
            replace_file(path, text)
        except OSError as error:
            raise unwritten(path, error) from error

    def configurations(self) -> dict[str, RunSpec]:
        """The configurations by name, in order.

        Raises:
            RunDirectoryError: There is no run, or its ``config.json`` is malformed.
        """
        try:
            return {name: RunSpec.model_validate(spec) for name, spec in self._config().cells.items()}
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise RunDirectoryError(
                f"{self.config_file} was written by another version of the program ({where}: {first['msg']}); use the "
                "version that made it"
            ) from error

    def title(self) -> str:
        """The title of the run; may be empty."""
        return self._config().title

    def _config(self) -> _Config:
        where = self._plain(self.config_file)
        record = read_json(where, error=_NoRunError)
        schema = record.get("schema") if isinstance(record, dict) else None
        if schema != SCHEMA:
            raise RunDirectoryError(
                f"{where} has schema {short(schema)}, not {SCHEMA}; use the version that made it, or another --out"
            )
        return shaped(record, _Config, str(where), error=_NoRunError)

    def episodes(self) -> list[dict[str, Any]]:
        """All committed episodes, in the order of their commits; a torn last line is ignored.

        Raises:
            RunDirectoryError: A line is malformed, or an episode occurs twice.
        """
        self._plain(self.episodes_file)
        return self._file.read()

    def append(self, lines: Sequence[Mapping[str, Any]], traces: Mapping[str, str | Path]) -> None:
        """Commit episodes together: their traces first, then their lines.

        Args:
            lines: The episodes' lines, each with its ``key``.
            traces: For every key its trace: the text, or a file to copy.

        Raises:
            RunDirectoryError: A key or a line is malformed, the disk refuses it, or this process has lost its lock.
                Then nothing is committed.
        """
        texts: dict[str, str] = {}
        hashes: dict[str, str] = {}
        for key, trace in traces.items():
            text = read_text(trace, error=RunDirectoryError) if isinstance(trace, Path) else trace
            texts[key], last = _without_secrets(text)
            hashes |= {key: last} if last else {}
        lines = [{**line, "trace_hash": hashes[line["key"]]} if line["key"] in hashes else line for line in lines]
        written = self._file.encoded([redacted({"schema": SCHEMA, **line}) for line in lines])
        with self._file.holding():
            for key, text in texts.items():
                self._write(self.trace_file(key), text)
            self._file.commit(written)
            with suppress(OSError):  # what is left there goes when the run is complete
                for key in texts:
                    (self.folder("unfinished") / f"{key}.jsonl").unlink(missing_ok=True)

    def learn_units(self) -> list[str]:
        """Import the environments whose episodes used or capped a resource of unknown unit.

        Returns:
            A note for each that cannot be imported: its amounts are shown as counts.
        """
        notes = []
        environments = {label: spec.environment for label, spec in self.configurations().items()}
        unknown = {
            environments[line["cell"]]
            for line in self.episodes()
            if line["cell"] in environments and not {*line["result"]["budget"], *line["result"]["used"]} <= set(kinds())
        }
        for environment in sorted(unknown):
            try:
                load("tape.environments", environment)
            except (TapeError, ImportError) as error:
                notes.append(f"amounts of {environment} are shown as counts, since it cannot be imported: {error}")
        return notes

    def trace_file(self, key: str) -> Path:
        """The path of a committed episode's trace; always in this run.

        Raises:
            RunDirectoryError: The key is malformed, or the file is a link, which may lead out of the run.
        """
        if not re.fullmatch(KEY, key):
            raise RunDirectoryError(
                f"{self.path}: {key[:100]!r} is no key of an episode (lowercase letters and digits), so no trace"
            )
        return self._plain(self.folder("traces") / f"{key}.jsonl")

    def folder(self, name: str) -> Path:
        """A folder of this run, for instance ``plots``; it need not exist.

        Raises:
            RunDirectoryError: It is a link, which may lead out of the run, or a file.
        """
        folder = self.path / name
        if (odd := what_is_odd(folder)) not in ("", "a folder") or folder.is_file():
            raise RunDirectoryError(f"{folder} is {odd or 'a file'}; a run keeps its {name} in a folder of its own")
        return folder

    def _plain(self, path: Path) -> Path:
        """The path of a file of this run, after a check that it is no link, pipe or device."""
        if odd := what_is_odd(path):
            raise RunDirectoryError(
                f"{path} is {odd}, which may lead out of the run, so it is neither read nor written; put a file there"
            )
        return path


def _without_secrets(trace: str) -> tuple[str, str]:
    """A trace without hidden secrets, and the hash of its last line if lines had to be changed."""
    clean = redacted_lines(trace)
    if clean == trace:
        return trace, ""
    lines = [*chained_anew(clean.removesuffix("\n").split("\n"))]
    return "\n".join(lines) + "\n", hash_of(lines[-1])


class _NoRunError(RunDirectoryError):
    """``config.json`` cannot be read as one."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}, so that folder holds no readable run")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def differing(held: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Keys whose values differ, nested ones by dotted path."""
    texts: list[tuple[str, Any, Any]] = []
    for key in sorted({*held, *wanted}):
        a, b = held.get(key), wanted.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            texts += differing(a, b, f"{prefix}{key}.")
        elif a != b:
            texts.append((prefix + key, a, b))
    return texts


def _differing_configurations(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The differences between two runs; the name of a run's only configuration is left out."""
    if len(held) == len(wanted) == 1:
        [[a], [b]] = [held.values(), wanted.values()]
        return differing(a, b) or ([] if [*held] == [*wanted] else [("configurations", [*held], [*wanted])])
    if [*held] != [*wanted]:
        return [("configurations", [*held], [*wanted])]
    return differing(held, wanted, "configurations.")


def git_commit() -> str | None:
    """The commit of the source tree, if it is a git checkout."""
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
