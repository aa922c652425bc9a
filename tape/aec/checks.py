"""Queries, beliefs, verdicts and commitments of AEC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tape.aec.events import CommittedEvent, PredictedEvent, QueriedEvent, RuleDisabledEvent, VerifiedEvent
from tape.trace import Event, PathSelectedEvent


def wrong(events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what contradicts the events before it, and counters of the result that differ from the trace."""
    counts = Counter[str]()
    disabled: set[str] = set()
    last: Event | None = None
    for event in events:
        match event:
            case PredictedEvent():
                counts["simulations"] += event.simulated is not None
                if event.simulated not in (None, event.mu >= 0.5):
                    yield f"{event.predicate} is believed {event.simulated} at a probability of {event.mu}"
            case QueriedEvent():
                counts["queries"] += bool(event.actions)
                if event.value is None and event.predicate in event.revealed:
                    yield f"the query of {event.predicate} revealed it but has no value"
            case VerifiedEvent():
                counts["refusals"] += not event.accepted
                if event.accepted != (not event.witnesses and not event.reason):
                    verdict = "accepted" if event.accepted else "refused"
                    yield f"{'; '.join(event.actions)} was {verdict} against its witnesses"
            case CommittedEvent():
                counts["commitments"] += 1
                yield from _committed(event, last, events)
            case RuleDisabledEvent():
                disabled.add(event.rule)
            case _:
                pass
        last = event
    counted = result["method"]
    for name in ("queries", "simulations", "refusals", "commitments"):
        if counted.get(name, 0) != counts[name]:
            yield f"{name} is {counted.get(name)} in the result, counted {counts[name]}"
    if counted.get("disabled_rules", []) != sorted(disabled):
        yield f"disabled_rules is {counted.get('disabled_rules')} in the result, logged {sorted(disabled)}"


def _committed(event: CommittedEvent, last: Event | None, events: Sequence[Event]) -> Iterator[str]:
    """Check that the committed path was selected and, if it is certified, that it was accepted."""
    if not isinstance(last, PathSelectedEvent) or last.actions != event.actions:
        yield f"{'; '.join(event.actions)} was committed to but not selected"
    accepted = any(isinstance(one, VerifiedEvent) and one.accepted and one.actions == event.actions for one in events)
    if event.certified and not accepted:
        yield f"{'; '.join(event.actions)} was committed to but not accepted"
