"""Costs above the declared bound: more was used than was declared as the worst case."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tape.budget import Broken, in_units
from tape.trace.events import CostAboveBoundEvent
from tape.trace.file import TraceWriter

logger = logging.getLogger("tape.budget")


def report_costs_above_bound(trace: TraceWriter | None, purpose: str, broken: Sequence[Broken]) -> None:
    """Report a cost above its declared bound at once, in the log and in the trace.

    Args:
        trace: The episode's event log, if there is one.
        purpose: Who, for instance ``step:search``.
        broken: What the ledger found.
    """
    for result in broken:
        logger.warning(
            "%s used %s where at most %s was declared; correct the declared worst case, else hard caps cannot be kept",
            purpose,
            in_units(result.kind, result.used),
            in_units(result.kind, result.declared),
        )
        if trace is not None:
            event = CostAboveBoundEvent(purpose=purpose, kind=result.kind, declared=result.declared, used=result.used)
            trace.write(event)
