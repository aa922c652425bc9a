"""The tables of docs/results.md on resource-constrained shortest paths.

``experiments/results/bench_rcsp.json`` holds all calls that were timed. The competitors ran once, on 2026-11-23.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.benches.solvers.table import figure
from experiments.harness.places import RESULTS
from tape.reading import read_json
from tape.show.document import table

FILE = RESULTS / "bench_rcsp.json"
Row = Mapping[str, Any]

OURS, CSPY, BOOST = "shortest_path", "cspy", "boost"
LIBRARY, GENERATED, ROAD = "library", "generated", "road"
COMPETITORS: Mapping[str, tuple[str, str]] = {
    CSPY: ("labelling in C++, forward or bidirectional, whichever is faster; without lower limits", "a networkx graph"),
    BOOST: ("labelling in C++, forward, ended at the first label that reaches the target", "arrays"),
    "didppy": ("dynamic programme over states: labelling, A* or beam search, whichever is fastest", "arrays"),
    "pulp:cbc": ("integer programme over arcs", "arrays"),
    "highs": ("integer programme over arcs", "arrays"),
    "cp-sat:2": ("constraint programming on arc variables, two workers", "arrays"),
    "pylgrim": ("labelling in Python after preprocessing; elementary paths", "a networkx graph"),
}
"""Name -> what it does, and what its whole call begins with."""

_OTHERS = [name for name in COMPETITORS if name not in (CSPY, BOOST)]
_CLOSED = ("OPTIMAL", "INFEASIBLE")


def rcsp_text() -> str:
    """The tables and their notes."""
    record = read_json(FILE, dict[str, Any])
    rows = record["rows"]
    wins = [
        f"{len(one['slower'])} of {one['n'] + one['gave_up']} {one['part']} instances"
        for one in record["comparisons"]
        if one["against"] == CSPY and one["measure"] == "whole call" and one["part"] in (LIBRARY, GENERATED)
    ]
    note = (
        f"Milliseconds, on {record['machine']['cores']} cores with other work beside them; medians of at least "
        f"{record['repeats']} calls. *Search*: of the call with an `RcspProblem` the search alone; *problem*: that "
        "call; *graph*: the call with a networkx graph. cspy gets the same graph in its own attributes, and *run* is "
        "its `run()` alone; Boost builds its graph from arrays. A ratio is their whole call over ours, from a networkx "
        "graph beside cspy, from arrays beside the others, both measured by turns in one process (our columns are of a "
        "process of our own); below 1 we are slower."
    )
    parts = [instance_table(rows, LIBRARY), "", note, "", comparison_table(record["comparisons"]), ""]
    parts.append(
        f"How many times longer others take than `solvers.shortest_path`. *Given up*: after {record['limit']:g} s, in "
        f"neither figure. Slower than cspy's whole call: {' and '.join(wins)}. "
        + (
            "All proven answers agree."
            if not record["disagreements"]
            else "Wrong: " + "; ".join(record["disagreements"])
        )
    )
    parts += ["", memory_table(rows), "", competitor_table(record["versions"])]
    parts += ["", "Measured once, on 2026-11-23; every call: `experiments/results/bench_rcsp.json`.", ""]
    return "\n".join(parts)


def comparison_table(found: Sequence[Mapping[str, Any]]) -> str:
    """A row for each part and competitor: the whole call, and the search only."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for one in found:
        pairs.setdefault((one["part"], one["against"]), {})[one["measure"]] = one
    head = ["instances", "beside", "whole call: median, least", "search only: median, least", "n", "slower than theirs"]
    body = []
    for (part, against), both in pairs.items():
        whole, search = both["whole call"], both["search only"]
        left = [("gave_up", "given up"), ("unfit", "left out"), ("failed", "failed")]
        n = "; ".join([str(whole["n"]), *(f"{whole[key]} {word}" for key, word in left if whole[key])])
        slower = f"{len(whole['slower'])} (search: {len(search['slower'])})"
        body.append([part, f"`{against}`", _pair(whole), _pair(search), n, slower])
    return table(head, body)


