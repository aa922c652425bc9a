"""The audit log of a gateway: a line of JSON for each call, chained by hashes as the lines of a trace are.

It is written by a thread of its own, after a call has ended or was refused; several gateways of one host may share it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tape.budget import LedgerError, Resources
from tape.budget.contract import State
from tape.budget.stores.shared_file import SharedFile
from tape.errors import DataError
from tape.files import open_plain, why
from tape.gateway.watching import WatchedCall
from tape.guard.left import amounts
from tape.reading import MOST_BYTES, parse_json
from tape.redaction import redacted
from tape.trace.links import FIRST, hash_of


class Audit:
    """A watcher that writes the log.

    Where a line cannot be written, this is printed, the line waits, and no call begins until it is written: a call
    without a line is what the log is there to exclude. Refusals are only counted then, so that they fill no memory, and
    a later line says how many were ``missed``.

    Raises:
        LedgerError: It cannot be opened, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self._last, self._due, self._failed, self._missed = FIRST, deque[dict[str, Any]](), "", 0
        self._file = SharedFile(path, self._take, self._forget, "audit log")
        with self._file.alone():
            pass
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tape audit")

    def begun(self, call: WatchedCall) -> None:
        """Nothing is written before a call has ended; the journal has it."""

    def ended(self, call: WatchedCall, state: State, spent: Resources) -> None:
        """See :class:`Watcher`."""
        self._note(call, hold=call.id, worst=amounts(call.worst), spent=amounts(spent), state=state)

    def refused(self, call: WatchedCall, fields: Mapping[str, Any]) -> None:
        """See :class:`Watcher`; a call that had a hold has its line."""
        if not call.id and self._failed:
            self._missed += 1
        elif not call.id:
            self._note(call, worst=fields.get("worst_case"), error=fields["error"], scope=fields.get("scope"))

    def _note(self, call: WatchedCall, **more: Any) -> None:
        if self._missed and not self._failed:
            more["missed"], self._missed = self._missed, 0
        at, seconds = call.at.isoformat(timespec="milliseconds"), (datetime.now(UTC) - call.at).total_seconds()
        line = {"at": at, "seconds": round(seconds, 3), "client": call.client, "session": call.scope}
        line |= {"tool": call.tool, "arguments": call.digest}
        self._due.append(line | {name: value for name, value in more.items() if value is not None})
        with suppress(RuntimeError):  # the thread has ended, and :meth:`close` writes what is due
            self._thread.submit(self._write)

    async def gate(self) -> None:
        """See that calls are written; raises a LedgerError where they cannot be."""
        if self._failed:
            await asyncio.wrap_future(self._thread.submit(self._write))
        if self._failed:
            raise LedgerError(self._failed)

    def close(self) -> None:
        """Write what is due; raises a LedgerError that says what is lost."""
        self._thread.shutdown()
        self._write()
        self._file.close()
        if self._due or self._missed:
            lost = f"lost are {len(self._due)} lines of calls, and {self._missed} refusals"
            raise LedgerError(f"{self._failed or 'the audit log could not be written for a while'}; {lost}")

    def _write(self) -> None:
        lines = list(self._due)
        try:
            with self._file.alone():
                last = self._last
                for line in lines:
                    text = json.dumps({"line": self._file.count + 1, "before": last, **redacted(line)})
                    self._file.append([text + "\n"])
                    last = hash_of(text)
        except Exception as error:  # in this thread nobody else would see it
            if not self._failed:
                print(f"tape gateway: {error}; calls are refused until it can be written", file=sys.stderr, flush=True)
            self._failed = str(error) or repr(error)
            return
        for _ in lines:
            self._due.popleft()
        self._last, self._failed = last, ""

    def _take(self, line: bytes) -> None:
        text = _text(line)
        if _record(text) is None:
            where = f"{self._file.path}:{self._file.count + 1}"
            raise LedgerError(f"{where}: this is no line of an audit log; name another file, or see tape audit --check")
        self._last = hash_of(text)

    def _forget(self) -> None:
        self._last = FIRST


class AuditLine(NamedTuple):
    """A line of a log: its hash, as the next one names it, what it says, and what is wrong with it or before it."""

    hash: str
    record: Mapping[str, Any]
    wrong: str


def read_audit(path: Path) -> Iterator[AuditLine]:
    """Follow the hashes through a log.

    Raises:
        DataError: The file cannot be read.
    """
    before, expected = FIRST, 1
    try:
        with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as stream:
            for line in iter(partial(stream.readline, MOST_BYTES), b""):
                text = _text(line)
                record, wrong = _record(text), ""
                if record is None or not line.endswith(b"\n"):
                    wrong = "is no whole record: it was cut or changed"
                elif record["line"] != expected:
                    wrong = f"has the number {record['line']} in the place of {expected}: lines were taken out or moved"
                elif record["before"] != before:
                    wrong = "names another hash: the line before it was changed, or this one"
                expected = (record["line"] if record else expected) + 1
                before = hash_of(text)
                yield AuditLine(before, record or {}, wrong)
    except OSError as error:
        raise DataError(f"{path}: the audit log cannot be read: {why(error)}") from None


def _record(text: str) -> dict[str, Any] | None:
    try:
        mapping = parse_json(text, "", surrogates=True)
    except DataError:
        return None
    known = isinstance(mapping, dict) and type(mapping.get("line")) is int and isinstance(mapping.get("before"), str)
    return mapping if known else None


def _text(line: bytes) -> str:
    """Without its end; of any bytes, so that each line has a hash of its own."""
    return line.removesuffix(b"\n").decode("utf-8", "surrogateescape")
