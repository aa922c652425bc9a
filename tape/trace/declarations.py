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
    for found in broken:
        logger.warning(
            "%s used %s where at most %s was declared; correct the declared worst case, else hard caps cannot be kept",
            purpose,
            in_units(found.kind, found.used),
            in_units(found.kind, found.declared),
        )
        if trace is not None:
            event = CostAboveBoundEvent(purpose=purpose, kind=found.kind, declared=found.declared, used=found.used)
            trace.write(event)
