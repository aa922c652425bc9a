"""The tables in Markdown, and the plot of cost against size."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benches.solvers.backends import BACKENDS, OURS
from experiments.benches.solvers.summary import Row, by_instance, closed

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">", "d")
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)), (0, (2, 4)), (0, (1, 3)))


def markdown(record: Mapping[str, Any]) -> str:
    """The whole report of a results record."""
    parts = ["# Solvers side by side", "", "## Targets", "", _targets(record["targets"])]
    parts += ["", "## Ratios to `labelling`", "", _comparisons(record["comparisons"]), ""]
    parts += ["## Hard grids (loose, 20 x 20, L = 100, K = 3, costs in the hundreds)", "", _hard(record["rows"]), ""]
    parts += ["## Every instance", "", _instances(record["rows"])]
    if record["disagreements"]:
        parts += ["", "## DISAGREEMENTS", "", *[f"- {line}" for line in record["disagreements"]]]
    if record["missing"]:
        parts += ["", "## Not run", "", *[f"- `{name}`: {reason}" for name, reason in record["missing"].items()]]
    return "\n".join(parts) + "\n"


def figure(value: float | None) -> str:
    """Three digits; a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _targets(targets: Sequence[Mapping[str, Any]]) -> str:
    word = {True: "hit", False: "MISS", None: "not measured"}
    return table(
        ["target", "needs", "found", "n", "", "beside it"],
        [
            [one["target"], one["needs"], figure(one["got"]), str(one["n"]), word[one["hit"]], one["note"]]
            for one in targets
        ],
    )


def _comparisons(found: Sequence[Mapping[str, Any]]) -> str:
    head = ["group", "backend", "measure", "median", "min", "max", "n"]
    head += ["dropped (theirs, ours, both)", "median with theirs counted as at least"]
    return table(
        head,
        [
            [one["group"], f"`{one['against']}`", one["measure"],
             *(figure(one[key]) for key in ("median", "min", "max")), str(one["n"]),
             f"{one['dropped']} ({one['dropped_theirs']}, {one['dropped_ours']}, {one['dropped_both']})",
             _at_least(one["median_at_least"])]
            for one in found
        ],
    )  # fmt: skip


def _at_least(value: float | None) -> str:
    return "-" if value is None else f">= {figure(value)}"


def _hard(rows: Sequence[Row]) -> str:
    hard = [row for row in rows if row["spec"]["family"] == "grid" and row["horizon"] == 100 and row["backend"] == OURS]
    return table(
        ["instance", "status", "seconds", "objective", "bound"],
        [
            [row["instance"], row["status"], figure(row["seconds"]), figure(row["objective"]), figure(row["bound"])]
            for row in hard
        ],
    )


def _instances(rows: Sequence[Row]) -> str:
    """Milliseconds of the whole call (of the solve only); a status stands where it is not OPTIMAL."""
    backends = [name for name in BACKENDS if any(row["backend"] == name for row in rows)]
    body = []
    for name, answers in by_instance(rows).items():
        first = next(iter(answers.values()))
        ours = answers.get(OURS)
        share = figure(first["share"])
        passed = figure(ours["seconds"] / ours["pass_seconds"]) if ours and ours["pass_seconds"] else "-"
        objective = next((row["objective"] for row in answers.values() if closed(row)), None)
        cells = [_cell(answers.get(backend), ours) for backend in backends]
        body.append([name, str(first["edge_steps"]), share, figure(objective), passed, *cells])
    return table(["instance", "edge-steps", "share", "objective", "passes", *backends], body)


def _cell(row: Row | None, ours: Row | None) -> str:
    if row is None:
        return ""
    text = figure(row["seconds"] * 1e3)
    if row["solve_seconds"] is not None:
        text += f" ({figure(row['solve_seconds'] * 1e3)})"
    if not closed(row):
        return f"{text} {row['status']}"
    if ours is not None and row is not ours and closed(ours):
        text += f" {figure(row['seconds'] / ours['seconds'])}x"
    return text


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draws milliseconds against edge-steps: a marker per answer, hollow where unproven, and a line of medians.

    Args:
        rows: All rows.
        folder: Where `bench_solvers.png` and `.svg` go.

    Returns:
        The files.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "bench_solvers"
    drawing, axes = plt.subplots(figsize=(8, 5.5))
    for index, name in enumerate(BACKENDS):
        mine = [row for row in rows if row["backend"] == name]
        if not mine:
            continue
        marker, colour = _MARKERS[index], f"C{index}"
        for proven in (True, False):
            some = [row for row in mine if closed(row) is proven]
            axes.scatter(
                [row["edge_steps"] for row in some], [row["seconds"] * 1e3 for row in some], s=14, marker=marker,
                facecolors=colour if proven else "none", edgecolors=colour, linewidths=0.7, alpha=0.5,
            )  # fmt: skip
        sizes, times = _medians(mine)
        axes.plot(sizes, times, linestyle=_LINES[index], marker=marker, color=colour, label=name, linewidth=1.6)
    axes.set(xscale="log", yscale="log", xlabel="edge-steps", ylabel="milliseconds, whole call")
    axes.set_title("Cost against size; hollow: not closed in time; lines: medians per half decade", fontsize=10)
    axes.grid(which="major", linewidth=0.3)
    axes.legend(fontsize=8, handlelength=4)
    drawing.tight_layout()
    files = [folder / f"bench_solvers.{kind}" for kind in ("png", "svg")]
    drawing.savefig(files[0], dpi=150, metadata={"Software": None})
    drawing.savefig(files[1], metadata={"Date": None})
    plt.close(drawing)
    return files


def _medians(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Medians of size and milliseconds in each half decade of sizes."""
    bins: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        bins[math.floor(2 * math.log10(max(1, row["edge_steps"])))].append(row)
    ordered = [bins[key] for key in sorted(bins)]
    return (
        [median(row["edge_steps"] for row in some) for some in ordered],
        [median(row["seconds"] * 1e3 for row in some) for some in ordered],
    )
