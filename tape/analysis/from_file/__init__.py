"""A trace checked from its file alone: whatever in it follows from other lines of it is derived again.

One file for each kind of fact: :mod:`counts` (the result, calls, tokens, budgets), :mod:`steps` (observations, moves,
paths), :mod:`aec` (queries, verdicts, commitments), :mod:`search` (facts, beliefs, gates, reasons). The invariants of a
certified trajectory are :mod:`tape.analysis.revalidation`. No environment is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.analysis.from_file import aec, counts, search, steps
from tape.analysis.revalidation import Finding
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
    found = [Finding("books", None, what) for what in counts.wrong(events, events[0], result)]
    found += [Finding("steps", None, what) for what in steps.wrong(events, events[0])]
    found += [Finding("aec", None, what) for what in aec.wrong(events, result)]
    found += [Finding("search", None, what) for what in search.wrong(events, events[0], result)]
    return found
