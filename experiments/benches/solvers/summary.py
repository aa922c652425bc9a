"""What the rows say: ratios to `labelling` on the instances that both sides close, who dropped out, and agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from experiments.benches.solvers.backends import OURS

Row = Mapping[str, Any]

NOT_BINDING, BINDING, OTHER = "budgets not binding or absent", "budgets binding", "budgets binding, other than above"

WHOLE, SEARCH = "whole call", "solve only"
_FIELD = {WHOLE: "seconds", SEARCH: "solve_seconds"}

_AGREE = 1e-6


def group_of(row: Row) -> str | None:
    """The group that an instance is compared in; None for the stress family, which `labelling` plays alone."""
    spec, share = row["spec"], row["share"]
    if spec["family"] == "stress":
        return None
    if share is None or share >= 1:
        return NOT_BINDING
    within = 0.3 <= round(share, 9) <= 0.8 and spec["rewards"].startswith("dense") and 1 <= spec["resources"] <= 3
    return BINDING if within else OTHER


def by_instance(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The rows by instance and backend."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["instance"]][row["backend"]] = row
    return dict(found)


def closed(row: Row) -> bool:
    """Whether the answer is a proven optimum."""
    return bool(row["status"] == "OPTIMAL")


def compare(rows: Iterable[Row], group: str, against: str, measure: str) -> dict[str, Any]:
    """A backend beside `labelling` on the instances of a group that both answered.

    Counted (`n`) are the ratios of those that both closed to a proven optimum. `dropped_theirs`, `dropped_ours` and
    `dropped_both` say who left the others open; `median_at_least` also counts those that only the other side left open,
    with the time that it was given. `unmeasured` are those that both closed, but without this measure.
    """
    ratios, at_least = [], []
    ours_open = both_open = unmeasured = 0
    for answers in by_instance(rows).values():
        ours, theirs = answers.get(OURS), answers.get(against)
        if ours is None or theirs is None or group_of(ours) != group:
            continue
        if not closed(ours):
            both_open += not closed(theirs)
            ours_open += closed(theirs)
            continue
        mine, other = ours[_FIELD[measure]], theirs[_FIELD[measure]]
        if not closed(theirs):
            # A killed worker reports only its whole time.
            at_least.append((other or theirs["seconds"]) / (mine or ours["seconds"]))
        elif not mine or other is None:
            unmeasured += 1
        else:
            ratios.append(other / mine)
    both_sided = [*ratios, *at_least]
    return {
        "group": group,
        "against": against,
        "measure": measure,
        "n": len(ratios),
        "median": median(ratios) if ratios else None,
        "min": min(ratios, default=None),
        "max": max(ratios, default=None),
        "median_at_least": median(both_sided) if both_sided else None,
        "dropped": len(at_least) + ours_open + both_open,
        "dropped_theirs": len(at_least),
        "dropped_ours": ours_open,
        "dropped_both": both_open,
        "unmeasured": unmeasured,
    }


def comparisons(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Every backend that ran beside `labelling`, in every group where it did, by whole call and by solve only."""
    others = dict.fromkeys(row["backend"] for row in rows if row["backend"] != OURS)
    found = [
        compare(rows, group, other, measure)
        for group in (NOT_BINDING, BINDING, OTHER)
        for other in others
        for measure in (WHOLE, SEARCH)
    ]
    return [one for one in found if one["n"] + one["unmeasured"] + one["dropped"]]


def disagreements(rows: Iterable[Row]) -> list[str]:
    """Where two answers to an instance cannot both be right, and every answer that is an error."""
    wrong = []
    for name, answers in by_instance(rows).items():
        for one in answers.values():
            if one["status"] == "ERROR":
                wrong.append(f"{name}: {one['backend']} failed: {one['message']}")
            wrong += [
                f"{name}: {one['backend']} has {_claim(one)}, {other['backend']} has {_claim(other)}"
                for other in answers.values()
                if _contradicts(one, other)
            ]
    return wrong


def _contradicts(one: Row, other: Row) -> bool:
    """Whether `one` claims that nothing is better than what `other` has found to be."""
    if other["objective"] is None:
        return False
    if one["status"] == "INFEASIBLE":
        return True
    allowed = _AGREE * max(1.0, abs(other["objective"]))
    if closed(one):
        return bool(one["objective"] < other["objective"] - allowed)
    return one["bound"] is not None and bool(one["bound"] < other["objective"] - allowed)


def _claim(row: Row) -> str:
    return f"{row['status']} objective={row['objective']} bound={row['bound']}"
