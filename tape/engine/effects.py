"""Actions that change something, where a store pays: each is claimed with its worst case, and so made once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from tape.budget import Ledger, Reservation, Resources
from tape.budget.claims import Effect, claiming
from tape.budget.payer import calling
from tape.errors import UnfinishedCallError
from tape.protocols import Action, Environment
from tape.redaction import redacted

SHORTEST, LONGEST = 0.02, 2.0
"""Seconds between two looks at an effect that another worker is at."""


async def reserved(ledger: Ledger, action: Action, effect: Effect | None, worst: Resources) -> Reservation:
    """Set the worst case of an action aside, and claim its effect; waits while another worker is at it.

    Raises:
        BudgetExceededError: It does not fit.
    """
    if effect is None:
        return ledger.reserve(worst)
    while True:
        with claiming(effect), calling(redacted(action), counts=False):
            reservation = ledger.reserve(worst)
        claimed = effect.claimed
        if claimed is None or claimed.state != "busy":
            return reservation
        reservation.release()
        await asyncio.sleep(min(max(claimed.seconds, SHORTEST), LONGEST))


async def made_before(env: Environment, action: Action, effect: Effect | None) -> Mapping[str, Any] | None:
    """What came of an action that was done before, perhaps by another worker; None where it is to be done.

    Raises:
        UnfinishedCallError: Whether it was done is not known, and somebody has to say so.
    """
    claimed = None if effect is None else effect.claimed
    if claimed is None or claimed.state == "claimed":
        return None
    if claimed.state == "done":
        return dict(json.loads(claimed.outcome or "{}"))  # a person may not know what it returned
    if claimed.state == "taken":
        return await env.happened(action)
    raise UnfinishedCallError(
        f"{action} was under way when its worker ended, and may be done: the effect {claimed.key} is unknown; find "
        "out, and say so by `tape ledger decide`",
        action,
    )


def ended(effect: Effect | None, outcome: Mapping[str, Any]) -> None:
    """Note how a call has ended, for the claim of its effect."""
    if effect is not None:
        end = "unknown" if outcome.get("late") else "failed" if outcome.get("failure") is not None else "done"
        effect.end = (end, json.dumps(dict(outcome)) if end == "done" else "")  # type: ignore[assignment]
