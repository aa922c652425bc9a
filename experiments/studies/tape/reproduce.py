"""Every Sokoban figure and table of the paper from one command, with one report.

``python -m experiments.studies.tape.reproduce`` plays all experiments but ``headline``, one run directory each under
``--out``; episodes that two of them have are played once. It resumes if run again, and writes ``report.md`` and a
self-contained ``report.html``. ``--quick`` plays fewer levels and seeds. ``--publish FOLDER`` writes what is committed
to the repository: the report without times, PNG files, and the groups as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.harness.cli import dry_run, guarded, make_parser, options_of, play
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import PUBLISHED
from experiments.harness.measured import groups_of
from experiments.report import TITLE, chapters, write
from experiments.studies.tape.catalogue import PAPER, find
from experiments.studies.toy import chapter as toy_part
from tape.engine.settings import TapeConfig
from tape.runner.directory import RunDirectory
from tape.runner.runner import errored
from tape.runner.spec import RunSpec
from tape.runner.workers import open_pool
from tape.show.document import write_report

MODULE = "experiments.studies.tape.reproduce"
PLAYED = PAPER
QUICK = {"limit": 4, "seeds": 2}
FULL = {"limit": None, "seeds": 10}
DROPPED = ("solver_seconds", "longest_wall_overrun_seconds", "wall_overruns", "configuration")
"""What a group holds that differs from machine to machine, or is long and mostly the defaults."""


def main(argv: Sequence[str] | None = None) -> int:
    """Play everything and write the report."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = parse(given)
    experiments = [find(name) for name in args.only]

    def run() -> int:
        if args.dry_run:
            print(dry_run((e.name, e.configurations(_options(args, e))) for e in experiments))
            print(f"And {toy_part.NAME}: a simulation without any model.")
            return 0
        return _run(args, experiments)

    return guarded(run, MODULE, given)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line, with the profile's levels and seeds filled in."""
    parser = make_parser(MODULE, __doc__.splitlines()[0])
    parser.set_defaults(workers="2", out=Path("runs/reproduce"))
    parser.add_argument("--quick", action="store_true", help="4 levels and 2 seeds: minutes instead of an hour")
    parser.add_argument("--only", nargs="+", choices=PLAYED, default=list(PLAYED), metavar="NAME", help="some of them")
    args = parser.parse_args(argv)
    profile = QUICK if args.quick else FULL
    args.limit = args.limit or profile["limit"]
    args.seeds = args.seeds or profile["seeds"]
    return args


def _options(args: argparse.Namespace, experiment: Experiment) -> Any:
    return options_of(args, args.models or experiment.models)


def _run(args: argparse.Namespace, experiments: Sequence[Experiment]) -> int:
    began, faults = time.monotonic(), 0
    siblings = [args.out / name for name in PLAYED]
    with open_pool(args.workers, cache=args.cache, prices=args.prices) as pool:
        for number, experiment in enumerate(experiments, 1):
            print(f"{number} of {len(experiments)}: {experiment.title} ({experiment.source})", flush=True)
            out = args.out / experiment.name
            shared = [path for path in siblings if (path / "config.json").exists()]
            measured = play(experiment, _options(args, experiment), out, pool, quiet=args.quiet, shared=shared)
            faults += errored(list(measured.groups.values()))
    broken = toy_part.run(args.out / toy_part.NAME, args.workers, quick=args.quick)
    files = write(args.out)
    if args.publish:
        print(f"published: {', '.join(str(path) for path in publish(args.out, args.publish))}")
    print(f"report: {files[0]} and {files[1]}   {time.monotonic() - began:.0f} s")
    return int(faults > 0 or broken > 0)


def publish(source: Path, target: Path) -> list[Path]:
    """Write what the repository keeps of a folder of runs: the same bytes for the same episodes, on every machine.

    Args:
        source: The folder of the runs.
        target: Where to.

    Returns:
        The files.
    """
    target.mkdir(parents=True, exist_ok=True)
    written = write_report(target, TITLE, chapters(source, times=False), html_too=False)
    groups = {name: groups_without_times(source / name) for name in PAPER if (source / name / "summary.json").exists()}
    file = target / "groups.json"
    file.write_text(
        json_lines({"schema": 1, "made_by": f"python -m {MODULE}", "groups": groups}),
        encoding="utf-8",
    )
    return [*written, file]


def groups_without_times(path: Path) -> list[dict[str, Any]]:
    """A run's groups for the repository: the same bytes for the same episodes."""
    specs = RunDirectory(path).configurations()
    groups = groups_of(path)
    return [
        {key: value for key, value in group.items() if key not in DROPPED} | _identity(specs[group["cell"]])
        for group in groups
    ]


def _identity(spec: RunSpec) -> dict[str, Any]:
    """Which model, seed and switches; those that all published results share are left out."""
    shared = TapeConfig.make(**PUBLISHED).model_dump(mode="json")
    changed = {name: value for name, value in spec.config.model_dump(mode="json").items() if value != shared[name]}
    return {"model_identity": spec.model_identity, "seed": spec.seed, "switches": changed}


def json_lines(record: dict[str, Any]) -> str:
    """JSON with one line per group: small, and readable as a difference."""
    groups = record["groups"]
    head = json.dumps({key: value for key, value in record.items() if key != "groups"}, indent=1)
    parts = [
        f"  {json.dumps(name)}: [\n" + ",\n".join("   " + json.dumps(group) for group in found) + "\n  ]"
        for name, found in groups.items()
    ]
    return f'{head[:-2]},\n "groups": {{\n' + ",\n".join(parts) + "\n }\n}\n"


if __name__ == "__main__":
    sys.exit(main())
