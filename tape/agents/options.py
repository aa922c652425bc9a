"""What ``agent.run`` and ``agent.plan`` are told beside the environment, and what is checked of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tape.budget import Budget, Ledger, Payer
from tape.engine.approval import Approve, Approver, When
from tape.engine.episode import Episode
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.protocols import Environment, WorldModel
from tape.trace import Event, TraceWriter

Listener: TypeAlias = Callable[[Event], object]
"""Takes every event of an episode, in order."""

Play: TypeAlias = Callable[[Episode], Awaitable[None]]
"""What is done in an episode once it has begun."""


class Options(NamedTuple):
    """What both take; see :meth:`tape.agents.base.Agent.arun`."""

    budget: Budget | None = None
    seed: int = 0
    trace: TraceWriter | Path | None = None
    parent: Ledger | None = None
    payer: Payer | None = None
    simulator: WorldModel | None = None
    model: LanguageModel | None = None
    listener: Listener | None = None


def approver(approve: Approve | None, when: When | None, env: Environment) -> Approver | None:
    """Who is asked before actions are executed, if anybody.

    Raises:
        ConfigError: See :class:`Approver`; or actions are selected, and nobody is to be asked.
    """
    if approve is not None:
        return Approver(approve, when, env.domain)
    if when is not None:
        raise ConfigError("approve_when= selects actions to ask about, but nobody is asked; give approve= too")
    return None


def listen(writer: TraceWriter, listener: Listener | None) -> Callable[[], None]:
    """Let somebody listen to a trace; returns what ends that.

    Raises:
        ConfigError: It is no plain function.
    """
    if listener is None:
        return lambda: None
    if not callable(listener) or iscoroutinefunction(listener):
        raise ConfigError(
            f"listener= is a plain function that is called with every event, not {listener!r}; a coroutine can read "
            "the events from a queue: listener=queue.put_nowait"
        )
    return writer.listen(lambda _, event: listener(event))
