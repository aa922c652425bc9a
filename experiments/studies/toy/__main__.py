"""The toy analysis (TAPE, section 4, appendix A, figure 1b): SIMULATED agents beside the bounds on their success.

No language model takes part. An oracle's action is replaced by a planning error with one probability and by a
sampling error with another; the budget is T* + 2. Every point is computed exactly where there is a dynamic programme
for it, and sampled as well, with Wilson's 95 % interval. ``python -m experiments.studies.toy`` takes about a minute and
writes ``toy.json``, ``report.md`` and its figure; those in ``experiments/results/toy`` are copies of a default run's.
Exit codes: 0 complete, 1 a proven bound is exceeded (a bug), 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.harness.cli import positive
from experiments.studies.toy.exact import Setting
from experiments.studies.toy.points import AGENTS, ASSUMPTIONS, Job, jobs, measure
from experiments.studies.toy.report import FILE, exceeded, write
from experiments.studies.toy.world import KINDS

NOTE = "Simulation: oracle policies with injected errors; no language model."


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.toy", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="only say what would run")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the N shortest horizons")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="root seeds of the episodes")
    parser.add_argument("--workers", type=positive, default=1, help="processes; the results do not depend on it")
    parser.add_argument("--out", type=Path, default=Path("runs/toy"), help="folder of the results")
    parser.add_argument("--worlds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--episodes", type=positive, default=400, help="sampled episodes per point and seed")
    args = parser.parse_args(argv)
    if len(set(args.seeds)) < len(args.seeds):
        parser.error("--seeds must differ: the same seed would count the same episodes twice")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, compare, write."""
    args = parse(argv)
    setting = Setting()
    todo = jobs([kind for kind in KINDS if kind in args.worlds], args.limit, setting, args.seeds, args.episodes)
    if args.dry_run:
        for job in todo:
            budget = job.horizon + setting.slack
            print(f"{KINDS[job.kind].title}: {AGENTS[job.agent]}, T = {job.horizon}, budget {budget}")
        print(f"{len(todo)} simulated points, {args.episodes} episodes for each of {len(args.seeds)} seeds; not run")
        return 0
    try:
        points = list(_run(todo, args.workers))
    except KeyboardInterrupt:
        print("\ninterrupted; nothing is written. Run the same command again.", file=sys.stderr)
        return 130
    record = {
        "schema": 1,
        "simulation": True,
        "note": NOTE,
        "made_by": "python -m experiments.studies.toy",
        "setting": {**asdict(setting), "seeds": args.seeds, "episodes": args.episodes},
        "worlds": {kind: KINDS[kind].title for kind in KINDS if kind in args.worlds},
        "agents": AGENTS,
        "assumptions": ASSUMPTIONS,
        "points": points,
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / FILE).write_text(_lines(record), encoding="utf-8")
    for path in (args.out / FILE, *write(record, args.out)):
        print(f"written: {path}")
    return _verdict(record)


def _run(todo: Sequence[Job], workers: int) -> Iterator[dict[str, Any]]:
    """The points in the order of the jobs, with one line of progress."""
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn")) if workers > 1 else None
    live = sys.stdout.isatty()
    try:
        mapping = pool.map(measure, todo) if pool else map(measure, todo)
        for index, (job, point) in enumerate(zip(todo, mapping, strict=True), 1):
            if live or index == len(todo) or todo[index].kind != job.kind:
                text = f"[{index}/{len(todo)}] simulated: {KINDS[job.kind].title}"
                print(f"\r\x1b[K{text}" if live else text, end="" if live else "\n", flush=True)
            yield point
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    if live:
        print()


def _lines(record: dict[str, Any]) -> str:
    """JSON with one line per point: small, and readable as a difference."""
    head = json.dumps({key: value for key, value in record.items() if key != "points"}, indent=1)
    points = ",\n".join("  " + json.dumps(point) for point in record["points"])
    return f'{head[:-2]},\n "points": [\n{points}\n ]\n}}\n'


def _verdict(record: dict[str, Any]) -> int:
    """Says which bounds are exceeded and why; 1 if a proven one is."""
    wrong = False
    for row in exceeded(record):
        where = f"{row['name']} by {AGENTS[row['agent']]} in {KINDS[row['kind']].title}"
        where += f", T = {', '.join(str(t) for t in row['T'])}"
        if row["broken"] is None:
            wrong = True
            print(f"WRONG: a proven bound is exceeded: {where}", file=sys.stderr)
        else:
            print(f"EXCEEDED: {where}; does not hold here: {ASSUMPTIONS[row['broken']]}")
    known = [point["exact_in_ci95"] for point in record["points"] if point["exact_in_ci95"] is not None]
    print(f"exact value inside the sampled 95 % interval: {sum(known)} of {len(known)} points")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
