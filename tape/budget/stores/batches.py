"""Requests that go to PostgreSQL together: one statement, one commit for all that come while a batch is under way."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from typing import Any

from tape.budget.locks import CLIENT, OrderedLock
from tape.budget.rules import ForbiddenError, LedgerError, UnreachableLedgerError, Warned, tell
from tape.budget.stores.addresses import Address
from tape.budget.stores.faults import READS, WRITES, answered, connect, first_line, raise_fault

try:
    import psycopg
    from psycopg.types.json import Jsonb
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]

VERSION = 5
"""Of the tables and functions that this program knows."""
MOST = 64
"""Requests of a batch."""
PATIENCE = 0.001
"""Seconds that a batch waits for one more request, where the one before had more."""
TRIES = 3
"""Of a batch whose connection was cut; each request may be made again."""
DO = (
    "reserve", "grow", "end", "claim", "finish", "decide", "sweep", "cap", "top_up", "reset", "rule", "pause", "resume",
)  # fmt: skip
"""What can be asked."""

_STALE, _OTHER_VERSION = "TL001", "TL002"
_NO_CLAIM = {"refused", "paused", "ended part", "error"}


class Batches:
    """Sends requests by a thread and a connection of its own.

    Args:
        address: Of the database.
        warned: Is called with what the database warns of.
        at: Says a fixed present, for tests; None for the database's own.

    Raises:
        LedgerError: The database cannot be reached, has no ledger, or one of another version.
    """

    def __init__(self, address: Address, warned: Callable[[Warned], None], at: Callable[[], datetime | None]) -> None:
        self._address, self._warned, self._at = address, warned, at
        self._seen: dict[str, int] = {}
        """The latest batch of each root: a server that has an earlier one has lost holds."""
        self._instance: Any = None
        self._closed, self._program = False, os.getpid()
        self._closing = OrderedLock(CLIENT, "ledger in a database")
        self._requests: queue.SimpleQueue[tuple[Any, Future[Any]] | None] = queue.SimpleQueue()
        self._connection: Any = None
        self._told: deque[Warned] = deque()
        """Warnings, which those who ask tell: what they do may ask in turn."""
        self._connect()  # a fault shows here
        self._thread: threading.Thread = threading.Thread(target=self._work, name="tape ledger", daemon=True)
        self._thread.start()

    def ask(self, **request: Any) -> Mapping[str, Any]:
        """One request, in the next batch.

        Raises:
            LedgerError: The store cannot be reached, or refuses it.
        """
        assert request["do"] in DO, "the database takes what it does not know for a reset"
        if os.getpid() != self._program:  # the thread that sends is not there
            raise LedgerError(f"the ledger {self._address} was opened before a fork; open it anew after it")
        answered: Future[Any] = Future()
        with self._closing, self._closing.mutex:
            if self._closed:
                raise LedgerError(f"the ledger {self._address} was closed; open it anew")
            assert threading.current_thread() is not self._thread, "the thread that sends cannot wait for itself"
            self._requests.put((request, answered))
        answer = answered.result()
        while self._told:
            with suppress(IndexError):  # another thread has taken it
                tell(self._warned, self._told.popleft())
        assert isinstance(answer, dict), answer
        if answer.get("error") == "forbidden":
            raise ForbiddenError(f"the ledger {self._address} refuses the request: {answer['detail']}")
        return answer

    def close(self) -> None:
        """Send what was asked, and close the connection."""
        with self._closing, self._closing.mutex:
            if self._closed:
                return
            self._closed = True
            assert threading.current_thread() is not self._thread, "the thread that sends cannot wait for itself"
            self._requests.put(None)
        self._thread.join()

    def _work(self) -> None:
        # So that what the garbage collector ends in this thread does not wait for this thread.
        mine = OrderedLock(CLIENT, "batches of a ledger")
        with mine, mine.mutex:
            assert threading.current_thread() is self._thread, "one thread alone uses the connection"
            self._send()

    def _send(self) -> None:
        """Send batches until this is closed."""
        last, before = False, 0
        while not last and (first := self._requests.get()) is not None:
            batch = [first]
            while len(batch) < MOST and not last:
                try:
                    # Who was answered last asks again soon: as many are waited for, if not for long.
                    more = self._requests.get(timeout=PATIENCE if len(batch) < before else 0)
                except queue.Empty:
                    break
                last = more is None
                batch += [] if more is None else [more]
            before = len(batch)
            self._answer(batch)
        self._cut()
        assert self._closed, "it sends until it is closed"
        assert self._requests.empty(), "nothing is asked after the end"

    def _answer(self, batch: Sequence[tuple[Any, Future[Any]]]) -> None:
        """Send a batch; where it fails for another reason than the connection, each request alone."""
        try:
            answers = self._apply([request for request, _ in batch])
        except BaseException as error:
            if len(batch) > 1 and not isinstance(error, UnreachableLedgerError):
                for pair in batch:
                    self._answer([pair])
                return
            for _, answered in batch:
                answered.set_exception(error)
        else:
            for (_, answered), answer in zip(batch, answers, strict=True):
                answered.set_result(answer)

    def _apply(self, batch: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """A batch in one statement and one commit; a cut connection is made anew, and the batch again."""
        assert len(batch) <= MOST, len(batch)
        at = self._at()
        given = (VERSION, Jsonb(list(batch)), at, Jsonb(dict(self._seen)))
        for attempt in range(TRIES):
            try:
                self._connect()
                [row] = answered(self._connection, WRITES, "select tape_ledger.apply(%s, %s, %s, %s)", *given)
            except psycopg.Error as error:
                self._cut()
                if error.sqlstate == _STALE:
                    raise LedgerError(
                        f"the server of {self._address} is behind what was answered before ({first_line(error)}): "
                        "a replica took over that lacks holds; restore it before anything is spent"
                    ) from None
                if error.sqlstate == _OTHER_VERSION:
                    continue  # it was upgraded: connecting says what is there now
                if attempt == TRIES - 1 or not isinstance(error, psycopg.OperationalError):
                    raise_fault(self._address, error)
                continue
            return self._keep(batch, **row[0])
        raise LedgerError(f"the ledger {self._address} changes its version; try again")

    def _keep(
        self,
        batch: Sequence[Mapping[str, Any]],
        batches: Mapping[str, int],
        warnings: Sequence[Any],
        answers: Sequence[Mapping[str, Any]],
    ) -> Sequence[Any]:
        """Keep what came with the answers, which are in the order of the requests."""
        assert all(number >= 1 for number in batches.values()), batches
        assert all(number > self._seen.get(root, 0) for root, number in batches.items()), "batches go on"
        assert len(answers) == len(batch), "each is answered"
        pairs = [(mapping["do"], answer) for mapping, answer in zip(batch, answers, strict=True)]
        assert all(do in ("reserve", "grow") for do, answer in pairs if "held" in answer), pairs
        assert all("claim" in answer or answer.keys() & _NO_CLAIM for do, answer in pairs if do == "claim"), pairs
        assert all(do == "end" for do, answer in pairs if "ended" in answer), pairs
        roots = {mapping["scope"].partition("/")[0] for mapping in batch if "scope" in mapping}
        assert roots <= batches.keys(), "who asks has the root of its scope alone"
        told = [Warned(*warning) for warning in warnings]
        warned = {item.account.partition("/")[0].partition("#")[0] for item in told}
        assert warned <= batches.keys(), "a batch warns of what it has done itself"
        self._seen.update(batches)
        self._told.extend(told)
        return answers

    def _connect(self) -> None:
        """Have a connection.

        Raises:
            LedgerError: The database cannot be reached, has no ledger, one of another version, or another one.
        """
        if self._connection is not None and not self._connection.closed:
            return
        try:
            connection = connect(self._address)
            rows = answered(connection, READS, "select version, instance from tape_ledger.meta")
        except psycopg.Error as error:
            raise_fault(self._address, error)
        row = rows[0] if rows else None
        if row is None or row[0] != VERSION:
            connection.close()
            raise LedgerError(
                f"the ledger {self._address} has version {row and row[0]}, and this program knows {VERSION}; install "
                "the version that made it"
            )
        if self._instance not in (None, row[1]):
            connection.close()
            raise LedgerError(f"the ledger {self._address} is another one than before; open it anew")
        assert connection.autocommit, "a batch is one statement and one commit"
        assert row[1] is not None, "a ledger can be told from others"
        self._instance, self._connection = row[1], connection

    def _cut(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            assert connection.closed
