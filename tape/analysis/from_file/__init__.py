"""A trace checked from its file alone: whatever in it follows from other lines of it is derived again.

One file for each kind of fact: :mod:`counts` (the result, calls, tokens, budgets), :mod:`steps` (observations, moves,
paths), and for each method what it checks itself (:meth:`tape.protocols.method.Method.wrong`). The invariants of a
certified trajectory are :mod:`tape.sdp.revalidation`. No environment is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.analysis.from_file import counts, steps
from tape.protocols.method import Finding, methods
from tape.trace import Event, FinishedEvent, StartedEvent


def from_file(events: Sequence[Event]) -> list[Finding]:
    """Everything in a trace that does not follow from the lines that it should follow from.

    Args:
        events: The trace.
    """
    ends = [event for event in events if isinstance(event, FinishedEvent)]
    if len(ends) != 1 or events[-1] is not ends[0] or not isinstance(events[0], StartedEvent):
        return [Finding("books", None, "a trace begins and ends with one event of its own")]
    result = ends[0].result
    found = [Finding("books", None, what) for what in counts.wrong(events, result)]
    found += [Finding("steps", None, what) for what in steps.wrong(events, events[0])]
    for method in methods():
        found += [Finding(method.name, None, what) for what in method.wrong(events, result)]
    return found
