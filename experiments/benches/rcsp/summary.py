"""What the rows say: how many times longer others take, who is wrong, and which targets are hit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from experiments.benches.rcsp.catalogue import PUBLISHED
from experiments.benches.rcsp.competitors import ERROR, INFEASIBLE, OPTIMAL, TIMEOUT
from experiments.benches.rcsp.registry import CSPY, GENERATED, LARGE, LIBRARY, OURS, ROAD

Row = Mapping[str, Any]

WHOLE, SEARCH = "whole call", "search only"
_AGREE = 1e-6
_CLOSED = (OPTIMAL, INFEASIBLE)

RATIO, MILLISECONDS, SECONDS, MEGABYTES = 10.0, 5.0, 2.0, 1536.0
_LARGE_SIZE = (500, 4_800, 10)  # nodes, arcs and resources from which an instance counts as of the largest size


def by_instance(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The rows by instance and competitor."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["instance"]][row["competitor"]] = row
    return dict(found)


def ratio(row: Row, measure: str) -> float | None:
    """Their seconds over ours, of the same process.

    The whole call is compared with ours from the same kind of input. Where they gave up, the time that they were given
    counts, which is too low; None where there is nothing to compare, or our side has no proof.
    """
    ours = row.get("ours")
    if ours is None or ours["status"] not in _CLOSED or row["status"] not in (*_CLOSED, TIMEOUT):
        return None
    theirs, mine = (row["seconds"], ours[row["beside"]]) if measure == WHOLE else (row["run_seconds"], ours["search"])
    return None if theirs is None or not mine else float(theirs / mine)


def compare(rows: Sequence[Row], part: str, against: str, measure: str) -> dict[str, Any]:
    """The ratios of one competitor on one part of the benchmark.

    `median` and `least` are of instances that both closed; `at_least` is the median with those that only we closed
    counted as the time that they were given; `slower` says where they were faster than we.
    """
    both: dict[str, float] = {}
    given_up = unfit = failed = 0
    bounds: list[float] = []
    for row in rows:
        if row["part"] != part or row["competitor"] != against:
            continue
        unfit += row["status"] == "UNFIT"
        failed += row["status"] == ERROR
        value = ratio(row, measure)
        given_up += row["status"] == TIMEOUT
        if value is not None and row["status"] == TIMEOUT:
            bounds.append(value)
        elif value is not None:
            both[row["instance"]] = value
    values = sorted(both.values())
    return {
        "part": part,
        "against": against,
        "measure": measure,
        "n": len(values),
        "median": median(values) if values else None,
        "least": values[0] if values else None,
        "most": values[-1] if values else None,
        "gave_up": given_up,
        "at_least": median([*values, *bounds]) if values or bounds else None,
        "unfit": unfit,
        "failed": failed,
        "slower": sorted((name for name, value in both.items() if value < 1), key=lambda name: both[name]),
    }


def comparisons(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Every competitor on every part where it ran."""
    pairs = dict.fromkeys((row["part"], row["competitor"]) for row in rows if row["competitor"] != OURS)
    order = (LIBRARY, GENERATED, LARGE, ROAD)
    return [
        compare(rows, part, against, measure)
        for part, against in sorted(pairs, key=lambda pair: order.index(pair[0]))
        for measure in (WHOLE, SEARCH)
    ]


def disagreements(rows: Iterable[Row]) -> list[str]:
    """Where two proven answers differ, with who is wrong where that is known; and every error."""
    wrong = []
    for name, answers in by_instance(rows).items():
        said: dict[str, tuple[str, float | None]] = {}
        for competitor, row in answers.items():
            if row.get("status") == ERROR:
                wrong.append(f"{name}: {competitor} failed: {row['message']}")
                continue
            mine = row.get("ours")
            if mine is not None:
                if mine["status"] == ERROR:
                    wrong.append(f"{name}: {OURS} failed beside {competitor}: {mine['message']}")
                said[OURS if competitor == OURS else f"{OURS} (beside {competitor})"] = (mine["status"], mine["cost"])
            if competitor != OURS:
                said[competitor] = (row["status"], row.get("cost"))
        said = {who: what for who, what in said.items() if what[0] in _CLOSED}
        arcs = next((row["arcs"] for row in answers.values() if "arcs" in row), 0)
        truth: tuple[str, float | None] | None = None
        if (name, arcs) in PUBLISHED:
            truth = (OPTIMAL, float(PUBLISHED[name, arcs]))
        if truth is None and said:
            truth = _most_said(list(said.values()))
        for who, what in said.items():
            if truth is not None and not _same(what, truth):
                wrong.append(f"{name}: {who} says {_text(what)}, and it is {_text(truth)}")
    return wrong


