"""Where the budget of an episode went: step by step, and by who spent it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tape.budget import in_units
from tape.trace import ActedEvent, Event, LedgerEvent, ObservedEvent, caps_of

ACTION = "action"
"""Who spends on steps of the environment; the others are the roles of the model, for instance ``plan``."""


def spending(events: Sequence[Event]) -> dict[str, Any]:
    """Budgets for the page.

    Returns:
        ``bars``: for every capped resource its cap and, for each step, what was left after it and who had used how
        much since the step before; ``table``: for every resource used, who used how much in all. Counts stand beside
        their texts, since bars need them.
    """
    caps = caps_of(events)
    spans = _spans(events)
    bars = [_bar(kind, cap, spans) for kind, cap in caps.items() if any(kind in span["left"] for span in spans)]
    return {"bars": bars, "table": _table(spans)}


def _spans(events: Sequence[Event]) -> list[dict[str, Any]]:
    """From each observation to the next: the step, who used how much, and what was left then."""
    spans: list[dict[str, Any]] = []
    used: dict[str, dict[str, int | None]] = defaultdict(dict)
    left: Mapping[str, int] = {}
    step = 0
    for event in events:
        if isinstance(event, LedgerEvent) and event.what == "settle":
            _book(used, event)
        elif isinstance(event, ActedEvent):
            step = event.step
        elif isinstance(event, ObservedEvent):
            left = event.remaining
            spans.append({"step": event.step, "used": used, "left": left})
            used = defaultdict(dict)
    if used:  # what was spent after the last observation
        rest = {kind: count - sum(by.get(kind) or 0 for by in used.values()) for kind, count in left.items()}
        spans.append({"step": step, "used": used, "left": rest, "after": True})
    return spans


def _book(used: dict[str, dict[str, int | None]], event: LedgerEvent) -> None:
    sort, _, name = event.purpose.partition(":")
    who = ACTION if sort == "step" else name or sort
    for kind, count in event.amounts.items():
        before = used[who].get(kind, 0)
        used[who][kind] = None if before is None or count is None else before + count


def _bar(kind: str, cap: int, spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    steps = []
    for span in spans:
        shares = [(who, by[kind]) for who, by in sorted(span["used"].items()) if by.get(kind, 0) != 0]
        left = span["left"].get(kind, 0)
        steps.append(
            {
                "step": span["step"],
                "left": left,
                "left_text": in_units(kind, max(left, 0)),
                "used": [[who, n, "unknown" if n is None else in_units(kind, n)] for who, n in shares],
                **({"after": True} if span.get("after") else {}),
            }
        )
    return {"kind": kind, "cap": cap, "cap_text": in_units(kind, cap), "steps": steps}


def _table(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Who used how much of what, in all."""
    totals: dict[str, dict[str, int | None]] = defaultdict(dict)
    for span in spans:
        for who, by in span["used"].items():
            for kind, count in by.items():
                before = totals[who].get(kind, 0)
                totals[who][kind] = None if before is None or count is None else before + count
    kinds = sorted({kind for by in totals.values() for kind in by})
    order = sorted(totals, key=lambda who: (who == ACTION, who))

    def text(who: str, kind: str) -> str:
        count = totals[who].get(kind, 0)
        return "unknown" if count is None else in_units(kind, count) if count else ""

    return {"kinds": kinds, "rows": [[who, *(text(who, kind) for kind in kinds)] for who in order]}
