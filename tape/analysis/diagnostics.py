"""What the certified trajectories of a run show (SDP section 4.2, figure 3): tables and a figure from traces alone.

``python -m tape.analysis.diagnostics RUN_DIR`` writes ``report.md``, ``report.html``, ``diagnostics.json`` and the
figure into ``RUN_DIR/sdp-diagnostics``; no model is opened. Exit code 2 where there is no SDP episode.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tape.analysis.credit import by_kind
from tape.analysis.diagnostics_figure import draw_figure
from tape.analysis.measures import (
    ENDS,
    MOST,
    STAGES,
    Trajectories,
    agreement,
    attempts_by_kind,
    cascades,
    certified_by_length,
    endings,
    failed,
    goals,
    progress,
    progress_by_kind,
    rejections,
    score_by_replans,
    task_of,
)
from tape.analysis.revalidation import checked, revalidate
from tape.analysis.trajectories import Found, trajectories_in
from tape.errors import TapeError
from tape.runner.directory import RunDirectory
from tape.show.document import Figure, Section, Table, write_report

TITLE = "Certified trajectories"
INTERVALS = (
    "Intervals are 95 %: Wilson's where nothing is repeated, else by bootstrap over episodes (of actions and verdicts) "
    "or tasks (of episodes)."
)


def measured(found: Trajectories) -> dict[str, Any]:
    """Everything about one cell as plain values, as in ``diagnostics.json``."""
    exact = [checked(one) for one in found]
    flagged: Counter[str] = Counter()
    for one in exact:
        flagged.update(one.flagged)
    return {
        "episodes": len(found),
        "tasks": len({task_of(one) for one in found}),
        "successes": sum(one.ending.success for one in found),
        "goal_certified": sum(one.ending.goal_certified for one in found),
        "certificates": {
            "recomputed": sum(one.recomputed for one in exact),
            "unrecorded": sum(one.unrecorded for one in exact),
            **dict(sorted(flagged.items())),
        },
        "findings": sum(len(revalidate(one)) for one in found),
        "cascades": asdict(cascades(found)),
        "score_by_replans": [asdict(one) for one in score_by_replans(found)],
        "failed": len(failed(found)),
        "progress_of_failed": asdict(progress(found)),
        "progress_of_failed_by_kind": {kind: asdict(one) for kind, one in progress_by_kind(found).items()},
        "certified_of_failed_by_planned": certified_by_length(found),
        "rejections": rejections(found),
        "endings_of_failed": endings(found),
        "credit_by_kind": [asdict(one) for one in by_kind(found)],
        "verdicts": {how: asdict(one) for how, one in agreement(found).items()},
        "goal": asdict(goals(found)),
    }


def sections_of(found: Found, picture: Path, title: str) -> list[Section]:
    """The report."""
    cells = found.trajectories
    said = [f"Of the run {title!r}, from its traces alone. {INTERVALS}"]
    lost = {cell: n for cell, n in found.without.items() if n}
    if lost:
        listed = ", ".join(f"{n} of {cell}" for cell, n in lost.items())
        said.append(f"Left out, since they ended before there was a chain: {listed}.")
    caption = "Cascade depth, score by replans, progress of failed runs, and verdicts beside the truth. " + INTERVALS
    return [
        Section("What there is", (*said, _overview(cells), Figure("sdp_diagnostics", caption, file=picture))),
        Section("Cascades", (_cascades(cells),), 3),
        Section("Score by replans", (_replans(cells),), 3),
        Section("How far failed runs get", (_progress(cells), _progress_kinds(cells), _lengths(cells)), 3),
        Section("Where attempts and runs fail", (_rejections(cells), _endings(cells), _credit(cells)), 3),
        Section("Verdicts beside the truth", (_verdicts(cells), _goals(cells)), 3),
    ]


Cells = Mapping[str, Trajectories]


def _overview(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        one = measured(own)
        flagged = {how: n for how, n in one["certificates"].items() if how not in ("recomputed", "unrecorded")}
        listed = ", ".join(f"{n} {how}" for how, n in flagged.items()) or "none"
        row = [cell, f"{one['episodes']} ({one['tasks']})", str(one["successes"]), str(one["goal_certified"])]
        row += [str(one["certificates"]["recomputed"]), str(one["certificates"]["unrecorded"]), listed]
        rows.append((*row, str(one["findings"])))
    head = ("cell", "n (tasks)", "success", "goal certified", "certificates recomputed", "without facts", "flagged")
    note = (
        "Recomputed: deterministic certificates that follow again from the recorded facts. Without facts: "
        "deterministic ones that only the environment could repeat. Flagged: those that can be wrong. Findings: "
        "violated invariants of the trajectories (`docs/sdp-trajectories.md`)."
    )
    return Table((*head, "findings"), tuple(rows), note)


def _cascades(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        one = cascades(own)
        row = [cell, str(one.deep.n), *(depth.shown for depth in one.depths), one.deep.shown]
        rows.append((*row, f"{one.without_completion.shown}, n = {one.without_completion.n}"))
    depths = [f"k = {k}" for k in range(1, MOST)] + [f"k >= {MOST}"]
    note = "n: certifying actions. The last column leaves out actions after which the environment reported all as done."
    return Table(("cell", "n", *depths, "k >= 2", "k >= 2 without completion"), tuple(rows), note)


def _replans(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        rows.append((cell, *(f"{one.shown}, n = {one.n}" for one in score_by_replans(own))))
    head = ("cell", *(f"{count} replans" for count in range(MOST)), f"{MOST} or more")
    return Table(head, tuple(rows), "Mean of the environment's measure `score`, where it has one, else success.")


def _progress(cells: Cells) -> Table:
    rows = [(cell, str(progress(own).n), progress(own).shown) for cell, own in cells.items()]
    return Table(("cell", "failed runs", "certified share of the chain"), tuple(rows))


def _progress_kinds(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        rows += [(cell, kind, str(one.n), one.shown) for kind, one in progress_by_kind(own).items()]
    head = ("cell", "kind of predicate", "planned in failed runs", "certified")
    return Table(head, tuple(rows), "Planned: in the chain at the end.")


def _lengths(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        rows += [(cell, str(length), str(n), f"{k:.2f}") for length, (n, k) in certified_by_length(own).items()]
    return Table(("cell", "length of the chain at the end", "failed runs", "predicates certified, mean"), tuple(rows))


def _rejections(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        tried = attempts_by_kind(own)
        for kind, by in rejections(own).items():
            rows.append((cell, kind, str(tried[kind]), *(str(by[stage]) for stage in STAGES)))
    note = "Failed attempts of all runs, by the kind of their target; n: attempts at targets of the kind."
    return Table(("cell", "kind of predicate", "n", *STAGES.values()), tuple(rows), note)


def _endings(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        for kind, by in endings(own).items():
            rows.append((cell, kind, str(by.total()), *(str(by[end]) for end in ENDS)))
    note = "Failed runs, by the kind of the predicate at which they ended."
    return Table(("cell", "stuck at", "n", *ENDS.values()), tuple(rows), note)


def _credit(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        for one in by_kind(own):
            earned = f"{one.progress / len(own):.3f}"
            rows.append((cell, one.name, str(one.certified), str(one.attempts), f"{one.rate:.2f}", earned))
    head = ("cell", "kind of predicate", "certified", "attempts", "certified per attempt", "progress per episode")
    return Table(head, tuple(rows), "An attempt is its target's kind; a cascade certifies other kinds too.")


def _verdicts(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        for how, one in agreement(own).items():
            precision, recall = (f"{s.shown}, n = {s.n}" for s in (one.precision, one.recall))
            rows.append((cell, how, precision, recall, str(one.unknown)))
    note = (
        "Where the environment can tell the truth of a predicate, which no agent sees. Precision: of the certified, "
        "the true ones. Recall: of the true ones that were looked at, the certified."
    )
    return Table(("cell", "judged by", "precision", "recall", "truth not known"), tuple(rows), note)


def _goals(cells: Cells) -> Table:
    rows = []
    for cell, own in cells.items():
        one = goals(own)
        shares = (one.agree, one.certified, one.judged, one.forced)
        rows.append((cell, *(f"{s.shown}, n = {s.n}" for s in shares)))
    head = ("cell", "goal certified agrees with success", "success where certified",
            "success where the validator certified it", "success of forced answers")  # fmt: skip
    note = "Forced: a final answer at a limit; these runs are in the last column alone."
    return Table(head, tuple(rows), note)


def write(run: Path, out: Path, cells: Sequence[str] | None = None) -> list[Path]:
    """Make the report of a run.

    Args:
        run: The run directory.
        out: Where to.
        cells: Only these cells.

    Returns:
        The files written, the report first.

    Raises:
        TapeError: There is no run, no such cell, no SDP episode, or a malformed trace.
    """
    directory = RunDirectory(run)
    found = trajectories_in(directory, cells)
    picture = out / "plots" / "sdp_diagnostics.png"
    draw_figure(found.trajectories, [picture, picture.with_suffix(".svg")])
    files = write_report(out, TITLE, sections_of(found, picture, directory.title() or run.name))
    data = out / "diagnostics.json"
    all_of_them = {cell: measured(own) for cell, own in found.trajectories.items()}
    data.write_text(json.dumps({"run": directory.title(), "cells": all_of_them}, indent=1) + "\n", encoding="utf-8")
    return [*files, data]


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="a run with episodes of the agent sdp")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to (default: RUN_DIR/sdp-diagnostics)")
    parser.add_argument("--cells", nargs="+", metavar="CELL", help="only these cells of the run (default: all)")
    args = parser.parse_args(argv)
    try:
        files = write(args.run, args.out or args.run / "sdp-diagnostics", args.cells)
    except TapeError as error:
        print(f"tape.analysis.diagnostics: {error}", file=sys.stderr)
        return 2
    print("\n".join(map(str, files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
