"""The figure and the tables of the toy analysis. All of them are marked as a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.document import Figure, Section, Table, markdown, write_report
from experiments.harness.plots import Panel, Plot, Series, Value
from tape.reading import read_json

NAME = "toy"
FILE = "toy.json"
HEADING = "Simulation, no language model"
TITLE = "Success against T, beside the bounds (simulation)"
Point = Mapping[str, Any]
_PANELS = (("react",), ("plan_and_act",), ("tape_step", "tape_folded", "tape_once"))
_BUG = "**NOTHING: THIS BOUND IS PROVEN (A BUG)**"


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


def sections(record: Mapping[str, Any]) -> list[Section]:
    """The figure, and where the bounds do not hold."""
    setting = record["setting"]
    about = (
        f"{record['note']} Planning error {setting['epsilon_p']:g}, sampling error {setting['epsilon_s']:g}, "
        f"budget T + {setting['slack']}, M = {setting['plans']}, p_follow = {setting['p_follow']:g}. In the paper: "
        f"figure 1b, section 4, appendix A. Made by `{record['made_by']}`. "
        "Formulas and proofs: `docs/evidence/theory.md`."
    )
    figure = Figure(NAME, "SIMULATION: success against T beside the bounds; exact where it is known.", _plot(record))
    rows = tuple(
        (
            record["worlds"][row["kind"]],
            record["agents"][row["agent"]],
            row["name"],
            f"{', '.join(map(str, row['T']))} (of {len(row['points'])} points)",
            record["assumptions"][row["broken"]] if row["broken"] else _BUG,
        )
        for row in exceeded(record)
    )
    head = ("world", "simulated agent", "bound", "at T", "what does not hold there")
    beyond = Section("Where the bounds do not hold (simulation), and why", (Table(head, rows),), level=3)
    return [Section(TITLE, (about, figure)), beyond]


def tables(record: Mapping[str, Any]) -> Iterator[Section]:
    """All points: a table for each world and agent."""
    for kind, title in record["worlds"].items():
        for agent, name in record["agents"].items():
            points = _points(record, kind, agent)
            if points:
                yield Section(f"Simulation: {title}: {name}", (_table(points),), level=3)


def write(record: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the report with its figure."""
    return write_report(folder, HEADING, [*sections(record), *tables(record)], html_too=False)


def texts(folder: Path, *, draw: bool = False) -> dict[str, str]:
    """What follows from the published points in a folder: the report.

    Args:
        folder: Where they are.
        draw: Whether the report and its figure are written there, too.
    """
    record = read_json(folder / FILE, dict[str, Any])
    if draw:
        write(record, folder)
    return {"report.md": markdown(HEADING, [*sections(record), *tables(record)])}


def _points(record: Mapping[str, Any], kind: str, agent: str) -> list[Point]:
    return [point for point in record["points"] if point["kind"] == kind and point["agent"] == agent]


def _table(points: Sequence[Point]) -> Table:
    names = [
        bound["name"] + (" (its assumptions fail here)" if bound["broken"] else "") for bound in points[0]["bounds"]
    ]
    body = []
    for point in points:
        low, high = point["sampled"]["ci95"]
        row = [str(point["T"]), str(point["budget"]), _share(point["exact"])]
        row += [f"{point['sampled']['rate']:.3f} ({low:.3f} to {high:.3f})", str(point["sampled"]["n"])]
        row += [_share(bound["value"]) + (" **!**" if bound["exceeded"] else "") for bound in point["bounds"]]
        body.append(tuple(row))
    note = (
        f"Mean of {points[0]['worlds']} worlds a T. Exact: by dynamic programming; sampled: with Wilson's 95 % "
        "interval; **!**: the success is above the bound."
    )
    return Table(("T", "budget", "exact", "sampled (95 %)", "n", *names), tuple(body), note)


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def _plot(record: Mapping[str, Any]) -> Plot:
    """A panel for each world and family of agents, with the bounds beside them."""
    panels = []
    for kind, world in record["worlds"].items():
        for agents in _PANELS:
            series: dict[str, Series] = {}
            for agent in agents:
                points = _points(record, kind, agent)
                at = tuple(float(point["T"]) for point in points)
                shown = tuple(_value(point) for point in points)
                series[agent] = Series(record["agents"][agent], shown, "strong", at)
                for number, bound in enumerate(points[0]["bounds"] if points else ()):
                    limits = tuple(Value(*[point["bounds"][number]["value"]] * 3) for point in points)
                    series.setdefault(bound["name"], Series(bound["name"], limits, "plain", at))
            panels.append(Panel(world, tuple(series.values())))
    return Plot("lines", tuple(panels), "success (simulation)", "T, steps of a shortest solution")


def _value(point: Point) -> Value:
    low, high = point["sampled"]["ci95"]
    return Value(point["sampled"]["rate"] if point["exact"] is None else point["exact"], low, high)
