"""What the result of an episode counts, counted again from its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tape.trace import (
    ActedEvent,
    AnsweredEvent,
    CostAboveBoundEvent,
    Event,
    GeneratedEvent,
    LedgerEvent,
    MalformedEvent,
    MismatchEvent,
    ReplannedEvent,
    caps_of,
)

_MODEL = "lm:"
_LACKS = object()


def wrong(events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
    """Where a result differs from the events, and a payment from what it paid for."""
    for name, counted in (*_counted(events), *_calls(events, result)):
        recorded = result.get(name, counted)  # older results lack the younger counts
        if isinstance(counted, dict) and isinstance(recorded, dict):
            recorded = {key: value for key, value in recorded.items() if value}
        if recorded != counted:
            yield f"{name} is {_short(recorded)} in the result, counted {_short(counted)}"
    if result.get("success") != (result.get("end_state") == "success"):
        yield f"success is {result.get('success')} with the end state {result.get('end_state')!r}"
    numbers = [event.count for event in events if isinstance(event, ReplannedEvent)]
    if numbers != [*range(1, len(numbers) + 1)]:
        yield "the replanning rounds are not numbered one by one"
    yield from _budget(caps_of(events), result)
    yield from _payments(events)


def _counted(events: Sequence[Event]) -> Iterator[tuple[str, Any]]:
    """Fields of a result, as the events have them."""
    kinds = Counter(type(event) for event in events)
    acted = [event.action for event in events if isinstance(event, ActedEvent)]
    yield "steps", len(acted)
    yield "actions", acted
    yield "replans", kinds[ReplannedEvent]
    yield "mismatches", kinds[MismatchEvent]
    yield "malformed", kinds[MalformedEvent]
    yield "budget", {kind: cap for kind, cap in caps_of(events).items() if cap}
    yield (
        "broken_declarations",
        dict(Counter(event.kind for event in events if isinstance(event, CostAboveBoundEvent))),
    )
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


def _calls(events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Calls of the model and their tokens, by role; an endpoint may have been called more than once for an answer."""
    answered, prompts, answers = Counter[str](), Counter[str](), Counter[str]()
    for event in events:
        if isinstance(event, GeneratedEvent):
            answered[event.role] += 1
            prompts[event.role] += event.prompt_tokens
            answers[event.role] += event.completion_tokens
    ledger = [event for event in events if isinstance(event, LedgerEvent) and event.what == "settle"]
    paid = sum(event.amounts.get("calls") or 0 for event in ledger if event.purpose.startswith(_MODEL))
    if paid == answered.total():
        yield "lm_calls", dict(answered)
    else:
        calls = result.get("lm_calls") or {}
        least = all(calls.get(role, 0) >= count for role, count in answered.items()) and {*calls} <= {*answered}
        yield "lm_calls", calls if least and sum(calls.values()) <= paid else dict(answered)
    for name, counts in (("prompt_tokens", prompts), ("completion_tokens", answers)):
        yield name, {role: count for role, count in counts.items() if count}


def _budget(caps: Mapping[str, int], result: Mapping[str, Any]) -> Iterator[str]:
    """Nothing was paid that was not used, and what was used above a cap is listed."""
    used, paid, violations = (result.get(name) for name in ("used", "paid", "budget_violations"))
    if not isinstance(used, Mapping):
        return
    if isinstance(paid, Mapping) and any((paid[kind] or 0) > (used.get(kind) or 0) for kind in paid if kind in used):
        yield f"{_short(dict(paid))} was paid, and only {_short(dict(used))} used"
    over = sorted(kind for kind, cap in caps.items() if (used.get(kind) or 0) > cap)
    if isinstance(violations, list) and sorted(violations) != over:
        yield f"budget_violations is {violations} in the result, counted {over}"


def _payments(events: Sequence[Event]) -> Iterator[str]:
    """What was settled is what the answers and the action beside it took."""
    for number, event in enumerate(events):
        if not isinstance(event, LedgerEvent) or event.what != "settle":
            continue
        after = events[number + 1 :]
        if event.purpose.startswith(_MODEL):
            answered_by = [*_answers(after)]
            tokens = sum(one.prompt_tokens + one.completion_tokens for one in answered_by)
            roles = ",".join(sorted({one.role for one in answered_by}))
            amounts = (event.amounts.get("tokens") or 0, event.purpose.removeprefix(_MODEL))
            if answered_by and (amounts != (tokens, roles) or (event.amounts.get("calls") or 0) < len(answered_by)):
                amount = _short(event.amounts)
                yield f"{event.purpose} was settled with {amount} for {len(answered_by)} answers of {tokens} tokens"
        else:
            acted = next((one for one in after if not isinstance(one, CostAboveBoundEvent)), None)
            if isinstance(acted, ActedEvent) and (f"step:{acted.action}", acted.cost) != (event.purpose, event.amounts):
                amount = _short(event.amounts)
                yield f"{event.purpose} was settled with {amount}, and {acted.action!r} cost {_short(acted.cost)}"


def _answers(events: Iterable[Event]) -> Iterator[GeneratedEvent]:
    """The answers with which some events begin."""
    for event in events:
        if not isinstance(event, GeneratedEvent):
            return
        yield event


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]} ..."


def same_result(record: Mapping[str, Any], finished: Mapping[str, Any]) -> list[str]:
    """Fields in which an episode's record and the result at the end of its trace differ, or that one of them lacks."""
    return sorted(name for name in {*record, *finished} if record.get(name, _LACKS) != finished.get(name, _LACKS))
