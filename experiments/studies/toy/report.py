"""The figure and the tables of the toy analysis. Every one of them says that it is a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.show.document import table

Point = Mapping[str, Any]
_PANELS = (("react",), ("plan_and_act",), ("tape_step", "tape_folded", "tape_once"))
_STYLES = {
    "react": ("C3", "s"),
    "plan_and_act": ("C1", "^"),
    "tape_step": ("C0", "o"),
    "tape_folded": ("C2", "D"),
    "tape_once": ("C4", "v"),
}
_BOUNDS = {
    "U_ReAct": ((0, (5, 1.5)), "0.0"),
    "U_PA, alpha 1": ((0, (5, 1.5)), "0.0"),
    "U_PA, mean alpha": ((0, (2, 1)), "0.3"),
    "U_ours, M draws": ((0, (5, 1.5)), "0.0"),
    "U_ours, d distinct": ((0, (2, 1)), "0.3"),
    "U_ours, 2M draws": ((0, (8, 1.5, 1, 1.5, 1, 1.5)), "0.3"),
    "critical steps": ((0, (6, 1.5, 1, 1.5)), "0.45"),
    "measured rates": ((0, (1, 1.2)), "0.45"),
}
_FLOOR = 1e-4


def exceeded(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The bounds that some point exceeds, with the horizons where, in the order of the report."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for point in record["points"]:
        for bound in point["bounds"]:
            key = (point["kind"], point["agent"], bound["name"])
            row = rows.setdefault(key, dict(zip(("kind", "agent", "name"), key, strict=True)))
            row["broken"] = bound["broken"]
            row.setdefault("points", []).append(point["T"])
            if bound["exceeded"]:
                row.setdefault("T", []).append(point["T"])
    return [row for row in rows.values() if "T" in row]


def markdown(record: Mapping[str, Any]) -> str:
    """The whole report."""
    setting = record["setting"]
    parts = [
        "# Simulation: success against T, beside the bounds",
        "",
        f"{record['note']} Planning error {setting['epsilon_p']:g}, sampling error {setting['epsilon_s']:g}, "
        f"budget T + {setting['slack']}, M = {setting['plans']}, p_follow = {setting['p_follow']:g}; "
        f'made by `{record["made_by"]}`. "exact": by dynamic programming; "sampled": with Wilson\'s 95 % interval; '
        "**!** after a bound: the success is above it. Formulas and proofs: `docs/theory.md`.",
        "",
        "## Bounds that are exceeded (simulation)",
        "",
        _exceeded(record),
    ]
    for kind, title in record["worlds"].items():
        for agent, name in record["agents"].items():
            some = [point for point in record["points"] if point["kind"] == kind and point["agent"] == agent]
            if some:
                worlds = f", mean of {some[0]['worlds']} worlds per T" if some[0]["worlds"] > 1 else ""
                parts += ["", f"## Simulation: {title}: {name}", "", _table(some, f"Simulation{worlds}.")]
    return "\n".join(parts) + "\n"


def _exceeded(record: Mapping[str, Any]) -> str:
    rows = exceeded(record)
    if not rows:
        return "None."
    return table(
        ["world", "agent", "bound", "at T", "of", "what does not hold there"],
        [
            [
                record["worlds"][row["kind"]],
                record["agents"][row["agent"]],
                row["name"],
                ", ".join(str(t) for t in row["T"]),
                f"{len(row['points'])} points",
                record["assumptions"][row["broken"]] if row["broken"] else "**NOTHING: THIS BOUND IS PROVEN (A BUG)**",
            ]
            for row in rows
        ],
    )


def _table(points: Sequence[Point], caption: str) -> str:
    names = [
        bound["name"] + (" (its assumptions fail here)" if bound["broken"] else "") for bound in points[0]["bounds"]
    ]
    body = []
    for point in points:
        low, high = point["sampled"]["ci95"]
        row = [str(point["T"]), str(point["budget"]), _share(point["exact"])]
        row += [f"{point['sampled']['rate']:.3f} ({low:.3f} to {high:.3f})", str(point["sampled"]["n"])]
        row += [_share(bound["value"]) + (" **!**" if bound["exceeded"] else "") for bound in point["bounds"]]
        body.append(row)
    return table(["T", "budget", "exact", "sampled (95 %)", "n", *names], body) + f"\n\n{caption}"


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def draw(record: Mapping[str, Any], png: Path, svg: Path) -> None:
    """Draws a row of panels per family of worlds: all agents, then each one beside its bounds.

    Agents differ by marker, bounds by dashes, so the figure needs no colour; a cross marks a bound that is exceeded.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "toy"
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text: a fifth of the size
    kinds = list(record["worlds"])
    height = 3.2 * len(kinds) + 2.3
    figure, grid = plt.subplots(len(kinds), 4, figsize=(15, height), squeeze=False)
    for row, kind in zip(grid, kinds, strict=True):
        mine = [point for point in record["points"] if point["kind"] == kind]
        for agent in record["agents"]:
            _agent(row[0], [point for point in mine if point["agent"] == agent], record["agents"][agent])
        row[0].set_title(record["worlds"][kind], fontsize=9, fontweight="bold")
        for axes, agents in zip(row[1:], _PANELS, strict=True):
            _beside(axes, [[p for p in mine if p["agent"] == agent] for agent in agents], record)
            axes.set_title(f"{record['agents'][agents[0]].split(',')[0]} beside its bounds", fontsize=9)
        for axes in row:
            logarithmic = axes in (row[1], row[2])
            axes.set_yscale("log" if logarithmic else "linear")
            axes.set_ylim(*((_FLOOR, 1.5) if logarithmic else (-0.03, 1.05)))
            axes.set_xlabel("T, steps of a shortest solution", fontsize=8)
            axes.set_ylabel("success (simulation)", fontsize=8)
            axes.tick_params(labelsize=7)
            axes.grid(linewidth=0.3)
    setting = record["setting"]
    figure.suptitle(
        f"SIMULATION, no language model: oracle with planning error {setting['epsilon_p']:g} and sampling error "
        f"{setting['epsilon_s']:g}, budget T + {setting['slack']}, M = {setting['plans']}\n"
        "markers on a line: exact; without a line: sampled; bars: sampled, 95 % interval; dashes: bounds",
        fontsize=10,
    )
    figure.tight_layout(rect=(0, 1.65 / height, 1, 0.99))
    for column in range(4):
        found = {}
        for axes in grid[:, column]:
            found.update({label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)})
        left = grid[-1, column].get_position().x0
        figure.legend(
            found.values(), found.keys(), loc="upper left", bbox_to_anchor=(left, 1.65 / height), fontsize=7.5,
            handlelength=4.5, frameon=False,
        )  # fmt: skip
    figure.savefig(png, dpi=85, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None})
    plt.close(figure)


