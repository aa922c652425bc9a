"""Playing one batch, with the same code in this process, in a worker process and on another machine."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tape.agents.base import Agent
from tape.agents.recorded import ContinuedLM, NotRecordedError
from tape.budget import Payer, Resources
from tape.errors import BudgetExceededError, ModelError, TapeError, TraceError
from tape.files import append, replace_file
from tape.lm.base import Completion, LanguageModel, Request, Usage, is_remote
from tape.lm.batching import EpisodeBatch
from tape.plugins import load
from tape.protocols import EnvironmentPlugin
from tape.redaction import redacted
from tape.runner.commits import unwritten
from tape.runner.configurations import Job
from tape.runner.run_ledger import RunLedger, payer_of
from tape.runner.work import Keep, Played, Watcher, Work
from tape.trace import ActedEvent, Event, GeneratedEvent, TraceWriter, read_trace
from tape.waiting import run_sync

Opener = Callable[[str], LanguageModel]


def open_at_price(name: str, cache: Path | None = None, prices: Path | None = None) -> LanguageModel:
    """Open a model by its string, with its price, perhaps behind a completion cache (an SQLite file)."""
    from tape.lm.cache import CachedLM
    from tape.lm.price_table import PriceTable
    from tape.lm.priced import priced
    from tape.lm.registry import open_backend

    table = None if prices is None else PriceTable.load(prices)
    model = open_backend(name)
    return priced(model if cache is None else CachedLM(model, cache), name, table)


KEPT_OPEN = 2


class Models:
    """Opens models by name and keeps the last few open; configurations with one model usually follow each other."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._open: dict[str, LanguageModel] = {}

    def holds(self, name: str) -> bool:
        """Whether the model of that name is open."""
        return name in self._open

    def get(self, name: str, identity: str) -> LanguageModel:
        """The model of that name."""
        model = self._open.pop(name, None) or self._opener(name)
        self._open[name] = model  # now the last one used
        while len(self._open) > KEPT_OPEN:
            self._close(self._open.pop(next(iter(self._open))))
        if model.identity != identity:
            raise ModelError(
                f"the model {name} is {model.identity} where the episodes are to be played, but the run was configured "
                f"with {identity}; use the same weights and version everywhere"
            )
        return model

    def close(self) -> None:
        """Close all models."""
        while self._open:
            self._close(self._open.popitem()[1])

    @staticmethod
    def _close(model: LanguageModel) -> None:
        close = getattr(model, "close", None)
        if callable(close):
            close()


logger = logging.getLogger("tape.runner")

Listener = Callable[[str, Event], None]


class WorkerError(TapeError):
    """A worker failed or died; committed episodes are kept."""


