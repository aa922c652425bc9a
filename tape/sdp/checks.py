"""Checks of SDP's verdicts and counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tape.protocols.method import Configured, Finding
from tape.sdp.adapter import Caps
from tape.sdp.agent import caps_of
from tape.sdp.events import ConcludedEvent, ValidatedEvent
from tape.sdp.settings import SdpSettings
from tape.trace import ActedEvent, Event, ObservedEvent


def wrong(events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what contradicts the events before it, and counters of the result that differ from the trace."""
    yield from _steps(events)
    verdicts = [event for event in events if isinstance(event, ValidatedEvent)]
    concluded = next((event for event in events if isinstance(event, ConcludedEvent)), None)
    counts = {
        "certified": sum(event.k for event in verdicts),
        "certifying": sum(event.k > 0 for event in verdicts),
        "cascades": sum(event.k > 1 for event in verdicts),
        "rejections": sum(not event.k and event.counts for event in verdicts),
        "chain_length": 0 if concluded is None else concluded.planned,
        "goal_certified": concluded is not None and concluded.goal_certified,
    }
    for name, counted in counts.items():
        if result["method"].get(name, 0) != counted:
            yield f"{name} is {result['method'].get(name)} in the result, counted {counted}"


def _steps(events: Sequence[Event]) -> Iterator[str]:
    """Check that verdicts name observed nodes and that the last attempt leads to the final state."""
    steps, seen = 0, list[str]()
    after: tuple[int, dict[str, Any]] | None = None
    for event in events:
        match event:
            case ActedEvent():
                steps += 1
            case ObservedEvent():
                seen.append(event.key)
            case ValidatedEvent():
                own = (seen[-2] if event.action is not None and len(seen) > 1 else seen[-1]) if seen else ""
                if seen and event.nodes != (own, seen[-1]):
                    yield f"the verdict at step {steps} is on the nodes {event.nodes!r:.120}, but others were observed"
                after = steps, event.after
            case ConcludedEvent() if event.state is not None and after is not None:
                if after[0] == steps and after[1] != event.state:
                    yield "the last attempt led to another state than the final one"
            case _:
                pass


def caps(events: Sequence[Event], config: Configured, of_environment: Caps) -> Iterator[Finding]:
    """Caps that are not those of the run.

    Args:
        events: The trace.
        config: The settings of the run.
        of_environment: The caps of its environment.
    """
    settings = SdpSettings.find(config)
    for event in events:
        if settings is not None and isinstance(event, ConcludedEvent) and event.caps:
            own = caps_of(settings, of_environment)
            attempts = own.attempts + settings.strict_algorithm1
            expected = {"attempts": attempts, "replans": own.replans, "steps": own.steps}
            if event.caps != expected:
                yield Finding("record", None, f"its caps are {event.caps}, and those of the run {expected}")