def _agent(axes: Any, points: Sequence[Point], label: str) -> None:
    """The success of one agent: a line where it is exact, the sampled interval beside it."""
    if not points:
        return
    colour, marker = _STYLES[points[0]["agent"]]
    at = [point["T"] for point in points]
    exact = points[0]["exact"] is not None
    middle = [point["exact"] if exact else point["sampled"]["rate"] for point in points]
    axes.plot(
        at, middle, marker=marker, color=colour, label=label, linestyle="-" if exact else "none",
        markersize=4.5, markerfacecolor="white", linewidth=1.2, zorder=3,
    )  # fmt: skip
    low, high = zip(*(point["sampled"]["ci95"] for point in points), strict=True)
    axes.vlines(at, low, high, color=colour, linewidth=1.0, zorder=2)


def _beside(axes: Any, agents: Sequence[Sequence[Point]], record: Mapping[str, Any]) -> None:
    """Agents of one framework and their bounds; a bound that several of them share is drawn once."""
    bounds: dict[str, dict[int, float]] = {}
    crossed: set[tuple[int, float]] = set()
    for points in agents:
        if points:
            _agent(axes, points, record["agents"][points[0]["agent"]])
        for point in points:
            for bound in point["bounds"]:
                bounds.setdefault(bound["name"], {})[point["T"]] = bound["value"]
                if bound["exceeded"]:
                    crossed.add((point["T"], bound["value"]))
    for name, values in bounds.items():
        dashes, grey = _BOUNDS[name]
        axes.plot(list(values), list(values.values()), label=name, linewidth=1.3, linestyle=dashes, color=grey)
    if crossed:
        at, value = zip(*sorted(crossed), strict=True)
        label = "bound exceeded: an assumption fails"
        axes.plot(at, value, linestyle="none", marker="x", color="black", markersize=7, zorder=4, label=label)
