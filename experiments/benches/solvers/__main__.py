"""Measures every solver on the catalogue of seeded walk problems beside `labelling`, in one run on one machine.

``python -m experiments.benches.solvers`` takes about half an hour, resumes if run again, and writes
``experiments/results/bench_solvers.json``, from which ``python -m experiments.tables`` makes the table of
``docs/results.md``; ``--quick`` takes under three minutes and keeps its results to itself. Exit codes: 0 complete, 1 an
answer is wrong or an error, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.benches.rows import read_rows
from experiments.benches.solvers.backends import BACKENDS, BENCHED, OURS, missing
from experiments.benches.solvers.catalogue import catalogue
from experiments.benches.solvers.cold import measure_cold
from experiments.benches.solvers.instances import GENERATORS
from experiments.benches.solvers.report import figure, markdown, plot
from experiments.benches.solvers.running import Settings, jobs, run, settings_clash
from experiments.benches.solvers.summary import comparisons, disagreements
from experiments.benches.solvers.targets import check_targets
from experiments.harness.places import RESULTS
from tape.reading import read_json

FILE = RESULTS / "bench_solvers.json"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.solvers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would run")
    parser.add_argument("--quick", action="store_true", help="a few instances of every family, slow limit 5 s")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="only the first N instances")
    parser.add_argument("--families", nargs="+", choices=sorted(GENERATORS), default=sorted(GENERATORS))
    parser.add_argument("--backends", nargs="+", choices=list(BACKENDS), default=list(BENCHED))
    parser.add_argument("--slow-limit", type=float, default=None, help="seconds that a solve gets (60)")
    parser.add_argument("--repeats", type=int, default=5, help="most timed solves of a fast backend (at least 3)")
    parser.add_argument("--out", type=Path, default=None, help="where rows are kept (runs/bench-solvers)")
    parser.add_argument("--results", type=Path, default=None, help="the results' JSON; the plots go beside it")
    args = parser.parse_args(argv)
    if args.repeats < 3 or (args.limit is not None and args.limit < 1):
        parser.error("--repeats must be at least 3, --limit at least 1")
    if args.slow_limit is None:
        args.slow_limit = 5.0 if args.quick else 60.0
    if args.slow_limit <= 0:
        parser.error("--slow-limit must be positive")
    if args.out is None:
        args.out = Path("runs/bench-solvers-quick" if args.quick else "runs/bench-solvers")
    if args.results is None:
        whole = not args.quick and args.limit is None and len(args.families) == len(GENERATORS)
        args.results = FILE if whole and set(args.backends) >= set(BENCHED) else args.out / FILE.name
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run, resume or report."""
    args = parse(argv)
    given = list(sys.argv[1:] if argv is None else argv)
    command = shlex.join(["python", "-m", "experiments.benches.solvers", *given])
    specs = [spec for spec in catalogue(quick=args.quick) if spec.family in args.families][: args.limit]
    absent = {name: reason for name in args.backends if (reason := missing(name))}
    for name, reason in absent.items():
        print(f"skipped: {name}: {reason}")
    todo = jobs(specs, [name for name in args.backends if name not in absent])
    if args.dry_run:
        print("\n".join(spec.name for spec in specs))
        print(f"{len(specs)} instances, at most {len(todo)} solves of at most {args.slow_limit:g} s each")
        return 0
    settings = Settings(args.slow_limit, args.repeats)
    args.out.mkdir(parents=True, exist_ok=True)
    clash = settings_clash(args.out, settings)
    if clash:
        print(f"{args.out} has rows of other settings ({clash}); choose another --out", file=sys.stderr)
        return 2
    try:
        _measure(args, todo, settings)
        cold = _cold(args.out / "cold.json")
    except KeyboardInterrupt:
        print(f"\ninterrupted; what is finished is kept. To resume: {command}")
        return 130
    keys = {job.key for job in todo}
    rows = [row for key, row in read_rows(args.out, "backend").items() if key in keys]
    return _report(args, _published(given), rows, cold, absent)


def _measure(args: argparse.Namespace, todo: Sequence[Any], settings: Settings) -> None:
    """Runs the jobs, with one line of progress."""
    began, order = time.monotonic(), {job.key: index for index, job in enumerate(todo, 1)}
    live = sys.stdout.isatty()
    for row in run(args.out, todo, settings):
        place = order[f"{row['instance']} {row['backend']}"]
        text = f"[{place}/{len(todo)}] {row['instance']} {row['backend']}: {row['status']} "
        text += f"{figure(row['seconds'] * 1e3)} ms ({time.monotonic() - began:.0f} s so far)"
        print(f"\r\x1b[K{text}" if live else text, end="" if live else "\n", flush=True)
    if live:
        print()


def _cold(path: Path) -> dict[str, Any]:
    """The times of fresh processes, measured once per folder."""
    if not path.exists():
        path.write_text(json.dumps(measure_cold()) + "\n", encoding="utf-8")
    return read_json(path, dict[str, Any])


def _published(given: Sequence[str]) -> str:
    """The command as it stands beside the results: what was measured and how, not in which folder that was kept."""
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument("--out")
    places.add_argument("--results")
    return shlex.join(["python", "-m", "experiments.benches.solvers", *places.parse_known_args(given)[1]])


def _report(
    args: argparse.Namespace,
    command: str,
    rows: list[dict[str, Any]],
    cold: dict[str, Any],
    absent: dict[str, str],
) -> int:
    """Writes the results, the report and the plots, and prints the report."""
    wrong = disagreements(rows)
    record = {
        "schema": 1,
        "command": command,
        "machine": {"system": platform.platform(), "python": platform.python_version()},
        "slow_limit": args.slow_limit,
        "targets": check_targets(rows, cold),
        "comparisons": [one.to_dict() for one in comparisons(rows)],
        "cold": cold,
        "disagreements": wrong,
        "missing": absent,
        "rows": rows,
    }
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    text = markdown(record)
    (args.out / "report.md").write_text(text, encoding="utf-8")
    print(text)
    for path in (args.results, args.out / "report.md", *plot(rows, args.results.parent)):
        print(f"written: {path}")
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    if not any(row["backend"] == OURS for row in rows):
        print(f"no ratios: {OURS} was not among the backends")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
