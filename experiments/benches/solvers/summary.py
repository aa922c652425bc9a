"""What the rows say: ratios to `labelling` on the instances that both sides close, who dropped out, and agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from experiments.benches.solvers.backends import OURS

Row = Mapping[str, Any]

NOT_BINDING, BINDING, OTHER = "budgets not binding or absent", "budgets binding", "budgets binding, other than above"

WHOLE, SEARCH = "whole call", "solve only"
_FIELD = {WHOLE: "seconds", SEARCH: "solve_seconds"}

LARGE = 6_000
"""Edge-steps from which an instance is large: below, the slow side too needs only milliseconds."""

_AGREE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """Times of another backend over those of `labelling` in one group.

    Attributes:
        group: `NOT_BINDING`, `BINDING` or `OTHER`.
        against: The other backend.
        measure: `WHOLE` or `SEARCH`.
        ratios: One for each instance that both sides closed to a proven optimum, ascending.
        at_least: Lower bounds on the ratio where only the other side left the instance open: the time it was given.
        large: Those of instances of at least `LARGE` edge-steps.
        dropped_ours: How many only `labelling` left open.
        dropped_both: How many both left open.
        unmeasured: How many both closed, but without this measure.
    """

    group: str
    against: str
    measure: str
    ratios: Sequence[float]
    at_least: Sequence[float]
    large: Sequence[float]
    dropped_ours: int
    dropped_both: int
    unmeasured: int

    def to_dict(self) -> dict[str, Any]:
        """The figures; None if nothing could be compared."""
        theirs, both_sided = len(self.at_least), [*self.ratios, *self.at_least]
        return {
            "group": self.group,
            "against": self.against,
            "measure": self.measure,
            "n": len(self.ratios),
            "median": median(self.ratios) if self.ratios else None,
            "min": self.ratios[0] if self.ratios else None,
            "max": self.ratios[-1] if self.ratios else None,
            "median_at_least": median(both_sided) if both_sided else None,
            "n_large": len(self.large),
            "min_large": self.large[0] if self.large else None,
            "dropped": theirs + self.dropped_ours + self.dropped_both,
            "dropped_theirs": theirs,
            "dropped_ours": self.dropped_ours,
            "dropped_both": self.dropped_both,
            "unmeasured": self.unmeasured,
        }


def group_of(row: Row) -> str | None:
    """The group of targets that an instance belongs to; None for the stress family, which has its own."""
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


def compare(rows: Iterable[Row], group: str, against: str, measure: str) -> Comparison:
    """Compares a backend with `labelling` on the instances of a group that both answered."""
    ratios, at_least, large = [], [], []
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
            # A killed worker tells only its whole time.
            at_least.append((other or theirs["seconds"]) / (mine or ours["seconds"]))
            continue
        if not mine or other is None:
            unmeasured += 1
            continue
        ratios.append(other / mine)
        if ours["edge_steps"] >= LARGE:
            large.append(other / mine)
    return Comparison(
        group, against, measure, sorted(ratios), sorted(at_least), sorted(large), ours_open, both_open, unmeasured
    )


def comparisons(rows: Sequence[Row]) -> list[Comparison]:
    """Every backend that ran beside `labelling`, in every group where it did, by whole call and by solve only."""
    others = dict.fromkeys(row["backend"] for row in rows if row["backend"] != OURS)
    found = [
        compare(rows, group, other, measure)
        for group in (NOT_BINDING, BINDING, OTHER)
        for other in others
        for measure in (WHOLE, SEARCH)
    ]
    return [one for one in found if len(one.ratios) + one.unmeasured + one.to_dict()["dropped"]]


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


def passes(rows: Iterable[Row], chosen: Callable[[Row], bool], measure: str) -> list[float]:
    """Times of `labelling` in NumPy passes, ascending, on the chosen instances that it closed."""
    field = _FIELD[measure]
    return sorted(
        row[field] / row["pass_seconds"]
        for row in rows
        if row["backend"] == OURS and chosen(row) and closed(row) and row["pass_seconds"] and row[field] is not None
    )
