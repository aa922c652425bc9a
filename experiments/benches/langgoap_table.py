"""The tables of ``experiments.benches.langgoap``, from its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def key(row: Row) -> tuple[str, ...]:
    """What a row is of."""
    names = ("planner", "family", "caps", "size") if row["part"] == "plan" else ("method", "cell", "level")
    return (row["part"], *(str(row[name]) for name in names))


def markdown(rows: Sequence[Row]) -> str:
    """All tables."""
    plans = [row for row in rows if row["part"] == "plan"]
    plays = [row for row in rows if row["part"] == "play"]
    parts = [planned(plans), slower(plans, ("fit",)), slower(plans, ("tight", "short"))] if plans else []
    return "\n".join([*parts, *([played(plays)] if plays else [])])


def planned(rows: Sequence[Row]) -> str:
    """Right answers by planner, family and kind of caps; all sizes together."""
    columns = list(dict.fromkeys((row["family"], row["caps"]) for row in rows))
    lines = _head(["", *(f"{family}, {caps}" for family, caps in columns)])
    for planner in dict.fromkeys(row["planner"] for row in rows):
        cells = []
        for family, caps in columns:
            some = [row for row in rows if (row["planner"], row["family"], row["caps"]) == (planner, family, caps)]
            cells.append(_of(sum(row["best"] for row in some), sum(row["n"] for row in some)))
        lines.append(_line([planner, *cells]))
    return "\n".join(lines) + "\n"


def slower(rows: Sequence[Row], caps: Sequence[str]) -> str:
    """Times of planning calls by size: medians of ratios, and of these the geometric mean over some kinds of caps."""
    rows = [row for row in rows if row["caps"] in caps]
    columns = list(dict.fromkeys((row["family"], row["size"]) for row in rows))
    lines = _head([f"caps: {', '.join(caps)}", *(f"{family} {size}" for family, size in columns)])
    for planner in dict.fromkeys(row["planner"] for row in rows):
        cells = []
        for family, size in columns:
            some = [row for row in rows if (row["planner"], row["family"], row["size"]) == (planner, family, size)]
            times = [row["times"] for row in some if row["times"]]
            lost = sum(row["verdicts"].get("given up", 0) for row in some)
            shown = f"{math.exp(sum(map(math.log, times)) / len(times)):.1f}" if times else "-"
            cells.append(f"{shown} ({lost} given up)" if lost else shown)
        lines.append(_line([planner, *cells]))
    return "\n".join(lines) + "\n"


def played(rows: Sequence[Row]) -> str:
    """Episodes by method and kind of change; all levels together."""
    columns = list(dict.fromkeys(row["cell"] for row in rows))
    names = {"none": "static", "tight": "time binds", "short": "none fits"}
    lines = _head(["", *(names.get(one, one) for one in columns), "over budget", "replans an episode", "time"])
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        cells = []
        for cell in columns:
            some = [row for row in mine if row["cell"] == cell]
            cells.append(_of(sum(row["right"] for row in some), sum(row["n"] for row in some)))
        n = sum(row["n"] for row in mine)
        times = [row["times"] for row in mine if row["times"]]
        mean = math.exp(sum(map(math.log, times)) / len(times)) if times else math.nan
        over, replans = sum(row["over_budget"] for row in mine), sum(row["replans"] for row in mine)
        lines.append(_line([method, *cells, _of(over, n), f"{replans / n:.1f}", f"{mean:.1f}"]))
    return "\n".join(lines) + "\n"


def _of(count: int, n: int) -> str:
    return f"{count} of {n}" if n else "-"


def _head(cells: Sequence[str]) -> list[str]:
    return [_line(cells), "|---" * len(cells) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
