"""The options of ``agent.run`` and ``agent.plan``, and checks before anything is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tape.approval import Approve, Approver, When
from tape.budget import BudgetLike, Ledger, Payer
from tape.engine.episode import Episode
from tape.engine.settings import LM_ROLES, TapeConfig
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.protocols import Domain, Environment, WorldModel
from tape.protocols.prompt_format import PromptFormat
from tape.trace import Event, TraceWriter

Listener: TypeAlias = Callable[[Event], object]
"""Takes every event of an episode, in order."""


class PacedListener(ABC):
    """A listener that an episode waits for before it asks or does something."""

    @abstractmethod
    def __call__(self, event: Event) -> object:
        """Take an event."""

    @abstractmethod
    async def read(self) -> None:
        """Wait until all events are read."""


Play: TypeAlias = Callable[[Episode], Awaitable[None]]
"""Plays an episode that has begun."""


class Options(NamedTuple):
    """The options of both; see :meth:`tape.agents.base.Agent.arun`."""

    budget: BudgetLike = None
    seed: int = 0
    trace: TraceWriter | Path | str | None = None
    parent: Ledger | None = None
    payer: Payer | None = None
    simulator: WorldModel | None = None
    model: LanguageModel | None = None
    listener: Listener | None = None


def approver(approve: Approve | None, when: When | None, env: Environment) -> Approver | None:
    """The approver of actions, if there is one.

    Raises:
        ConfigError: See :class:`Approver`; or ``approve_when`` is given without ``approve``.
    """
    if approve is not None:
        return Approver(approve, when, env.domain)
    if when is not None:
        raise ConfigError("approve_when= selects actions that need approval; give approve= too")
    return None


def listen(writer: TraceWriter, listener: Listener | None) -> Callable[[], None]:
    """Call a listener with every event of a trace; returns the function that ends this.

    Raises:
        ConfigError: The listener is no plain function.
    """
    if listener is None:
        return lambda: None
    if not callable(listener) or iscoroutinefunction(listener):
        raise ConfigError(
            f"listener= is a plain function that is called with every event, not {listener!r}; a coroutine can read "
            "the events from a queue: listener=queue.put_nowait"
        )
    if isinstance(listener, PacedListener):
        writer.turn = listener.read
    return writer.listen(lambda _, event: listener(event))


def require_whole(prompt_format: PromptFormat, model: str) -> None:
    """Refuse prompts without requests for plans, scores, actions and answers.

    Raises:
        ConfigError: Names what can be played with them.
    """
    if prompt_format.instead:
        raise ConfigError(
            f"the prompts that {model} reads here ask for no plans and no actions: {prompt_format.instead}"
        )


def require_roles(config: TapeConfig, domain: Domain, prompt_format: PromptFormat, model: str) -> None:
    """Refuse switches that need a role which a model's prompts do not have, or that do not apply to a domain.

    Raises:
        ConfigError: Names the switch and what to do.
    """
    for name, role in LM_ROLES.items():
        if getattr(config, name) == "lm" and prompt_format.ask is None:
            raise ConfigError(
                f"{name}='lm': the prompts that {model} reads have no {role} role "
                f"({type(prompt_format).__name__} has no method ask, and the model was not trained on it); use "
                f"{name}='declared', or a general model, which reads chat prompts"
            )
    if config.mismatch == "needed" and domain.mismatch_test is None:
        raise ConfigError(
            f"mismatch='needed': {type(domain).__name__} does not declare which differences from a prediction matter "
            "(its mismatch_test is None); use mismatch='exact'"
        )
    if config.projector == "lm" and domain.outcomes is not None:
        raise ConfigError(
            f"projector='lm': {type(domain).__name__} declares the outcomes of actions, so its keys leave nothing to "
            "merge; use projector='declared'"
        )


def require_bounded(episode: Episode, what: str) -> None:
    """Refuse an episode without a horizon and without a cap on a resource that every action spends.

    Raises:
        ConfigError: Names ``what`` needs one.
    """
    costs = list(episode.possible_costs().values())
    spent = any(costs and all(cost[kind] for cost in costs) for kind in episode.ledger.capped())
    if episode.config.horizon is None and not spent:
        raise ConfigError(
            f"{what} needs a horizon, or a budget of something that every action spends; "
            "else an episode might never end"
        )
