"""What runs in a worker, be it a process of this machine or one of a cluster."""

from __future__ import annotations

import asyncio
import sys
import traceback
from dataclasses import dataclass

from tape.budget import Payer
from tape.errors import TapeError
from tape.runner.models import Models
from tape.runner.play import play
from tape.runner.work import Played, Work


@dataclass(frozen=True)
class Reply:
    """A worker's answer to a :class:`Work`. Errors are text: not every exception survives pickling.

    Attributes:
        played: The episodes, or None where it failed.
        error: Why it failed.
    """

    played: list[Played] | None
    error: str = ""


def answer(work: Work, models: Models, payer: Payer | None = None) -> Reply:
    """Play a cohort in a worker; an error is part of the answer.

    Args:
        work: The cohort.
        models: What the worker keeps open.
        payer: The way to the run's ledger, for a metered cohort.
    """
    try:
        model = models.get(work.spec.model, work.spec.model_identity)
        one_thread()
        return Reply(asyncio.run(play(work, model, payer=payer if work.metered else None)))
    except TapeError as error:
        return Reply(None, str(error))
    except Exception:
        return Reply(None, f"an unexpected error, which is a fault of the program:\n{traceback.format_exc()}")


def one_thread() -> None:
    """Keep torch, where a model has loaded it, to one thread: there are as many workers as the user wants."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
