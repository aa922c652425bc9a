"""Measures every solver on the catalogue of seeded path problems beside `labelling`, in one run on one machine.

``python -m experiments.benches.solvers`` takes about half an hour and resumes if run again; ``--quick`` takes under
three minutes. With ``--results experiments/results/bench_solvers.json`` it writes what ``python -m experiments.tables``
makes the table of ``docs/evidence/solvers.md`` from; cspy, which that file has, was measured once. Exit
codes: 0 complete, 1 an answer is wrong or an error, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.benches.solvers.backends import BACKENDS, BENCHED
from experiments.benches.solvers.catalogue import catalogue
from experiments.benches.solvers.instances import GENERATORS
from experiments.benches.solvers.running import Settings, collect
from experiments.benches.solvers.summary import comparisons, disagreements
from experiments.harness.cli import guarded

MODULE = "experiments.benches.solvers"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would run")
    parser.add_argument("--quick", action="store_true", help="a few instances of every family, slow limit 5 s")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="only the first N instances")
    parser.add_argument("--families", nargs="+", choices=sorted(GENERATORS), default=sorted(GENERATORS))
    parser.add_argument("--backends", nargs="+", choices=list(BACKENDS), default=list(BENCHED))
    parser.add_argument("--slow-limit", type=float, default=None, help="seconds that a solve gets (60)")
    parser.add_argument("--repeats", type=int, default=5, help="most timed solves of a fast backend (at least 3)")
    parser.add_argument("--out", type=Path, default=None, help="where rows are kept (runs/bench-solvers)")
    parser.add_argument("--results", type=Path, default=None, help="the results' JSON (in --out)")
    args = parser.parse_args(argv)
    if args.repeats < 3 or (args.limit is not None and args.limit < 1):
        parser.error("--repeats must be at least 3, --limit at least 1")
    if args.slow_limit is None:
        args.slow_limit = 5.0 if args.quick else 60.0
    if args.slow_limit <= 0:
        parser.error("--slow-limit must be positive")
    args.out = args.out or Path("runs/bench-solvers-quick" if args.quick else "runs/bench-solvers")
    args.results = args.results or args.out / "bench_solvers.json"
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run, resume and report."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = parse(given)
    specs = [spec for spec in catalogue(quick=args.quick) if spec.family in args.families][: args.limit]
    if args.dry_run:
        print("\n".join(spec.name for spec in specs))
        print(f"{len(specs)} instances, {len(args.backends)} backends, at most {args.slow_limit:g} s a solve; not run")
        return 0

    def run() -> int:
        rows, absent = collect(args.out, specs, args.backends, Settings(args.slow_limit, args.repeats))
        wrong = disagreements(rows)
        record = {
            "schema": 1,
            "command": shlex.join(["python", "-m", MODULE, *given]),
            "machine": {"system": platform.platform(), "python": platform.python_version()},
            "slow_limit": args.slow_limit,
            "comparisons": comparisons(rows),
            "disagreements": wrong,
            "missing": absent,
            "rows": rows,
        }
        args.results.parent.mkdir(parents=True, exist_ok=True)
        args.results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"written: {args.results}; `python -m experiments.tables` makes the table of what is committed")
        for line in wrong:
            print(f"WRONG: {line}", file=sys.stderr)
        return int(bool(wrong))

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())