class Pool(ABC):
    """Plays batches, for several runs one after the other; its owner closes it."""

    @abstractmethod
    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: RunLedger | None = None) -> None:
        """Play batches. An exception, also one of ``keep``, drops what is in flight.

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


class TextTrace(TraceWriter):
    """A trace that is kept as text until its episode is committed.

    Args:
        episode: The episode's key.
        listener: Called with every event.
        file: Gets what there is with every answer of a model and every action.
        held: How many events an earlier attempt has left there; they are replaced once there are more.
    """

    def __init__(self, episode: str, listener: Listener | None = None, file: Path | None = None, held: int = 0) -> None:
        super().__init__(episode, None, listener)
        self._text, self._unsaved, self._place, self._held = io.StringIO(), "", file, held

    def write(self, event: Event) -> None:
        """Append an event; a `RunDirectoryError` says that the disk does not take it."""
        super().write(event)
        saves = len(self.events) > self._held and isinstance(event, GeneratedEvent | ActedEvent)
        if self._place is not None and saves:
            self._save(self._place)

    def text(self) -> str:
        """The content of the trace file."""
        return self._text.getvalue()

    def _writes(self) -> bool:
        return True

    def _append(self, text: str, *, sync: bool = False) -> None:
        del sync
        self._text.write(text)
        if self._place is not None:
            self._unsaved += text

    def _save(self, place: Path) -> None:
        # Opened each time, since the episodes of a batch may be more than the files that a process may have open.
        try:
            if len(self._unsaved) == self._text.tell():  # the first time
                replace_file(place, self._unsaved)
            else:
                with place.open("ab", buffering=0) as file:
                    append(file.fileno(), self._unsaved.encode("ascii"))
        except FileNotFoundError:
            self._place = None  # the run's folder was taken away, as the next commit says
        except OSError as error:
            raise unwritten(place, error) from error
        self._unsaved = ""


class StopOnRefusal:
    """A payer that stops a batch when the run's budget refuses one of its episodes.

    From then on the batch would depend on a budget that is no part of the episodes' keys.
    """

    def __init__(self, payer: Payer) -> None:
        self._payer = payer
        self.rank = payer.rank
        self.refused: BudgetExceededError | None = None
        self.tasks: list[asyncio.Task[None]] = []

    def reserve(self, worst_case: Resources) -> Any:
        """See :class:`tape.budget.Payer`."""
        try:
            return self._payer.reserve(worst_case)
        except BudgetExceededError as error:
            self.refused = error
            for task in self.tasks:
                task.cancel()
            raise

    def settle(self, reservation: Any, actual: Resources) -> None:
        """See :class:`tape.budget.Payer`."""
        self._payer.settle(reservation, actual)

    def release(self, reservation: Any) -> None:
        """See :class:`tape.budget.Payer`."""
        self._payer.release(reservation)


async def play(
    work: Work,
    model: LanguageModel,
    keep: Callable[[Played], None],
    listener: Listener | None = None,
    payer: Payer | None = None,
) -> BudgetExceededError | None:
    """Play a batch, its episodes side by side.

    Args:
        work: The batch.
        model: The model of its configuration, opened.
        keep: Called with every episode when it ends; not with one that a refusal by the run's budget may have changed.
        listener: Called with every event.
        payer: The run's ledger, if it has one.

    Returns:
        The refusal by the payer that ended it, if one has.
    """
    plugin: EnvironmentPlugin = load("tape.environments", work.spec.environment)
    agent_class: type[Agent] = load("tape.agents", work.spec.agent)
    agent = agent_class(model, work.spec.config)
    jobs = [job for job in work.jobs if job.key not in work.kept] if is_remote(model) else work.jobs
    batch = EpisodeBatch(model, len(jobs))
    run = None if payer is None else StopOnRefusal(payer)
    shared = _Shared(work, plugin, agent, batch, keep, listener, run)
    tasks = [asyncio.create_task(_episode(shared, job, i)) for i, job in enumerate(jobs)]
    if run is not None:
        run.tasks = tasks
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if run is not None and run.refused:
            await asyncio.wait(tasks)
            done = {task for task in tasks if not task.cancelled()}
        for task in done:
            task.result()  # raises its exception without waiting for the others
    finally:
        for task in tasks:
            task.cancel()
        await batch.close()
    return None if run is None else run.refused


@dataclass(frozen=True)
class _Shared:
    """What the episodes of a batch share."""

    work: Work
    plugin: EnvironmentPlugin
    agent: Agent
    batch: EpisodeBatch
    keep: Callable[[Played], None]
    listener: Listener | None
    run: StopOnRefusal | None


async def _episode(shared: _Shared, job: Job, index: int) -> None:
    work, plugin, agent, run = shared.work, shared.plugin, shared.agent, shared.run
    spec, kept = work.spec, job.key in work.kept
    unfinished = None if kept or work.unfinished is None else work.unfinished / f"{job.key}.jsonl"
    # In a batch answers rest on what is asked beside them, and may come out otherwise.
    held = _left_by_an_attempt(unfinished) if len(work.jobs) == 1 or is_remote(agent.model) else ()
    model = shared.batch.slot(index)
    try:
        env = plugin.make(job.task)
        trace = TextTrace(job.key, shared.listener, unfinished, len(held))
        result = await agent.arun(
            env,
            budget=spec.caps(job.task),
            seed=spec.episode_seed(job.task, job.repeat),
            trace=trace,
            simulator=plugin.simulator(env) if spec.config.world_model == "simulator" else None,
            model=_KnownLM(model, held, booked=run is not None) if held else model,
            payer=run,
        )
    finally:
        await shared.batch.leave()
    if kept or (run is not None and run.refused):
        return
    line = {
        "key": job.key,
        "cell": work.configuration,
        "environment": spec.environment,
        "level_set": job.task.level_set,
        "task": job.task.id,
        "digest": job.task.digest,
        "repeat": job.repeat,
        "agent": spec.label(),
        "model": spec.model,
        "result": result.model_dump(mode="json"),
        "trace_hash": trace.last_hash,
    }
    # Redacted here too, because on another machine only the worker may know the secrets.
    shared.keep(Played(redacted(line), trace.text()))


def _left_by_an_attempt(place: Path | None) -> Sequence[Event]:
    """The events of an attempt that was cut off; none where there was none."""
    if place is None or not place.is_file():
        return ()
    try:
        return list(read_trace(place, whole=True))
    except TraceError as error:
        logger.warning("what an attempt has left cannot be read, and the episode begins anew: %s", error)
        return ()


class _KnownLM(ContinuedLM):
    """Gives the answers that an attempt has got already, as far as the same is asked; then the model's."""

    def __init__(self, model: LanguageModel, events: Sequence[Event], *, booked: bool) -> None:
        super().__init__(model, events)
        self._booked = booked

    def _usage(self, event: GeneratedEvent) -> Usage:
        return replace(super()._usage(event), cached=self._booked)

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        try:
            return await super().generate(requests)
        except NotRecordedError:
            self._answers.clear()
            return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        try:
            return await super().score_options(requests)
        except NotRecordedError:
            self._answers.clear()
            return await self._model.score_options(requests)


@dataclass(frozen=True)
class WorkReply:
    """The end of a :class:`Work` in a worker. Errors are text: not every exception survives pickling.

    Attributes:
        error: The reason of a failure, if it failed.
        refused: The fields of the refusal by the payer that ended it, if one has.
    """

    error: str | None = None
    refused: tuple[str, int, int, int, str, str] | None = None


def answer(
    work: Work,
    models: Models,
    keep: Callable[[Played], None],
    listener: Listener | None = None,
) -> WorkReply:
    """Play a batch in a worker; an error is part of the answer."""
    try:
        model = models.get(work.spec.model, work.spec.model_identity)
        one_thread()
        payer = None if work.paid_from is None else payer_of(work.paid_from)
        no = run_sync(play(work, model, keep, listener, payer))
        if no is None:
            return WorkReply()
        return WorkReply(refused=(no.kind, no.limit, no.used, no.requested, no.ledger, redacted(str(no))))
    except TapeError as error:
        return WorkReply(redacted(str(error)))
    except Exception:
        trace = redacted(traceback.format_exc())
        return WorkReply(f"an unexpected error, which is a fault of the program:\n{trace}")


def one_thread() -> None:
    """Limit torch, if a model has loaded it, to one thread: the user sets the number of workers."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
