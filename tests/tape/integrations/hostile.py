"""What the attacks on the guards of frameworks share: reports that are none, and a judge that asks no guard."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tape.gateway.guard import Guard
from tests.tape.integrations.scripted import Truth

Usage = tuple[Any, Any]
"""Reported tokens of prompt and completion."""

USAGES: list[Usage] = [
    (None, None),
    ("40", "10"),
    (40, "10"),
    (float("nan"), 1),
    (40.0, 10.0),
    (-1, 3),
    (40, -(10**9)),
    (10**80, 1),
    (2**63, 1),
    (True, True),
    ([40], {}),
]
BUDGETS = ("usd=0.07, tokens=60000", "steps=3, usd=1", "calls=7", "usd=0.03", "calls=9, steps=2, usd=0.1", "usd=0")


def judged(guard: Guard, *truths: Truth) -> dict[str, int]:
    """What really was spent is within the caps, and within what the guard knows of; nothing stays set aside.

    Returns:
        What was called.
    """
    for kind in truths[0].spent:
        spent = sum(truth.spent[kind] for truth in truths)
        assert spent <= guard.ledger.budget.get(kind, spent), (kind, spent)
        assert spent <= (guard.ledger.used[kind] or 0), (kind, spent)
        assert not guard.ledger.reserved[kind], kind
    assert sum(len(truth.called) for truth in truths) == sum(truth.spent["steps"] for truth in truths)
    return {kind: sum(truth.spent[kind] for truth in truths) for kind in ("calls", "steps")}


def swept(name: str, scenario: Callable[[int], Mapping[str, int]], times: int, folder: str | None = None) -> None:
    """Play scenarios; into a folder goes what came out."""
    found = Counter[str]()
    for seed in range(times):
        found.update(scenario(seed))
    if folder is not None:
        result = {"scenarios": times, "model calls": found["calls"], "tool calls": found["steps"], "above a cap": 0}
        Path(folder, f"guard_{name}.json").write_text(json.dumps(result, indent=1) + "\n")
