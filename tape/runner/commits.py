"""``episodes.jsonl``: the only place where an episode counts as finished, and the lock of its run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tape.errors import RunDirectoryError
from tape.files import append, is_there, open_plain, why
from tape.reading import MOST_NUMBER, json_lines, parse_json, shaped, storable

KEY = r"[a-z0-9_]{1,64}"
"""The pattern of an episode's key. It names a file: no separator, no dot, no upper case."""

Count = Annotated[int, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
Counts = dict[str, Count]
Spent = dict[str, Count | None]


class Result(BaseModel):
    """The fields of an episode's result that readers rely on; see :class:`tape.protocols.result.EpisodeResult`.

    Unknown fields are ignored.
    """

    end_state: str
    success: bool
    partial_walk: bool
    steps: Count
    replans: Count
    mismatches: Count
    malformed: Count
    lm_calls: Counts
    prompt_tokens: Counts
    completion_tokens: Counts
    used: Spent
    budget: Counts
    budget_violations: list[str]
    actions: list[str]
    detail: str
    solver_seconds: float
    wall_seconds: float
    paid: Spent
    unproven: Counts = {}
    broken_declarations: Counts
    plans: Count
    distinct_plans: Count
    shared_nodes: Count
    explanation: dict[str, Any] | None
    measures: dict[str, float | None]
    final_answer: str | None
    method: dict[str, bool | Count | Counts | list[str]]
    wall_overrun_seconds: float


class EpisodeRecord(BaseModel):
    """A line of ``episodes.jsonl``.

    ``trace_hash`` is the hash of the last line of the episode's trace (:mod:`tape.trace.links`).
    """

    key: Annotated[str, Field(pattern=f"^{KEY}$")]
    cell: str
    environment: str
    level_set: str
    task: str
    digest: str
    repeat: Annotated[int, Field(ge=0, lt=1 << 63)]
    agent: str
    model: str
    result: Result
    trace_hash: str


fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

_BLOCK = 1 << 20


def unwritten(path: Path, error: OSError) -> RunDirectoryError:
    """The error for a file of a run that cannot be written."""
    return RunDirectoryError(
        f"{path} cannot be written ({why(error)}); what is finished is kept. Mend that, then repeat the command"
    )


class EpisodesFile:
    """The records of a run, one a line.

    The lock is on this file itself, and records are written through the locked descriptor. Removing or replacing the
    file removes what the lock protects too: no two processes ever write to one file, and no episode is in it twice.

    Raises:
        RunDirectoryError: Another process has the lock, the file was removed or replaced, the disk refuses a record
            (then nothing is committed), a line is malformed, or an episode occurs twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: int | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the file if it is missing, and lock it against other processes, if the system has file locks."""
        try:
            descriptor = open_plain(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise RunDirectoryError(
                f"{self.path} cannot be written ({why(error)}); nothing was changed. Mend that, or name another --out"
            ) from error
        try:
            self._lock(descriptor)
            self._held = descriptor
            self.require_held()
            yield
        finally:
            self._held = None
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunDirectoryError(
                f"{self.path.parent} is in use by another process; wait for it or name another --out"
            ) from None
        except OSError as error:
            raise RunDirectoryError(
                f"{self.path} cannot be locked ({why(error)}), so two processes could write to it; name an --out on a "
                "file system that has locks"
            ) from error

    def require_held(self) -> None:
        """Refuse to write if a file is locked that is not the one on disk any more."""
        if self._held is not None and not is_there(self._held, self.path):
            raise RunDirectoryError(
                f"{self.path} was removed or replaced while this run was at work, perhaps for another process: this "
                "one commits nothing more. See what is there; the same command then goes on"
            )

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the lock: the present one, or a temporary one."""
        if self._held is None:
            with self.locked():
                yield
        else:
            self.require_held()
            yield

    def read(self) -> list[dict[str, Any]]:
        """All records; a torn last line is ignored."""
        if not self.path.exists():
            return []
        result, places = [], dict[tuple[str, str], int]()
        for number, line in json_lines(self.path, whole=True, error=RunDirectoryError):
            shaped(line, EpisodeRecord, f"{self.path}:{number}", error=RunDirectoryError)
            episode = (line["cell"], line["key"])
            if (first := places.setdefault(episode, number)) != number:
                raise RunDirectoryError(
                    f"{self.path}:{number}: episode {episode[1]} of {episode[0]!r} is there already, in line {first}: "
                    f"two processes wrote to this run. Delete line {number}, then repeat the command"
                )
            result.append(line)
        return result

    def encoded(self, records: Sequence[Mapping[str, Any]]) -> bytes:
        """Records as bytes that can be read again (:func:`~tape.reading.storable`)."""
        written = []
        for record in records:
            where = f"{self.path}: the episode {record.get('key')!r} that is to be added"
            text = json.dumps(storable(record))
            shaped(parse_json(text, where, error=RunDirectoryError), EpisodeRecord, where, error=RunDirectoryError)
            written.append(text.encode("ascii") + b"\n")
        return b"".join(written)

    def commit(self, written: bytes) -> None:
        """Append records and sync them to disk; needs the lock."""
        descriptor = self._held
        assert descriptor is not None
        self.require_held()
        try:
            append(descriptor, written, sync=True)
        except OSError as error:
            raise unwritten(self.path, error) from error

    def cut_torn_tail(self) -> None:
        """Drop a last line that a kill left unfinished."""
        with self.holding():
            descriptor = self._held
            assert descriptor is not None
            end = os.fstat(descriptor).st_size
            while end:
                start = max(0, end - _BLOCK)
                os.lseek(descriptor, start, os.SEEK_SET)
                index = os.read(descriptor, end - start).rfind(b"\n")
                if index >= 0:
                    end = start + index + 1
                    break
                end = start
            os.ftruncate(descriptor, end)
