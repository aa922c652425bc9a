"""Where cohorts are played: in this process, in worker processes, or on a Ray cluster."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol

from tape.budget import Ledger
from tape.errors import ConfigError, TapeError
from tape.lm.base import LanguageModel
from tape.lm.registry import open_model as open_by_name
from tape.runner.models import Models, open_at_price
from tape.runner.play import play
from tape.runner.work import Played, Watcher, Work

Ended = Generator[tuple[Work, list[Played]], None, None]
"""Cohorts as they end."""


class WorkerError(TapeError):
    """A worker failed or died; nothing that is committed is lost."""


class Pool(Protocol):
    """Plays cohorts. It may be used for one run after the other, and is closed by who opened it."""

    def play(self, work: Sequence[Work], watcher: Watcher, run: Ledger | None = None) -> Ended:
        """Play cohorts; they come back in the order in which they end, which is not always the given one.

        Closing the generator drops what is in flight.

        Args:
            work: The cohorts.
            watcher: Is told what happens.
            run: Pays for all of them. Once it has refused something no cohort is begun; those in flight go on.

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


class InProcess(ClosingPool):
    """Plays cohorts one after the other in this process; a display can follow every event.

    Args:
        open_model: Opens a model by its name.
    """

    def __init__(self, open_model: Callable[[str], LanguageModel] = open_by_name) -> None:
        self._models = Models(open_model)

    def play(self, work: Sequence[Work], watcher: Watcher, run: Ledger | None = None) -> Ended:
        """See :class:`Pool`."""
        # One event loop for all cohorts: an interrupt between two finds nothing half made.
        with asyncio.Runner() as loop:
            for item in work:
                if run is not None and run.refused:
                    return
                model = self._models.get(item.spec.model, item.spec.model_identity)
                watcher.started(item.jobs)
                try:
                    played = loop.run(play(item, model, watcher.event, run))
                except asyncio.CancelledError:
                    # Nobody cancels a cohort but an interrupt; asyncio.Runner forgets that it was one if it comes
                    # right after the handler is set, before the count of interrupts is.
                    raise KeyboardInterrupt from None
                yield item, played

    def close(self) -> None:
        """Close the models."""
        self._models.close()


def open_pool(
    workers: str | int,
    *,
    cache: Path | None = None,
    prices: Path | None = None,
    opened: Mapping[str, LanguageModel] | None = None,
) -> Pool:
    """Open the pool that ``--workers`` names.

    Args:
        workers: ``1`` plays in this process, a larger number in so many worker processes,
            ``ray://HOST:PORT`` on a Ray cluster, ``ray:local`` on one started here.
        cache: A completion cache; every worker opens the file itself.
        prices: A price file of the user's own, which goes before the shipped ones.
        opened: Models that are open already, by name; used where episodes are played in this process.

    Raises:
        ConfigError: It is none of these.
        MissingExtraError: Ray is not installed.
    """
    opener = partial(open_at_price, cache=cache, prices=prices)
    text = str(workers).strip()
    if text.startswith(("ray://", "ray:")):
        from tape.runner.ray_pool import RayPool

        return RayPool(text, opener)
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"--workers must be a whole number from 1, ray://HOST:PORT or ray:local, not {text!r}")
    if int(text) == 1:
        known = dict(opened or {})
        return InProcess(lambda name: known.get(name) or opener(name))
    from tape.runner.processes import Processes

    return Processes(int(text), opener)
