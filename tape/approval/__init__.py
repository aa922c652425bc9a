"""Asking a person before an action is executed (docs/reference/control.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import partial
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tape.budget import amount_of, in_units, kind_of, kinds
from tape.budget.deadline import blocking, in_thread
from tape.errors import ApprovalError, ConfigError
from tape.protocols import Action, Domain, State
from tape.trace.events import Decision


class Approval(StrEnum):
    """What is decided about an action; what ``approve=`` of ``agent.run`` returns.

    ``ALLOW``: it is executed. ``REFUSE``: it is not executed, neither now nor later in the episode; the agent does
    without it. ``STOP``: it is not executed, and the episode ends as ``stopped``.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import Approval, ReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> def approve(request):
        ...     return Approval.ALLOW if request.step < 2 else Approval.STOP
        >>> result = ReactAgent("bundled:nano").run(env, approve=approve, approve_when=lambda request: True)
        >>> print(result.end_state, result.steps)
        stopped 2
    """

    ALLOW = "allow"
    REFUSE = "refuse"
    STOP = "stop"


DECISIONS: Mapping[Approval, Decision] = {
    Approval.ALLOW: "allowed",
    Approval.REFUSE: "refused",
    Approval.STOP: "stopped",
}
"""As the trace records them."""

Reason = Literal["destructive", "selected", "asked"]

AFTER_READING = "asked for after reading"
"""A note on an action that only programs have which were written after a result was shown."""
SECOND = AGAIN, PERHAPS_AGAIN = "it was done before", "it may have been done: a call gave no answer in time"
"""Notes on an action that is always asked about."""


@dataclass(frozen=True)
class ApprovalRequest:
    """An action to be approved; nothing is reserved or spent for it yet.

    Attributes:
        action: The action, just as it will be executed.
        shown: The same with what it refers to filled in, for instance the account's name in place of ``#1``.
        picture: The current state, as the domain draws it for people.
        cost: The action's worst case, in units by resource; None for an unknown amount.
        left: What is left of every capped resource, in units; real time is left out.
        rest: The rest of the path, as far as there is one.
        reason: ``destructive`` where the domain marks the action so, ``asked`` where a tool asks in words (then
            ``action`` is the question), else ``selected`` by ``approve_when``.
        step: Steps taken before it.
        note: What an agent says of it: it was done before, or it was asked for only after something was read.
        changes: Where plans are tried on copies, what the action and the rest of the path will change, a line each.

    Examples:
        >>> from tape import TapeAgent, ToolEnvironment, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool(usd="$0.01", destructive=True)
        ... def send(to: str) -> str:
        ...     "Send a mail."
        ...     return "sent"
        >>> model = ScriptedLM(lambda request, sample: 'answer(send("ann"))')
        >>> env = ToolEnvironment("Tell Ann.", [send], budget="$0.05")
        >>> def ask(request):
        ...     print(request)
        ...     return False
        >>> TapeAgent(model).run(env, approve=ask).end_state
        send(to="ann") (destructive)
        costs at most 1 step, $0.01; left: $0.05
        then: answer(send("ann"))
        'infeasible'
    """

    action: Action
    shown: str
    picture: str
    cost: Mapping[str, Decimal | None]
    left: Mapping[str, Decimal | None]
    rest: tuple[Action, ...]
    reason: Reason
    step: int
    changes: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        """The question for a person: every argument, long values cut one by one by both ends.

        Raises:
            UnshowableError: The action cannot be shown in full; an episode refuses it without asking.
        """
        from tape.tools.shown import LONGEST, escaped, shown_action

        cost = ", ".join(_written(kind, amount) for kind, amount in self.cost.items()) or "nothing"
        left = ", ".join(_written(kind, amount) for kind, amount in self.left.items()) or "everything (no caps)"
        note = f"; {self.note}" if self.note else ""
        lines = [f"{shown_action(self.shown)} ({self.reason}{note})", f"costs at most {cost}; left: {left}"]
        rest = (escaped(name if len(name) <= LONGEST else f"{name[:LONGEST]}...") for name in self.rest)
        lines += [f"then: {'; '.join(rest)}"] if self.rest else []
        lines += ["on a copy this changes:", *(f"  {escaped(line)}" for line in self.changes)] if self.changes else []
        return "\n".join(lines)

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """The arguments with which a tool or an action is called, results filled in; None where it takes none so."""
        from tape.tools.shown import arguments_of

        called = arguments_of(self.shown)
        return None if called is None else called[1]

    @property
    def whole(self) -> str:
        """The action with all of its arguments, nothing cut, for people.

        Raises:
            UnshowableError: See :meth:`__str__`.
        """
        from tape.tools.shown import arguments_of, pages_of, shown_action

        called = arguments_of(self.shown)
        return shown_action(self.shown) if called is None else "\n".join([called[0], *pages_of(called[1])])


def request_of(
    domain: Domain,
    state: State,
    action: Action,
    rest: Sequence[Action],
    left: Mapping[str, int | None],
    step: int,
) -> ApprovalRequest:
    """The request about an action; the arguments are its fields, ``left`` in counts."""
    return ApprovalRequest(
        action=action,
        shown=domain.spelled_out(state, action),
        picture=domain.render(state),
        cost=amounts(domain.cost(state, action)),
        left=amounts(left),
        rest=tuple(rest),
        reason="destructive" if domain.destructive(action) else "selected",
        step=step,
    )


Verdict: TypeAlias = bool | Approval
Approve: TypeAlias = Callable[[ApprovalRequest], Verdict | Awaitable[Verdict]]
"""Decides about an action: True or ``Approval.ALLOW``, False or ``Approval.REFUSE``, or ``Approval.STOP``."""

When: TypeAlias = Callable[[ApprovalRequest], bool]
"""Selects actions to ask about beside those that the domain marks as destructive."""


BEFORE_ASKING: list[Callable[[], object]] = []
"""Called before a person is asked, by displays that take their line away."""


class Approver:
    """Asks about actions.

    Args:
        approve: Decides.
        when: Selects actions beside the destructive ones.
        domain: The task.

    Raises:
        ConfigError: One of the two is not a function, or no action would ever be asked about.
    """

    def __init__(self, approve: Approve, when: When | None, domain: Domain) -> None:
        if not callable(approve):
            raise ConfigError(f"approve= is a function that is called with an ApprovalRequest, not {approve!r}")
        if when is not None and (not callable(when) or iscoroutinefunction(when)):
            raise ConfigError(f"approve_when= is a plain function of an ApprovalRequest, not {when!r}")
        if when is None and not domain.marks_destructive:
            raise ConfigError(
                f"approve= would never be called: {type(domain).__name__} marks no action as destructive; "
                "select the ones to ask about, for instance approve_when=lambda request: True"
            )
        self._approve, self._when = approve, when

    @property
    def selective(self) -> bool:
        """Whether it selects actions beside the destructive ones."""
        return self._when is not None

    def selects(self, request: ApprovalRequest) -> bool:
        """Whether to ask about an action that is not marked.

        Raises:
            ApprovalError: ``approve_when`` has failed, or returned neither True nor False.
        """
        if self._when is None:
            return False
        try:
            selected = self._when(request)
        except Exception as error:
            raise _failed("approve_when", request.action, error) from error
        if not isinstance(selected, bool):
            raise _unusable("approve_when", request.action, selected, "True or False")
        return selected

    async def ask(self, request: ApprovalRequest) -> tuple[Approval, str]:
        """Ask, as :func:`verdict_of`.

        An action that cannot be shown in full is refused without asking.

        Returns:
            The decision, and why it was asked or why it was not.

        Raises:
            ApprovalError: The function has failed, or returned something else.
        """
        from tape.tools.shown import UnshowableError

        try:
            _ = str(request), request.whole
        except UnshowableError as error:
            return Approval.REFUSE, f"its arguments cannot be shown in full: {error}"
        for clear in BEFORE_ASKING:
            clear()
        try:
            verdict = await verdict_of(self._approve, request)
        except Exception as error:
            raise _failed("approve", request.action, error) from error
        if isinstance(verdict, bool):
            return Approval.ALLOW if verdict else Approval.REFUSE, request.reason
        if not isinstance(verdict, Approval):
            raise _unusable("approve", request.action, verdict, "True, False or a member of tape.Approval")
        return verdict, request.reason


async def verdict_of(approve: Approve, request: ApprovalRequest) -> Verdict:
    """Ask: a coroutine function is awaited; a plain function is called in a thread of its own."""
    if iscoroutinefunction(approve):
        verdict: Verdict = await approve(request)
        return verdict
    called = await in_thread(partial(copy_context().run, approve, request), "approval")
    return await called if isawaitable(called) else called


def asked_by_caller(approve: Approve) -> Approve:
    """For ``agent.run``: a plain function is called in the thread that called it, which has nothing else to do.

    So ``input`` and Ctrl-C work as usual. Only under a cap on ``wall_seconds`` it gets a thread of its own, since the
    wait for an answer must end when the time is up.
    """
    if not callable(approve) or iscoroutinefunction(approve):
        return approve

    async def ask(request: ApprovalRequest) -> Verdict:
        verdict = await blocking(partial(copy_context().run, approve, request), "approval")
        return await verdict if isawaitable(verdict) else verdict

    return ask


def amounts(counts: Mapping[str, int | None]) -> Mapping[str, Decimal | None]:
    """Counts in units; a mapping that cannot be changed."""
    return MappingProxyType({kind: None if n is None else amount_of(kind, n) for kind, n in counts.items()})


def _written(kind: str, amount: Decimal | None) -> str:
    if amount is None:
        return f"an unknown amount of {kind}"
    return in_units(kind, kind_of(kind).count(amount) if kind in kinds() else int(amount))


def _failed(what: str, action: Action, error: Exception) -> ApprovalError:
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    return ApprovalError(f"{what} failed for {action!r}: {message}; the action was not executed")


def _unusable(what: str, action: Action, returned: object, expected: str) -> ApprovalError:
    if iscoroutine(returned):
        returned.close()
        returned = "a coroutine"
    return ApprovalError(f"{what} returned {returned!r} for {action!r}, not {expected}; the action was not executed")
