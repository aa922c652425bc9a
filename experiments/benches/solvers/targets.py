"""What must be reached, in the groups in which it was asked, and whether it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.benches.solvers.backends import CBC, CP_SAT, CSPY, OURS
from experiments.benches.solvers.summary import BINDING, LARGE, NOT_BINDING, SEARCH, WHOLE, Row, closed, compare, passes

# (group, against, figure, what must be reached, what would be better still)
_RATIOS: tuple[tuple[str, str, str, float, float | None], ...] = (
    (NOT_BINDING, CP_SAT, "median", 1000, None),
    (NOT_BINDING, CBC, "median", 500, None),
    (BINDING, CBC, "median", 500, 1000),
    (BINDING, CBC, "min", 100, None),
    (BINDING, CSPY, "median", 100, 200),
    (BINDING, CSPY, "min_large", 20, None),
)

_NAMES = {"median": "median", "min": "minimum", "min_large": f"minimum from {LARGE:,} edge-steps"}


def _plan_graph(row: Row) -> bool:
    return bool(row["spec"]["family"] == "folded")


def _stress(low: int, high: int) -> Callable[[Row], bool]:
    return lambda row: row["spec"]["family"] == "stress" and low <= row["spec"]["resources"] <= high


# (name, instances, most NumPy passes)
_PASSES: tuple[tuple[str, Callable[[Row], bool], float], ...] = (
    ("plan graphs (M <= 64, L <= 50, K <= 3)", _plan_graph, 300),
    ("stress, K <= 2", _stress(0, 2), 50),
    ("stress, K = 3", _stress(3, 3), 100),
)

_MOST_MEGABYTES = 150
_MOST_FRESH = 1.0
_MOST_FIRST_EVER = 5.0


def check_targets(rows: Sequence[Row], cold: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One record per target: what was asked, what was found, on how many instances, and `hit` (None: not measured).

    Args:
        rows: All rows.
        cold: What `measure_cold` found, or None.
    """
    return [*_ratio_targets(rows), *_pass_targets(rows), _memory_target(rows), *_cold_targets(cold)]


def _record(target: str, needs: str, got: float | None, n: int, hit: bool | None, note: str = "") -> dict[str, Any]:
    return {"target": target, "needs": needs, "got": got, "n": n, "hit": hit, "note": note}


def _ratio_targets(rows: Sequence[Row]) -> list[dict[str, Any]]:
    found = []
    for group, against, figure, needed, better in _RATIOS:
        for measure in (WHOLE, SEARCH):
            data = compare(rows, group, against, measure).to_dict()
            got = data[figure]
            n = data["n_large" if figure == "min_large" else "n"]
            note = f"{data['dropped']} dropped: {data['dropped_theirs']} {against}, {data['dropped_ours']} {OURS}, "
            note += f"{data['dropped_both']} both"
            if data["unmeasured"]:
                note += f"; {data['unmeasured']} without this measure"
            if better is not None and got is not None:
                note += f"; stretch {better:g} x {'reached' if got >= better else 'missed'}"
            hit = None if got is None else got >= needed
            found.append(
                _record(f"{group}, {against}, {_NAMES[figure]}, {measure}", f">= {needed:g} x", got, n, hit, note)
            )
    return found


def _pass_targets(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The greatest number of passes; an instance that is not closed misses the target."""
    found = []
    for name, chosen, most in _PASSES:
        mine = [row for row in rows if row["backend"] == OURS and chosen(row)]
        left_open = [row["instance"] for row in mine if not closed(row)]
        for measure in (WHOLE, SEARCH):
            values = passes(rows, chosen, measure)
            hit = None if not values and not left_open else bool(values) and not left_open and values[-1] <= most
            found.append(
                _record(
                    f"{name}: NumPy passes at most, {measure}",
                    f"<= {most:g}, all proven",
                    values[-1] if values else None,
                    len(values),
                    hit,
                    f"not proven: {', '.join(left_open)}" if left_open else "",
                )
            )
    return found


def _memory_target(rows: Sequence[Row]) -> dict[str, Any]:
    grown = [
        row["growth_mb"]
        for row in rows
        if row["backend"] == OURS and row["spec"]["family"] == "stress" and row["growth_mb"] is not None
    ]
    most = max(grown, default=None)
    hit = None if most is None else most < _MOST_MEGABYTES
    return _record("stress: megabytes beside the imports", f"< {_MOST_MEGABYTES}", most, len(grown), hit)


def _cold_targets(cold: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = []
    for key, name, most in (
        ("fresh", "first solve of a fresh process, seconds", _MOST_FRESH),
        ("first_ever", "first solve after installation, seconds", _MOST_FIRST_EVER),
    ):
        got = None if cold is None else cold[key]["max"]
        n = 0 if cold is None else cold["n"]
        found.append(_record(f"{name}, at most", f"< {most:g}", got, n, None if got is None else got < most))
    return found
