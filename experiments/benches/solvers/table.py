"""The table of solvers in docs/results.md, from the committed results of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.benches.solvers.summary import BINDING, NOT_BINDING, OTHER, SEARCH, WHOLE, comparisons
from experiments.harness.places import RESULTS
from tape.reading import read_json
from tape.show.document import table

SOLVER_RESULTS = RESULTS / "bench_solvers.json"
GIVEN = {"cspy:raw": "the graph, steps as a resource"}
"""What a backend is given of an instance, where that is not the pruned time-expanded graph."""


def solver_text(path: Path = SOLVER_RESULTS) -> str:
    """The table and its note; empty where the benchmark has not been run yet.

    All groups are shown, the hard ones with the easy ones, and beside each ratio how many instances it leaves out.

    Args:
        path: What `experiments.benches.solvers` wrote.
    """
    if not path.exists():
        return ""
    record = read_json(path, dict[str, Any])
    found = {(one["group"], one["against"], one["measure"]): one for one in comparisons(record["rows"])}
    pairs = list(dict.fromkeys((group, against) for group, against, _ in found))
    rows = []
    for group in (NOT_BINDING, BINDING, OTHER):
        for pair in pairs:
            if pair[0] == group:
                rows.append(_row(found[*pair, WHOLE], found[*pair, SEARCH]))
    head = [
        "instances",
        "beside",
        "which is given",
        "whole call: median, min",
        "solve only: median, min",
        "n",
        "dropped",
        "median with the dropped",
    ]
    note = (
        "How many times longer the others take than `labelling`, which is given the graph itself, warm, on one "
        "machine. The time to expand the graph is part of the others' whole calls, and not of their solves. "
        "Counted (n) are the "
        f"instances that both close to a proven optimum within {record['slow_limit']:g} s; dropped are the others, in "
        "brackets how many of these `labelling` left open; the last column counts the others among them with the time "
        "that they were given. Binding: each budget is 30-80 % of what the unbudgeted "
        f"optimum consumes, dense rewards, 1 to 3 resources. Made by `{record['command']}`."
    )
    return "\n".join([table(head, rows), "", note, ""])


def _row(whole: Mapping[str, Any], search: Mapping[str, Any]) -> list[str]:
    ours_open = whole["dropped_ours"] + whole["dropped_both"]
    return [
        whole["group"],
        f"`{whole['against']}`",
        GIVEN.get(whole["against"], "the pruned time-expanded graph"),
        _pair(whole),
        _pair(search),
        str(whole["n"]),
        f"{whole['dropped']} ({ours_open})",
        f">= {figure(whole['median_at_least'])} x",
    ]


def _pair(one: Mapping[str, Any]) -> str:
    return f"{figure(one['median'])} x, {figure(one['min'])} x" if one["n"] else "-"


def figure(value: float | None) -> str:
    """Three digits; a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
