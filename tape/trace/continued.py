"""A trace that goes on where it was cut off: its episode is played again up to there, and compared with the file.

What the disk does not take, and what another process is writing, raises a `TraceError`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path

from tape.errors import ResumeError, TraceError
from tape.files import append, partial_file, why
from tape.trace.events import FinishedEvent, GeneratedEvent
from tape.trace.file import TraceWriter, require_alone, unwritten
from tape.trace.links import hash_of
from tape.trace.shapes import Event


def hold(path: Path) -> FileIO:
    """Open a trace to go on with it, so that nobody else does.

    Raises:
        TraceError: It cannot be opened, has several names, or is being written by another process.
    """
    try:
        held = path.open("r+b", buffering=0)
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be opened ({why(error)})") from error
    require_alone(held, path)
    if not os.path.samestat(os.fstat(held.fileno()), path.stat()):
        held.close()
        raise TraceError(f"the episode of the trace {path} is being played; wait for its end")
    if os.fstat(held.fileno()).st_nlink > 1:
        held.close()
        raise TraceError(f"the trace {path} has several names (hard links), of which one would be left behind; copy it")
    return held


class ContinuedTrace(TraceWriter):
    """Takes the events of an episode that is played again, and writes those that are new.

    Until :meth:`go_on` each is compared with the record, by its type, and the recorded one is held in its place.

    Args:
        held: The open file of the trace, from :func:`hold`.
        path: The trace.
        record: Its events.
        reached: Called after each event that was compared, and once before the first; it calls :meth:`go_on`.
    """

    def __init__(self, held: FileIO, path: Path, record: Sequence[Event], reached: Callable[[], None]) -> None:
        self._held = held  # for its lock, until the file is replaced
        self._lines = [line for line in path.read_bytes().split(b"\n")[:-1] if line.strip()]
        super().__init__(json.loads(self._lines[0])["episode"])
        self._path, self._record, self._reached = path, record, reached
        self._fault: ResumeError | None = None
        self._given_up = False

    @property
    def live(self) -> bool:
        """Whether it writes."""
        return self._file is not None

    def write(self, event: Event) -> None:
        """Compare an event with the record, or append it."""
        if not self.live and not self.events:
            self._try_to_go_on()
        if self.live:
            super().write(event)
            return
        if self._given_up or isinstance(event, FinishedEvent):
            return  # something has ended the replay: the file stays as it is
        place = len(self.events)
        known = self._record[place] if place < len(self._record) else None
        if self._fault is None and (known is None or known.type != event.type):
            recorded = "its end" if known is None else known.type
            self._fault = ResumeError(
                f"{self._path}: event {place} was recorded as {recorded} and comes out as {event.type}: the tools, the "
                "model or the version of tape are not those that wrote it; nothing was called"
            )
        if self._fault is not None:
            raise self._fault
        assert known is not None
        self.hold(known)
        self._try_to_go_on()

    def _try_to_go_on(self) -> None:
        try:
            self._reached()
        except BaseException:
            self._given_up = True
            raise

    def hold(self, event: Event) -> None:
        """Take a recorded event over."""
        if isinstance(event, GeneratedEvent):
            self._shortened(tuple(part.model_dump() for part in event.prompt), len(self.events))
        self._keep(event)

    def go_on(self, resumed: Sequence[Event]) -> None:
        """Cut the file off after what was held so far, append events, and write from now on.

        The file is replaced at once, so that a kill leaves the old end or the new one.
        """
        assert self._path is not None
        kept = self._lines[: len(self.events)]
        self._last = hash_of(kept[-1].decode("ascii")) if kept else ""
        before, added = len(self.events), list[bytes]()
        for event in resumed:
            line = self._written(event)
            self._last = hash_of(line)
            added.append(line.encode("ascii"))
            self.events.append(event)
        del self.events[before:]
        partial = partial_file(self._path)
        try:
            partial.unlink(missing_ok=True)
            self._file = partial.open("xb", buffering=0)
            require_alone(self._file, self._path)
            append(self._file.fileno(), b"".join(line + b"\n" for line in (*kept, *added)), sync=True)
            partial.replace(self._path)
        except OSError as error:
            raise unwritten(self._path, error) from error
        self._held.close()
        for event in resumed:
            self._keep(event)

    def close(self) -> None:
        """Close the file."""
        self._held.close()
        super().close()
