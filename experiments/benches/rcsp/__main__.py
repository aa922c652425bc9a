"""Measures `solvers.shortest_path` beside other programmes on resource-constrained shortest path problems.

Instances: the OR-Library's (`--data`, a folder of files in its format), 200 generated ones of the same kinds, 20 of its
largest size, and a road map. Every competitor gets the graph as its author would give it, and takes turns with ours in
one process; a time is the median of at least ``--repeats`` calls. ``--quick`` takes minutes and keeps its results to
itself; all together takes hours on two cores (``--parts library`` minutes), and resumes if run again: the results are
of all rows in ``--out``, so parts and competitors can be measured one by one. Competitors that are not installed are
said and left out: ``pip install cspy==1.0.3 cmeel-boost didppy==0.11.1 pylgrim==1.0.5``. Exit codes: 0 complete, 1
an answer is wrong or an error, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.benches.rcsp.catalogue import entries
from experiments.benches.rcsp.registry import COMPETITORS, GENERATED, LARGE, LIBRARY, OURS, ROAD
from experiments.benches.rcsp.report import markdown
from experiments.benches.rcsp.running import Job, jobs, run
from experiments.benches.rcsp.summary import comparisons, disagreements, ratio, targets
from experiments.benches.rcsp.table import FILE
from experiments.benches.rows import read_rows
from experiments.benches.solvers.report import figure

_PARTS = (LIBRARY, GENERATED, LARGE, ROAD)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; exits with 2 where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.rcsp",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    test_data = os.environ.get("TAPE_TEST_DATA")
    data = Path(test_data) / "rcsp" if test_data and (Path(test_data) / "rcsp").is_dir() else None
    parser.add_argument("--data", type=Path, default=data, metavar="PATH", help="folder of files, or one file")
    parser.add_argument("--dry-run", action="store_true", help="only say what would run")
    parser.add_argument("--quick", action="store_true", help="a few generated instances, limit 5 s")
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=list(_PARTS))
    parser.add_argument("--competitors", nargs="*", choices=list(COMPETITORS), default=list(COMPETITORS))
    parser.add_argument("--limit", type=float, default=None, help="seconds that a call gets (20)")
    parser.add_argument("--repeats", type=int, default=5, help="least timed calls of each side (at least 3)")
    parser.add_argument("--out", type=Path, default=None, help="where rows are kept (runs/bench-rcsp)")
    parser.add_argument("--results", type=Path, default=None, help="the results' JSON")
    args = parser.parse_args(argv)
    if args.limit is None:
        args.limit = 5.0 if args.quick else 20.0
    if args.repeats < 3 or args.limit <= 0:
        parser.error("--repeats must be at least 3, --limit positive")
    if args.data is None and args.parts == [LIBRARY]:
        parser.error("no files: give --data FOLDER, or set TAPE_TEST_DATA to a folder with rcsp/ in it")
    if args.data is not None and not args.data.exists():
        parser.error(f"--data: {args.data} does not exist")
    if args.out is None:
        args.out = Path("runs/bench-rcsp-quick" if args.quick else "runs/bench-rcsp")
    if args.results is None:
        whole = not args.quick and args.data is not None and len(args.parts) == len(_PARTS)
        args.results = FILE if whole and len(args.competitors) == len(COMPETITORS) else args.out / FILE.name
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run, resume or report."""
    args = parse(argv)
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        found = [one for one in entries(args.data, quick=args.quick) if one.part in args.parts]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if args.data is None and LIBRARY in args.parts:
        print("skipped: the library's instances; give --data FOLDER, or set TAPE_TEST_DATA")
    absent = {name: reason for name in args.competitors if (reason := COMPETITORS[name][0].unavailable_reason())}
    for name, reason in absent.items():
        print(f"skipped: {name}: {reason}")
    there = [name for name in args.competitors if name not in absent]
    todo = jobs(found, there)
    if args.dry_run:
        print("\n".join(one.name for one in found))
        print(f"{len(found)} instances, {len(todo)} processes; a call of a competitor gets {args.limit:g} s")
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    began, load = time.time(), os.getloadavg()[0]
    try:
        _measure(args, todo)
    except KeyboardInterrupt:
        command = shlex.join(["python", "-m", "experiments.benches.rcsp", *given])
        print(f"\ninterrupted; what is finished is kept. To resume: {command}")
        return 130
    rows = list(read_rows(args.out, "competitor").values())
    measured = {row["competitor"] for row in rows}
    machine = {
        "system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count(),
        "load_before": load, "load_after": os.getloadavg()[0], "seconds": time.time() - began,
    }  # fmt: skip
    versions = {
        name: made.version()
        for name, (made, *_) in COMPETITORS.items()
        if name in measured and not made.unavailable_reason()
    }
    return _report(args, rows, machine, versions, absent)


def _measure(args: argparse.Namespace, todo: Sequence[Job]) -> None:
    """Runs the jobs, with one line of progress."""
    began, order = time.monotonic(), {job.key: index for index, job in enumerate(todo, 1)}
    live = sys.stdout.isatty()
    for row in run(args.out, todo, args.data, args.limit, args.repeats):
        place = order[f"{row['instance']} {row['competitor']}"]
        ours = row.get("ours")
        said = row.get("status") or (ours["status"] if ours else "")
        text = f"[{place}/{len(todo)}] {row['instance']} {row['competitor']}: {said}"
        if row["competitor"] == OURS and ours:
            text += f" {figure(ours['problem'] * 1e3)} ms"
        elif (value := ratio(row, "whole call")) is not None:
            text += f" {figure(value)} x ours"
        text += f" ({time.monotonic() - began:.0f} s so far)"
        print(f"\r\x1b[K{text}" if live else text, end="" if live else "\n", flush=True)
    if live:
        print()


def _report(
    args: argparse.Namespace,
    rows: list[dict[str, Any]],
    machine: dict[str, Any],
    versions: dict[str, str],
    absent: dict[str, str],
) -> int:
    """Writes the results and the report, and prints it."""
    wrong = disagreements(rows)
    record = {
        "schema": 1,
        "command": "python -m experiments.benches.rcsp",
        "machine": machine,
        "limit": args.limit,
        "repeats": args.repeats,
        "versions": versions,
        "missing": absent,
        "targets": targets(rows),
        "comparisons": comparisons(rows),
        "disagreements": wrong,
        "rows": rows,
    }
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    text = markdown(record)
    (args.out / "report.md").write_text(text, encoding="utf-8")
    print(text)
    for path in (args.results, args.out / "report.md"):
        print(f"written: {path}")
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return int(any(OURS in line or " failed: " in line for line in wrong))


if __name__ == "__main__":
    sys.exit(main())
