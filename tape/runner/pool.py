"""What a pool is: something that plays the batches of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Protocol

from tape.budget import Ledger
from tape.errors import TapeError
from tape.runner.work import Played, Watcher, Work

Ended = Generator[tuple[Work, list[Played]], None, None]
"""Batches as they end."""


class WorkerError(TapeError):
    """A worker failed or died; nothing that is committed is lost."""


class Pool(Protocol):
    """Plays batches. It may be used for one run after the other, and is closed by who opened it."""

    def play(self, work: Sequence[Work], watcher: Watcher, run: Ledger | None = None) -> Ended:
        """Play batches; they come back in the order in which they end, which is not always the given one.

        Closing the generator drops what is in flight.

        Args:
            work: The batches.
            watcher: Is told what happens.
            run: Pays for all of them. Once it has refused something no batch is begun; those in flight go on.

        Raises:
            WorkerError: A worker failed or died.
        """

    def close(self) -> None:
        """Give back processes, connections and models."""

    def __enter__(self) -> Pool:
        """The pool itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""


class ClosingPool(ABC):
    """What the pools share."""

    @abstractmethod
    def play(self, work: Sequence[Work], watcher: Watcher, run: Ledger | None = None) -> Ended:
        """See :class:`Pool`."""

    @abstractmethod
    def close(self) -> None:
        """See :class:`Pool`."""

    def __enter__(self) -> Pool:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
