"""The chapter on the toy analysis (figure 1b), a simulation: from what ``experiments.studies.toy`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.studies.toy import __main__ as toy
from experiments.studies.toy.report import exceeded
from tape.reading import read_json
from tape.show.document import Bullets, Figure, Section, Table

NAME = "toy"
FILES = ("toy.json", "toy.png")
"""What the chapter is made of."""

TITLE = "Success against T, beside the bounds (simulation)"


def run(folder: Path, workers: str, *, quick: bool) -> int:
    """Make the analysis unless it is there already.

    Args:
        folder: Where to.
        workers: Processes; what is no number counts as one.
        quick: Fewer sampled episodes; the exact values are the same.

    Returns:
        The exit code of ``experiments.studies.toy``: 1 if a proven bound is exceeded.
    """
    seeds, episodes = ([0], 100) if quick else ([0, 1, 2, 3, 4], 400)
    if sections(folder):
        setting = read_json(folder / "toy.json", dict[str, Any])["setting"]
        if (setting["seeds"], setting["episodes"]) == (seeds, episodes):
            return 0
    count = workers if workers.isdecimal() else "1"
    args = ["--out", str(folder), "--workers", count, "--episodes", str(episodes), "--seeds", *map(str, seeds)]
    return toy.main(args)


def sections(folder: Path) -> list[Section]:
    """The chapter; nothing where the analysis has not been made."""
    file, picture = folder / "toy.json", folder / "toy.png"
    if not (file.exists() and picture.exists()):
        return []
    record = read_json(file, dict[str, Any])
    setting = record["setting"]
    about = (
        f"{record['note']} Planning error {setting['epsilon_p']:g}, sampling error {setting['epsilon_s']:g}, budget "
        f"T + {setting['slack']}, M = {setting['plans']}. In the paper: figure 1b, section 4, appendix A. All points "
        f"and bounds: `toy.md`. Made by `{record['made_by']}`."
    )
    figure = Figure("toy", "SIMULATION: success against T beside the bounds.", file=picture)
    rows = []
    for kind, title in record["worlds"].items():
        for agent, label in record["agents"].items():
            points = [p for p in record["points"] if p["kind"] == kind and p["agent"] == agent]
            if points:
                first, last = points[0], points[-1]
                rows.append((title, label, *(f"T = {p['T']}: {p['sampled']['rate']:.3f}" for p in (first, last))))
    table = Table(("world", "simulated agent", "shortest", "longest"), tuple(rows), "Sampled success, simulation.")
    said = []
    for row in exceeded(record):
        if row["broken"]:
            agent, world = record["agents"][row["agent"]], record["worlds"][row["kind"]]
            where = ", ".join(str(length) for length in row["T"])
            why = record["assumptions"][row["broken"]]
            said.append(f'{row["name"]} is exceeded by {agent} in "{world}" at T = {where}. Not given there: {why}.')
    parts: list[Section] = [Section(TITLE, (about, figure, table))]
    if said:
        parts.append(Section("Where the bounds do not hold (simulation), and why", (Bullets(tuple(said)),), level=3))
    return parts
