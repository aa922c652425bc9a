"""One order of locks for all that is booked, so that no two threads wait for each other.

A thread may take a lock only while it holds none of the same or a later rank. The ranks, first to last:

==============================  ==================================================================
``LEDGER``, or a rank before    a tree of ledgers; one that another ledger pays for comes before it
``CLIENT``                      a store, and with it the lock on its file
==============================  ==================================================================

The garbage collector runs finalizers in any thread, at any allocation, also while that thread holds one of these locks.
So what may run in a finalizer never waits for a lock that is out of order: where :meth:`OrderedLock.free` is False it
appends what it has to book to a queue, and the next holder of the lock books that first.
"""

from __future__ import annotations

import threading

from tape.errors import LockOrderError

LEDGER, CLIENT = 90, 99


class _Thread(threading.local):
    """What a thread has asked for and not given back; after an interrupt perhaps a lock that it does not hold."""

    def __init__(self) -> None:
        self.asked: list[OrderedLock] = []


_thread = _Thread()


class OrderedLock:
    """A lock with a place in the order: ``with lock, lock.mutex: ...``.

    Entering the first checks the order, entering the second takes the lock. They are two since an interrupt never comes
    between the taking of a lock of C and its block, as it may in a method.

    Args:
        rank: Its place.
        name: What it keeps, for messages.

    Attributes:
        mutex: The lock. It is never taken twice; it is an ``RLock`` since that knows whose it is.
    """

    def __init__(self, rank: int, name: str) -> None:
        self.rank, self.name = rank, name
        self.mutex = threading.RLock()

    def free(self) -> bool:
        """Whether this thread may take it now."""
        return self._in_the_way() is None

    def __enter__(self) -> None:
        """Check the order.

        Raises:
            LockOrderError: This thread holds it already, or another of the same or a later rank.
        """
        if (other := self._in_the_way()) is not None:
            raise LockOrderError(
                f"the {self.name} is asked for while the same thread writes to the {other.name}: a finalizer or a "
                "signal handler uses a budget. Let it only take a note, and use the budget from ordinary code"
            )
        _thread.asked.append(self)

    def __exit__(self, *_: object) -> None:
        _thread.asked.pop()

    def _in_the_way(self) -> OrderedLock | None:
        return next((lock for lock in reversed(_thread.asked) if lock.rank >= self.rank and lock._is_held()), None)

    def _is_held(self) -> bool:
        held: bool = self.mutex._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks it
        return held
