"""Playing one batch, with the same code in this process, in a worker process and on another machine."""

from __future__ import annotations

import asyncio
import io
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tape.agents.base import Agent
from tape.budget import Payer, Resources
from tape.errors import BudgetExceededError, TapeError
from tape.lm.base import LanguageModel
from tape.lm.batching import EpisodeBatch
from tape.plugins import load
from tape.protocols import EnvironmentPlugin
from tape.redaction import redacted
from tape.runner.configurations import Job
from tape.runner.models import Models
from tape.runner.work import Played, Work
from tape.trace import Event, TraceWriter
from tape.waiting import run_sync

Listener = Callable[[str, Event], None]


class TextTrace(TraceWriter):
    """A trace that is kept as text until its batch is committed."""

    def __init__(self, episode: str, listener: Listener | None = None) -> None:
        super().__init__(episode, None, listener)
        self._text = io.StringIO()

    def text(self) -> str:
        """The content of the trace file."""
        return self._text.getvalue()

    def _writes(self) -> bool:
        return True

    def _append(self, text: str, *, sync: bool = False) -> None:
        del sync
        self._text.write(text)


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
        self.tasks: list[asyncio.Task[Played]] = []

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
    work: Work, model: LanguageModel, listener: Listener | None = None, payer: Payer | None = None
) -> list[Played]:
    """Play a batch, its episodes side by side.

    Args:
        work: The batch.
        model: The model of its configuration, opened.
        listener: Called with every event.
        payer: The run's ledger, if it has one.

    Returns:
        The episodes, in the order of the jobs; after a refusal by the run's budget only those that had ended before.
    """
    plugin: EnvironmentPlugin = load("tape.environments", work.spec.environment)
    agent_class: type[Agent] = load("tape.agents", work.spec.agent)
    agent = agent_class(model, work.spec.config)
    batch = EpisodeBatch(model, len(work.jobs))
    run = None if payer is None else StopOnRefusal(payer)
    tasks = [
        asyncio.create_task(_episode(work, job, plugin, agent, batch, i, listener, run))
        for i, job in enumerate(work.jobs)
    ]
    if run is not None:
        run.tasks = tasks
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if run is not None and run.refused:
            await asyncio.wait(tasks)
            ended = [task for task in tasks if not task.cancelled()]
            return [played for played in (task.result() for task in ended) if played.whole]
        for task in done:
            task.result()  # raises its exception without waiting for the others
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await batch.close()


async def _episode(
    work: Work,
    job: Job,
    plugin: EnvironmentPlugin,
    agent: Agent,
    batch: EpisodeBatch,
    index: int,
    listener: Listener | None,
    run: StopOnRefusal | None,
) -> Played:
    spec = work.spec
    try:
        env = plugin.make(job.task)
        trace = TextTrace(job.key, listener)
        result = await agent.arun(
            env,
            budget=spec.caps(job.task),
            seed=spec.episode_seed(job.task, job.repeat),
            trace=trace,
            simulator=plugin.simulator(env) if spec.config.world_model == "simulator" else None,
            model=batch.slot(index),
            payer=run,
        )
    finally:
        await batch.leave()
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
    return Played(redacted(line), trace.text(), whole=run is None or not run.refused)


@dataclass(frozen=True)
class Reply:
    """A worker's answer to a :class:`Work`. Errors are text: not every exception survives pickling.

    Attributes:
        played: The episodes; None if it failed.
        error: The reason of a failure.
    """

    played: list[Played] | None
    error: str = ""


def answer(work: Work, models: Models, payer: Payer | None = None) -> Reply:
    """Play a batch in a worker; an error is part of the answer. ``payer`` pays for metered batches."""
    try:
        model = models.get(work.spec.model, work.spec.model_identity)
        one_thread()
        return Reply(run_sync(play(work, model, payer=payer if work.metered else None)))
    except TapeError as error:
        return Reply(None, redacted(str(error)))
    except Exception:
        trace = redacted(traceback.format_exc())
        return Reply(None, f"an unexpected error, which is a fault of the program:\n{trace}")


def one_thread() -> None:
    """Limit torch, if a model has loaded it, to one thread: the user sets the number of workers."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
