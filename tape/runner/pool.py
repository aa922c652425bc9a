"""The base class of pools, which play the batches of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence

from tape.budget import Ledger
from tape.errors import TapeError
from tape.runner.work import Played, Watcher, Work

Ended = Generator[tuple[Work, list[Played]], None, None]
"""Batches as they end."""


class WorkerError(TapeError):
    """A worker failed or died; committed episodes are kept."""


class Pool(ABC):
    """Plays batches, for several runs one after the other; its owner closes it."""

    @abstractmethod
    def play(self, work: Sequence[Work], watcher: Watcher, run: Ledger | None = None) -> Ended:
        """Play batches; they are returned in the order in which they end.

        Closing the generator drops batches in flight.

        Args:
            work: The batches.
            watcher: Is notified of events.
            run: Pays for all of them. Once it has refused something no batch is begun; those in flight go on.

        Raises:
            WorkerError: A worker failed or died.
        """

    @abstractmethod
    def close(self) -> None:
        """Release processes, connections and models."""

    def __enter__(self) -> Pool:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
