"""Whether a trace adds up: what its result counts is what its events show. No environment is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tape.analysis.revalidation import Finding
from tape.sdp.events import ConcludedEvent, ValidatedEvent
from tape.trace import (
    ActedEvent,
    AnsweredEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    LedgerEvent,
    MalformedEvent,
    MismatchEvent,
    ReplannedEvent,
    StartedEvent,
)

RULE = "books"


def books(events: Sequence[Event]) -> list[Finding]:
    """What the result of an episode says otherwise than its events.

    Args:
        events: A trace.
    """
    finished = [event for event in events if isinstance(event, FinishedEvent)]
    if len(finished) != 1 or events[-1] is not finished[0] or not isinstance(events[0], StartedEvent):
        return [Finding(RULE, None, "a trace begins and ends with one event of its own")]
    result = finished[0].result
    found = []
    for name, counted in _counted(events):
        told = result.get(name)
        if isinstance(counted, dict) and isinstance(told, dict):
            told = {key: value for key, value in told.items() if value}
        if told != counted:
            found.append(Finding(RULE, None, f"{name} is {_short(told)} in the result, counted {_short(counted)}"))
    numbers = [event.count for event in events if isinstance(event, ReplannedEvent)]
    if numbers != [*range(1, len(numbers) + 1)]:
        found.append(Finding(RULE, None, "the replanning rounds are not numbered one by one"))
    return found


def _counted(events: Sequence[Event]) -> Iterator[tuple[str, Any]]:
    """Fields of a result, as the events have them."""
    kinds = Counter(type(event) for event in events)
    acted = [event.action for event in events if isinstance(event, ActedEvent)]
    yield "steps", len(acted)
    yield "actions", acted
    yield "replans", kinds[ReplannedEvent]
    yield "mismatches", kinds[MismatchEvent]
    yield "malformed", kinds[MalformedEvent]
    yield from _words(events)
    used: Counter[str] = Counter()
    unknown = set()
    for event in events:
        if isinstance(event, LedgerEvent) and event.what == "settle":
            used.update({kind: count for kind, count in event.amounts.items() if count})
            unknown |= {kind for kind, count in event.amounts.items() if count is None}
    if not unknown:
        yield "used", {kind: count for kind, count in used.items() if count}
    answered = [event.text for event in events if isinstance(event, AnsweredEvent)]
    yield "final_answer", answered[-1] if answered else None
    for concluded in (event for event in events if isinstance(event, ConcludedEvent)):
        verdicts = [event for event in events if isinstance(event, ValidatedEvent)]
        yield "certified", sum(event.k for event in verdicts)
        yield "certifying", sum(event.k > 0 for event in verdicts)
        yield "cascades", sum(event.k > 1 for event in verdicts)
        yield "rejections", sum(not event.k and event.counts for event in verdicts)
        yield "chain_length", concluded.planned
        yield "goal_certified", concluded.goal_certified


def _words(events: Sequence[Event]) -> Iterator[tuple[str, Any]]:
    """Tokens of the model's prompts and answers, by role."""
    prompts: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    for event in events:
        if isinstance(event, GeneratedEvent):
            prompts[event.role] += event.prompt_tokens
            answers[event.role] += event.completion_tokens
    for name, counts in (("prompt_tokens", prompts), ("completion_tokens", answers)):
        yield name, {role: count for role, count in counts.items() if count}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]} ..."


def same_result(record: Mapping[str, Any], finished: Mapping[str, Any]) -> list[str]:
    """The fields in which an episode's record and the result at the end of its trace differ."""
    return sorted(name for name in {*record, *finished} if record.get(name) != finished.get(name))
