"""The part of docs/results.md on resource-constrained shortest paths, from the committed results of the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.benches.rcsp.registry import CSPY, GENERATED, LIBRARY
from experiments.benches.rcsp.report import comparison_table, competitor_table, instance_table, memory_table
from experiments.harness.places import RESULTS
from tape.reading import read_json

FILE = RESULTS / "bench_rcsp.json"


def rcsp_text(path: Path = FILE) -> str:
    """The tables and their notes; empty where the benchmark has not been run yet."""
    if not path.exists():
        return ""
    record = read_json(path, dict[str, Any])
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
    parts += ["", memory_table(rows), "", competitor_table(record["versions"], record["missing"])]
    parts += ["", f"Made by `{record['command']}`.", ""]
    return "\n".join(parts)
