"""The base class of pools, which play the batches of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tape.errors import TapeError
from tape.runner.run_ledger import RunLedger
from tape.runner.work import Keep, Watcher, Work


class WorkerError(TapeError):
    """A worker failed or died; committed episodes are kept."""


class Pool(ABC):
    """Plays batches, for several runs one after the other; its owner closes it."""

    @abstractmethod
    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: RunLedger | None = None) -> None:
        """Play batches. An exception, also one of ``keep``, drops what is in flight.

        Args:
            work: The batches.
            watcher: Is notified of events.
            keep: Called with every episode when it ends.
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
