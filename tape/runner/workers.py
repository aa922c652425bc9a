"""Playing batches in this process; opening the pool of processes or of a Ray cluster."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.lm.registry import open_model as open_by_name
from tape.reading import short
from tape.runner.play import Models, Pool, open_at_price, play
from tape.runner.processes import Processes
from tape.runner.run_ledger import RunLedger
from tape.runner.work import Keep, Watcher, Work
from tape.waiting import one_loop

MOST_WORKERS = 1024
"""Worker processes: each opens the model anew."""


class InProcess(Pool):
    """Plays batches one after the other in this process; a display can follow every event."""

    def __init__(self, open_model: Callable[[str], LanguageModel] = open_by_name) -> None:
        self._models = Models(open_model)

    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: RunLedger | None = None) -> None:
        """See :class:`Pool`."""
        # One event loop for all batches: an interrupt between two batches leaves nothing half done.
        with one_loop() as run_here:
            for item in work:
                if run is not None and run.refused:
                    return
                if not self._models.holds(item.spec.model):
                    watcher.loading(item.spec.model)
                model = self._models.get(item.spec.model, item.spec.model_identity)
                watcher.started(item)
                try:
                    payer = None if run is None else run.payer
                    refused = run_here(play(item, model, partial(keep, item), watcher.event, payer))
                except asyncio.CancelledError:
                    # Only an interrupt cancels a batch. asyncio.Runner loses it if it comes right after the handler is
                    # set, before the count of interrupts is.
                    raise KeyboardInterrupt from None
                if run is not None and refused is not None:
                    run.refused = refused

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
        prices: The user's own price file, which takes precedence.
        opened: Models that are open already, by name; used if episodes are played in this process.

    Returns:
        The pool, a context that closes it at its end.

    Raises:
        ConfigError: It is none of these.
        MissingExtraError: Ray is not installed.

    Examples:
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.runner.play import Pool
        >>> from tape.runner.workers import open_pool
        >>> with open_pool(1, opened={"scripted": ScriptedLM(["left"])}) as pool:
        ...     isinstance(pool, Pool)
        True
        >>> open_pool("many")
        Traceback (most recent call last):
            ...
        tape.errors.ConfigError: --workers must be a whole number from 1 to 1024, ...
    """
    opener = partial(open_at_price, cache=cache, prices=prices)
    text = str(workers).strip()
    if text.startswith(("ray://", "ray:")):
        from tape.runner.ray_pool import RayPool  # Ray is loaded only if it is used

        return RayPool(text, opener)
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_WORKERS:
        raise ConfigError(
            f"--workers must be a whole number from 1 to {MOST_WORKERS}, ray://HOST:PORT or ray:local, not "
            f"{short(text)}"
        )
    if int(text) == 1:
        known = dict(opened or {})
        return InProcess(lambda name: known.get(name) or opener(name))
    return Processes(int(text), opener)
