"""Playing one batch, with the same code in this process, in a worker process and on another machine."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tape.agents.base import Agent
from tape.agents.recorded import ContinuedLM, UnansweredError
from tape.budget import Payer, Resources
from tape.errors import BudgetExceededError, TapeError, TraceError
from tape.files import append, open_plain, replace_file
from tape.lm.base import Completion, LanguageModel, Request, Usage, is_batch_invariant
from tape.lm.batching import EpisodeBatch
from tape.plugins import load
from tape.protocols import EnvironmentPlugin
from tape.redaction import redacted
from tape.runner.commits import unwritten
from tape.runner.configurations import Job
from tape.runner.models import Models
from tape.runner.work import Played, Work
from tape.trace import ActedEvent, Event, GeneratedEvent, ObservedEvent, StartedEvent, TraceWriter, read_trace
from tape.waiting import run_sync

logger = logging.getLogger("tape.runner")

Listener = Callable[[str, Event], None]


class TextTrace(TraceWriter):
    """A trace that is kept as text until its episode is committed.

    Args:
        episode: The episode's key.
        listener: Called with every event.
        file: Gets what there is with every answer of a model and every action.
        held: What an earlier attempt has left there, which is replaced once there is more.
    """

    def __init__(
        self, episode: str, listener: Listener | None = None, file: Path | None = None, held: Sequence[Event] = ()
    ) -> None:
        super().__init__(episode, None, listener)
        self._text, self._unsaved, self._place = io.StringIO(), "", file
        self._held = len(held)

    def write(self, event: Event) -> None:
        """Append an event.

        Raises:
            RunDirectoryError: The disk does not take it.
        """
        super().write(event)
        saves = isinstance(event, GeneratedEvent | ActedEvent) and len(self.events) > self._held
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
                file = open_plain(place, os.O_WRONLY | os.O_APPEND)
                try:
                    append(file, self._unsaved.encode("ascii"))
                finally:
                    os.close(file)
        except FileNotFoundError:
            self._place = None  # the run's folder was taken away, as the next commit says
        except OSError as error:
            raise unwritten(place, error) from error
        self._unsaved = ""


def progress(event: Event) -> Event | None:
    """What of an event shows how far an episode is: the tokens of an answer, what is left; None where it does not."""
    match event:
        case GeneratedEvent():
            return event.model_copy(update={"prompt": (), "texts": (), "weights": None, "logprobs": None})
        case ObservedEvent():
            return event.model_copy(update={"key": "", "picture": ""})
        case StartedEvent():
            return event.model_copy(update={"config": {}})
        case _:
            return None


class StopOnRefusal:
    """A payer that stops a batch when the run's budget refuses one of its episodes.

    From then on the batch would depend on a budget that is no part of the episodes' keys.

    Args:
        payer: The run's ledger, or a client of it.
    """

    def __init__(self, payer: Payer) -> None:
        self._payer = payer
        self.rank = payer.rank
        self.refused = False
        self.tasks: list[asyncio.Task[None]] = []

    def reserve(self, worst_case: Resources) -> Any:
        """See :class:`tape.budget.Payer`."""
        try:
            return self._payer.reserve(worst_case)
        except BudgetExceededError:
            self.refused = True
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
) -> None:
    """Play a batch, its episodes side by side.

    Args:
        work: The batch.
        model: The model of its configuration, opened.
        keep: Called with every episode when it ends; not with one that a refusal by the run's budget may have changed.
        listener: Called with every event.
        payer: The run's ledger, if it has one.
    """
    plugin: EnvironmentPlugin = load("tape.environments", work.spec.environment)
    agent_class: type[Agent] = load("tape.agents", work.spec.agent)
    agent = agent_class(model, work.spec.config)
    jobs = [job for job in work.jobs if job.key not in work.kept] if is_batch_invariant(model) else work.jobs
    batch = EpisodeBatch(model, len(jobs))
    run = None if payer is None else StopOnRefusal(payer)
    episodes = _Episodes(work, plugin, agent, batch, keep, listener, run)
    tasks = [asyncio.create_task(episodes.play(i, job)) for i, job in enumerate(jobs)]
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


@dataclass(frozen=True)
class _Episodes:
    """Plays the episodes of a batch, with what they have in common."""

    work: Work
    plugin: EnvironmentPlugin
    agent: Agent
    batch: EpisodeBatch
    keep: Callable[[Played], None]
    listener: Listener | None
    run: StopOnRefusal | None

    async def play(self, index: int, job: Job) -> None:
        """Play an episode and keep it."""
        work, spec, kept = self.work, self.work.spec, job.key in self.work.kept
        unfinished = None if kept or work.unfinished is None else work.unfinished / f"{job.key}.jsonl"
        alone = len(work.jobs) == 1 or is_batch_invariant(self.agent.model)
        model, held = self.batch.slot(index), _left_by_an_attempt(unfinished) if alone else ()
        try:
            env = self.plugin.make(job.task)
            trace = TextTrace(job.key, self.listener, unfinished, held)
            result = await self.agent.arun(
                env,
                budget=spec.caps(job.task),
                seed=spec.episode_seed(job.task, job.repeat),
                trace=trace,
                simulator=self.plugin.simulator(env) if spec.config.world_model == "simulator" else None,
                model=_KnownLM(model, held) if held else model,
                payer=self.run,
            )
        finally:
            await self.batch.leave()
        if kept or (self.run is not None and self.run.refused):
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
        self.keep(Played(redacted(line), trace.text()))


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

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        try:
            return await super().generate(requests)
        except UnansweredError:
            self._answers.clear()
            return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        try:
            return await super().score_options(requests)
        except UnansweredError:
            self._answers.clear()
            return await self._model.score_options(requests)


@dataclass(frozen=True)
class Reply:
    """The end of a :class:`Work` in a worker. Errors are text: not every exception survives pickling.

    Attributes:
        error: The reason of a failure, if it failed.
    """

    error: str | None = None


def answer(
    work: Work,
    models: Models,
    keep: Callable[[Played], None],
    listener: Listener | None = None,
    payer: Payer | None = None,
) -> Reply:
    """Play a batch in a worker; an error is part of the answer. ``payer`` pays for metered batches."""
    try:
        model = models.get(work.spec.model, work.spec.model_identity)
        one_thread()
        run_sync(play(work, model, keep, listener, payer if work.metered else None))
        return Reply()
    except TapeError as error:
        return Reply(redacted(str(error)))
    except Exception:
        trace = redacted(traceback.format_exc())
        return Reply(f"an unexpected error, which is a fault of the program:\n{trace}")


def one_thread() -> None:
    """Limit torch, if a model has loaded it, to one thread: the user sets the number of workers."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
