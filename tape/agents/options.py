"""The options of ``agent.run`` and ``agent.plan``, and checks before anything is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypedDict

from typing_extensions import TypeVar

from tape.approval import Approve, Approver, When
from tape.budget import Budget, BudgetLike, Ledger, Payer
from tape.budget.deadline import KIND as WALL
from tape.engine.episode import Episode
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.protocols import Environment, WorldModel
from tape.trace import Event, TraceWriter

if TYPE_CHECKING:
    from tape.agents.resume import OnUnfinished
    from tape.tools.answer_rules import AnswerCheck
    from tape.tools.context import Instructions
    from tape.tools.history import History
    from tape.tools.tool import Tool

DepsT = TypeVar("DepsT", default=Any)
"""The type of what a run hands its tools."""

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


class PlanOptions(TypedDict, total=False):
    """What ``agent.plan`` takes beside the environment, and ``agent.run`` too.

    Attributes:
        budget: Hard caps: a `Budget`, a text such as ``"$0.05, 20 steps"``, or amounts by resource.
        seed: Root of all randomness.
        trace: A writer, or a file for the event log.
        parent: An enclosing ledger; the agent plans within the rest of its caps too.
        payer: A run's ledger: it must grant every reservation, but the agent does not see its caps.
        simulator: The exact world model for ``world_model="simulator"``.
        model: Replaces the agent's own model (a batch's view of it).
        listener: Called with every event as it is written. An exception is logged, and ends the calls.
        max_turns: A cap on requests to the model, beside those of the budget.
        max_seconds: A cap on real time.
        caller: The call of another agent that this run is made for, as its trace says.
        run: The run's own name. Begun again with this name and a payer of the same scope, by another worker too, it
            makes no effect twice (docs/reference/effects.md).
    """

    budget: BudgetLike
    seed: int
    trace: TraceWriter | Path | str | None
    parent: Ledger | None
    payer: Payer | None
    simulator: WorldModel | None
    model: LanguageModel | None
    listener: Listener | None
    max_turns: int
    max_seconds: float
    caller: str
    run: str


class ApprovalOptions(TypedDict, total=False):
    """Who is asked before something is done.

    Attributes:
        approve: Decides about every action that the domain marks as destructive; None: such actions are executed like
            all others. A coroutine function, or a plain one, which is called in a thread of its own
            (docs/reference/control.md).
        approve_when: Selects further actions that need approval.
    """

    approve: Approve | None
    approve_when: When | None


class RunOptions(PlanOptions, ApprovalOptions, total=False):
    """What ``agent.run``, ``arun`` and ``stream`` take beside the environment."""


class TaskTools(TypedDict, total=False):
    """What an agent may be given for tasks in words beside its tools.

    Attributes:
        instructions: How to work: a text, or a plain or asynchronous function of a :class:`tape.tools.ToolContext`.
        examples: Tasks and the programs that do them, with these tools; in the place of two of another subject.
        answer_check: A plain or asynchronous function of the answer, or of the context and the answer: says why the
            answer is sent back, or None where it will do.
        answer_tries: Answers that may be given until one will do; 2 by default. Each is a request to the model.
        history_tokens: Tokens of a prompt that earlier turns take at most.
    """

    instructions: Instructions
    examples: Sequence[tuple[str, str]]
    answer_check: AnswerCheck | None
    answer_tries: int
    history_tokens: int


class TaskOptions(PlanOptions, Generic[DepsT], total=False):
    """What ``agent.plan`` takes beside a task in words.

    Attributes:
        deps: What the tools that take a :class:`tape.tools.ToolContext` get.
        history: ``result.history`` of the turn before, or its JSON.
    """

    deps: DepsT
    history: History | Mapping[str, Any] | str | None


class TaskRunOptions(TaskOptions[DepsT], ApprovalOptions, Generic[DepsT], total=False):
    """What ``agent.run``, ``arun`` and ``stream`` take beside a task in words."""


class ResumeOptions(ApprovalOptions, total=False):
    """What ``agent.resume`` takes beside the trace and the environment.

    Attributes:
        tools: The tools, where the environment was ``ToolEnvironment(task, tools)``; not where the agent has them.
        deps: What the tools get, where the task was given in words.
        budget: Higher caps, for instance ``"$0.10"``; the others stay as they were.
        on_unfinished: What becomes of a call that was under way and is not declared pure: ``ask`` raises
            :class:`tape.errors.UnfinishedCallError`; ``assume_done`` takes it for done, its result unknown; ``retry``
            makes it again. A mapping such as ``{error.action: 3}`` has the result that was found out.
        parent: An enclosing ledger; all that the episode used and uses is booked there.
        payer: A run's ledger, likewise.
        simulator: As in :class:`PlanOptions`.
        model: Replaces the agent's own model.
        listener: Called with every event, the recorded ones first.
        steps_again: The environment is a simulator, so its steps may be done again, as one whose actions are not
            recorded needs it.
    """

    tools: Sequence[Tool] | None
    deps: Any
    budget: BudgetLike
    on_unfinished: OnUnfinished
    parent: Ledger | None
    payer: Payer | None
    simulator: WorldModel | None
    model: LanguageModel | None
    listener: Listener | None
    steps_again: bool


class Options(NamedTuple):
    """:class:`PlanOptions`, with what holds where one is left out."""

    budget: BudgetLike = None
    seed: int = 0
    trace: TraceWriter | Path | str | None = None
    parent: Ledger | None = None
    payer: Payer | None = None
    simulator: WorldModel | None = None
    model: LanguageModel | None = None
    listener: Listener | None = None
    max_turns: int | None = None
    max_seconds: float | None = None
    caller: str = ""
    run: str = ""

    def caps(self) -> Budget:
        """The caps that are given.

        Raises:
            ConfigError: One is no amount.
        """
        caps = Budget.read(self.budget)
        for name, kind in (("max_turns", "calls"), ("max_seconds", WALL)):
            if (most := getattr(self, name)) is not None:
                try:
                    caps |= Budget.of(**{kind: most})
                except ConfigError as error:
                    raise ConfigError(f"{name}={most!r}: {error}") from None
        return caps


def require_known(given: Mapping[str, object], options: type) -> None:
    """Refuse what is no option.

    Raises:
        TypeError: There is no such option; names the nearest.
    """
    known = [*options.__annotations__]
    if unknown := sorted(given.keys() - known):
        near = get_close_matches(unknown[0], known, n=1)
        raise TypeError(f"there is no option {unknown[0]}=" + (f"; did you mean {near[0]}=?" if near else ""))


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