def _pair(one: Mapping[str, Any]) -> str:
    if not one["n"]:
        return "-" if one["at_least"] is None else f">= {figure(one['at_least'])} x"
    return f"{figure(one['median'])} x, {figure(one['least'])} x"


def instance_table(rows: Sequence[Row], part: str) -> str:
    """Milliseconds, instance by instance; `run` and `whole` of cspy and Boost, and the ratios of whole calls."""
    mine = [row for row in rows if row["part"] == part]
    others = [name for name in _OTHERS if any(row["competitor"] == name for row in mine)]
    head = ["instance", "n, m, K", "cost", "ours: search", "problem", "graph"]
    head += ["cspy: run", "whole", "ratio", "Boost: run", "whole", "ratio", *[f"`{name}`" for name in others]]
    body = []
    for name, answers in by_instance(mine).items():
        alone = answers.get(OURS)
        if alone is None or "ours" not in alone:
            continue
        ours = alone["ours"]
        cost = ours["status"] if ours["cost"] is None else f"{ours['cost']:g}"
        size = f"{alone['nodes']:,}, {alone['arcs']:,}, {alone['resources']}"
        cells = [name, size, cost, *(_ms(ours.get(way)) for way in ("search", "problem", "graph"))]
        for competitor in (CSPY, BOOST):
            cells += _theirs(answers.get(competitor))
        cells += [_theirs(answers.get(competitor))[2] for competitor in others]
        body.append(cells)
    return table(head, body)


def _theirs(row: Row | None) -> list[str]:
    if row is None:
        return ["", "", ""]
    if row["status"] in ("UNFIT", "ERROR"):
        return ["", "", "fails" if row["status"] == "ERROR" else "left out"]
    value = ratio(row)
    gave_up = row["status"] == "TIMEOUT"
    whole = f"> {figure(row['seconds'] * 1e3)}" if gave_up else _ms(row["seconds"])
    if value is None:
        return [_ms(row.get("run_seconds")), whole, "> limit" if gave_up else "-"]
    return [_ms(row.get("run_seconds")), whole, f"{'> ' if gave_up else ''}{figure(value)} x"]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else figure(seconds * 1e3)


def memory_table(rows: Sequence[Row]) -> str:
    """Where ours alone took most time: the split of the call, and memory."""
    alone = [row for row in rows if row["competitor"] == OURS and "ours" in row]
    worst = sorted((row for row in alone if row["part"] != ROAD), key=lambda row: -row["ours"]["problem"])[:3]
    worst += [row for row in alone if row["part"] == ROAD]
    head = [
        "instance",
        "status",
        "whole call, ms",
        "its CPU",
        "folding",
        "search",
        "the rest",
        "labels",
        "MB at the peak",
    ]
    return table(
        [*head, "of which the call"],
        [
            [row["instance"], row["ours"]["status"], *map(_ms, _split(row)), f"{row['labels']:,}",
             figure(row["peak_mb"]), figure(row["growth_mb"])]
            for row in worst
        ],
    )  # fmt: skip


def _split(row: Row) -> list[float]:
    """Of a call with a problem the seconds: the whole, its CPU time, folding, the search, and the rest."""
    whole, search = row["ours"]["problem"], row["ours"]["search"]
    return [whole, row["ours"]["cpu"], row["fold"], search, max(0.0, whole - search - row["fold"])]


def competitor_table(versions: Mapping[str, str]) -> str:
    """What each competitor is, and which version ran."""
    rows = [[f"`{name}`", versions[name], does, f"from {start}"] for name, (does, start) in COMPETITORS.items()]
    return table(["", "version", "what it does", "whole call"], rows)


def by_instance(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The rows by instance and competitor."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["instance"]][row["competitor"]] = row
    return dict(found)


def ratio(row: Row) -> float | None:
    """Their seconds of a whole call over ours, from the same kind of input, in the same process.

    Where they gave up, the time that they were given counts, which is too low; None where there is nothing to compare,
    or our side has no proof.
    """
    ours = row.get("ours")
    if ours is None or ours["status"] not in _CLOSED or row["status"] not in (*_CLOSED, "TIMEOUT"):
        return None
    mine = ours[row["beside"]]
    return None if row["seconds"] is None or not mine else float(row["seconds"] / mine)
