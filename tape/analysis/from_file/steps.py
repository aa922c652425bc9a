"""What was observed and done, step by step, and other events on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tape.budget.deadline import KIND as WALL
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    DifferedEvent,
    Event,
    GraphFoldedEvent,
    LedgerEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    ResumedEvent,
    StartedEvent,
)


def wrong(events: Sequence[Event], started: StartedEvent) -> Iterator[str]:
    """What does not follow from the observations and actions before it."""
    merged = (
        started.config.get("ablations", {}).get("merger", "declared") != "declared"
    )  # it decides which states are one
    caps: Mapping[str, int] = started.budget
    steps, left = 0, {kind: cap for kind, cap in caps.items() if kind != WALL}
    seen: list[str] = []
    links: set[tuple[str, str, str]] = set()
    for event in events:
        if isinstance(event, ActedEvent):
            steps += 1
        step = getattr(event, "step", steps)
        if step != steps:
            yield f"{event.type} is of step {step}, after {steps} actions"
        match event:
            case ObservedEvent():
                seen.append(event.key)
                yield from _left(event, left)
            case LedgerEvent() if event.what == "settle":
                left = {kind: count - (event.amounts.get(kind) or 0) for kind, count in left.items()}
            case ResumedEvent():
                left = {kind: count + event.budget.get(kind, caps[kind]) - caps[kind] for kind, count in left.items()}
                caps = event.budget
            case MismatchEvent() | DifferedEvent():
                if seen and not merged and event.observed != seen[-1]:
                    yield f"{event.type} at step {step} is of {event.observed!r:.80}, and {seen[-1]!r:.80} was observed"
                if event.observed == event.predicted:
                    yield f"{event.type} at step {step} predicts what was observed"
            case GraphFoldedEvent():
                links = {_link(link) for link in event.graph.get("links", [])}
            case PathSelectedEvent() if event.nodes and not event.expected:
                taken = zip(event.nodes, event.actions, event.nodes[1:], strict=False)
                if len(event.nodes) != len(event.actions) + 1 or not {*taken} <= links:
                    yield f"the path that was selected after step {steps} is not one of the graph"
            case ActionsSampledEvent() if event.chosen not in event.actions:
                yield f"{event.chosen!r} was chosen at step {steps}, and not sampled"
            case _:
                pass


def _left(event: ObservedEvent, left: Mapping[str, int]) -> Iterator[str]:
    """No more is left than was not spent; less, where something is set aside."""
    for kind, count in left.items():
        if event.remaining.get(kind, 0) > max(0, count):
            yield f"{event.remaining[kind]} {kind} are left at step {event.step}, and {count} were not spent"


def _link(link: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(link.get("source")), str(link.get("action")), str(link.get("target"))