def _same(one: tuple[str, float | None], other: tuple[str, float | None]) -> bool:
    if one[1] is None or other[1] is None:
        return one == other
    return one[0] == other[0] and abs(one[1] - other[1]) <= _AGREE * max(1.0, abs(one[1]))


def _most_said(said: Sequence[tuple[str, float | None]]) -> tuple[str, float | None]:
    """What most say; of two costs that as many say the lesser: paths are verified, so nobody can be too cheap."""
    counts = [(sum(_same(one, other) for other in said), one[1] is not None, -(one[1] or 0.0), one) for one in said]
    return max(counts, key=lambda count: count[:3])[3]


def _text(what: tuple[str, float | None]) -> str:
    return what[0] if what[1] is None else f"{what[0]} at {what[1]:g}"


def targets(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What was asked for, what was found, and on how many instances."""
    found = []
    all_ratios: list[float] = []
    for part in (LIBRARY, GENERATED):
        values = [
            (value, row["instance"])
            for row in rows
            if row["part"] == part and row["competitor"] == CSPY and (value := ratio(row, WHOLE)) is not None
        ]
        all_ratios += [value for value, _ in values]
        least = min(values, default=None)
        note = "" if least is None else f"least on {least[1]}"
        name = f"never slower than cspy's whole call, {part} instances"
        found.append(_target(name, ">= 1 x", least[0] if least else None, 1.0, len(values), note, at_most=False))
    middle = median(all_ratios) if all_ratios else None
    name = "the median against cspy's whole call, both parts"
    found.append(_target(name, ">= 10 x", middle, RATIO, len(all_ratios), "", at_most=False))
    alone = [row for row in rows if row["competitor"] == OURS and "ours" in row]
    large = [row for row in alone if row["part"] in (LIBRARY, LARGE) and _is_large(row)]
    found.append(_worst("500 vertices, 5,000 arcs, K = 10: whole call", large, "problem", 1e3, MILLISECONDS, "ms"))
    road = [row for row in alone if row["part"] == ROAD]
    found.append(_worst("road of 100,000 vertices, 250,000 arcs, K = 2: whole call", road, "problem", 1, SECONDS, "s"))
    memory = max((row["peak_mb"] for row in road if row.get("peak_mb") is not None), default=None)
    name = "the same: memory of the process at its peak"
    found.append(_target(name, f"<= {MEGABYTES:.0f} MB", memory, MEGABYTES, len(road), "", at_most=True))
    return found


def _is_large(row: Row) -> bool:
    return all(row[key] >= least for key, least in zip(("nodes", "arcs", "resources"), _LARGE_SIZE, strict=True))


def _worst(name: str, rows: Sequence[Row], way: str, factor: float, most: float, unit: str) -> dict[str, Any]:
    worst = max(
        ((row["ours"][way] * factor, row["instance"], row["ours"]["cpu"] * factor) for row in rows), default=None
    )
    proved = all(row["ours"]["status"] in _CLOSED for row in rows)
    note = "" if worst is None else f"{worst[1]}{'' if proved else '; not all proved'}; CPU {worst[2]:.3g} {unit}"
    one = _target(name, f"<= {most:g} {unit}", worst[0] if worst else None, most, len(rows), note, at_most=True)
    return one if proved else one | {"hit": False}


def _target(
    name: str, needs: str, got: float | None, value: float, n: int, note: str, *, at_most: bool
) -> dict[str, Any]:
    hit = None if got is None else (got <= value if at_most else got >= value)
    return {"target": name, "needs": needs, "got": got, "hit": hit, "n": n, "note": note}
