"""Whether a call was made whose worker has ended amid it."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tape.budget.claims import Effect
from tape.budget.deadline import blocking
from tape.errors import UnfinishedCallError, error_text
from tape.protocols import Action
from tape.tools.apart import Made
from tape.tools.calls import ANSWER, parse
from tape.tools.context import Contexts, ToolContext
from tape.tools.domain import ToolDomain
from tape.tools.errors import InvalidCallError
from tape.tools.results import as_asked, as_json
from tape.tools.state import ToolState
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox

UNSEEN = "done; its result was not seen"
"""Stands for the result of a call that is taken for done."""

GRACE = 10
"""Seconds of a lease beyond the timeout of a call."""


@dataclass(frozen=True)
class Happened:
    """A tool's ``outcome=`` returns it where the call was made.

    Attributes:
        result: What the call returned, or would have.

    Examples:
        >>> from tape import tool
        >>> from tape.tools import Happened, ToolContext
        >>> payments = {}
        >>> def was_paid(ctx: ToolContext, to: str):
        ...     return Happened(payments[ctx.key]) if ctx.key in payments else False
        >>> @tool(outcome=was_paid, usd=0)
        ... def pay(ctx: ToolContext, to: str) -> str:
        ...     "Pay somebody."
        ...     payments[ctx.key] = f"paid {to}"
        ...     return payments[ctx.key]
        >>> was_paid(ToolContext(None, key="k"), "ann")
        False
    """

    result: Any = None


class CallEffects:
    """What calls of tools do for good, as it is claimed.

    Args:
        domain: Says which calls are possible.
        toolbox: Has the tools.
        contexts: Makes keys and contexts.
    """

    def __init__(self, domain: ToolDomain, toolbox: Toolbox, contexts: Contexts) -> None:
        self._domain, self._toolbox, self._contexts = domain, toolbox, contexts

    def of(self, state: ToolState, action: Action) -> Effect | None:
        """See :meth:`tape.protocols.Environment.effect`; none in a run without a name."""
        asked = self._asked(state, action) if self._contexts.surroundings.run else None
        if asked is None or asked[0].pure:
            return None
        item, _, written = asked
        lease = 1 if item.timeout is None else math.ceil(item.timeout) + GRACE
        key = self._contexts.key(item.effect(json.loads(written)))
        self._contexts.claimed = Effect(key, item.idempotent or item.outcome is not None, lease)
        return self._contexts.claimed

    async def happened(self, state: ToolState, action: Action) -> Mapping[str, Any] | None:
        """See :meth:`tape.protocols.Environment.happened`."""
        asked = self._asked(state, action)
        assert asked is not None, "what was claimed is a call"
        item, arguments, written = asked
        return await asked_outcome(item, action, self._contexts.of(item, written), arguments)

    def _asked(self, state: ToolState, action: Action) -> tuple[Tool, dict[str, Any], str] | None:
        """The tool of a call, its arguments, and these in JSON; None of what is no possible call."""
        try:
            call = parse(action)
            if call.kind == ANSWER:
                return None
            self._domain.require_possible(state, call)
            item = self._toolbox.find(call)
            arguments = item.filled(call, state.values())
            return item, arguments, as_asked(arguments)
        except InvalidCallError:
            return None


async def asked_outcome(
    item: Tool, action: str, context: ToolContext, arguments: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """What came of a call, as of :meth:`tape.protocols.Environment.outcome`; None where it may be made.

    Raises:
        UnfinishedCallError: It cannot be told.
    """
    if item.outcome is None:
        return None
    names = inspect.signature(item.outcome).parameters
    call = partial(item.outcome, context, **{name: value for name, value in arguments.items() if name in names})
    try:
        told = call() if inspect.iscoroutinefunction(item.outcome) else await blocking(call, f"outcome of {item.name}")
        said = await told if inspect.isawaitable(told) else told
        if isinstance(said, Happened):
            return {"result": as_json(said.result)[1], "failure": None}
        why = "" if said is False else f"its outcome= returned {said!r:.80}"
    except Exception as error:
        why = f"its outcome= failed: {error_text(error)}"
    if why:
        raise UnfinishedCallError(
            f"{action} was under way when its worker ended, and {why}: the effect {context.key} may be done; find out, "
            "and say so by `tape ledger decide`",
            action,
        )
    return None


def made_before(outcome: Mapping[str, Any]) -> Made:
    """A call as it was recorded; of a lost result a text says so."""
    if "result" not in outcome:
        return Made(UNSEEN, UNSEEN, json.dumps(UNSEEN))
    plain = json.loads(outcome["result"])
    hint, late = outcome.get("hint", ""), bool(outcome.get("late"))
    return Made(plain, plain, outcome["result"], outcome["failure"], hint=hint, late=late)
