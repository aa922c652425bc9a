"""Every Sokoban figure and table of the paper from one command, with one report.

``python -m experiments.studies.tape.reproduce`` plays all experiments but ``headline``, one run directory each under
``--out``; episodes that two of them have are played once, and ``--share runs/headline`` takes what the headline has. It
resumes if run again, and writes ``report.md`` and a self-contained ``report.html``. ``--quick`` plays fewer levels.
``--publish FOLDER`` writes what is committed to the repository: the episodes, and of these the report without times and
PNG files.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.harness import anchors, episodes, published
from experiments.harness.cli import dry_run, guarded, make_parser, options_of, play
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured
from experiments.harness.standard import sections_of
from experiments.report import INTRODUCTION, TITLE, write
from experiments.studies.tape.catalogue import PAPER, find
from experiments.studies.tape.levels import BATCH
from experiments.studies.toy import __main__ as toy
from experiments.studies.toy.report import FILE, NAME, chapter
from tape.files import replace_file
from tape.runner.runner import errored
from tape.runner.workers import open_pool
from tape.show.document import Section, markdown, write_report

MODULE = "experiments.studies.tape.reproduce"
PLAYED = PAPER
QUICK_LIMIT = 8
"""Levels a set."""


def main(argv: Sequence[str] | None = None) -> int:
    """Play everything and write the report."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = parse(given)
    experiments = [find(name) for name in args.only]

    def run() -> int:
        if args.dry_run:
            print(dry_run((e.name, e.configurations(_options(args, e))) for e in experiments))
            print(f"And {NAME}: a simulation without any model.")
            return 0
        return _run(args, experiments)

    return guarded(run, MODULE, given)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = make_parser(MODULE, __doc__.splitlines()[0])
    parser.set_defaults(workers="2", seeds=1, batch=BATCH, out=Path("runs/reproduce"))
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LIMIT} levels a set: minutes instead of an hour")
    parser.add_argument("--only", nargs="+", choices=PLAYED, default=list(PLAYED), metavar="NAME", help="some of them")
    args = parser.parse_args(argv)
    args.limit = args.limit or (QUICK_LIMIT if args.quick else None)
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
            shared = [path for path in (*args.share, *siblings) if (path / "config.json").exists()]
            measured = play(
                experiment,
                _options(args, experiment),
                out,
                pool,
                quiet=args.quiet,
                shared=shared,
                listed=args.register,
                workers=args.workers,
            )
            faults += errored(list(measured.groups.values()))
    broken = toy.made(args.out / NAME, args.workers, quick=args.quick)
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
    kept: list[Path] = []
    for name in PAPER:
        if (source / name / "summary.json").exists():
            measured = replace(Measured.read(source / name), times=False)
            sections_of(find(name), measured)  # fills the notes
            kept += episodes.write(target / name / episodes.FILE, measured, published.about(find(name)))
    if (source / NAME / FILE).exists():
        replace_file(target / FILE, (source / NAME / FILE).read_bytes())
        kept.append(target / FILE)
    written = [*write_report(target, TITLE, published_chapters(target), html_too=False), *kept]
    anchors.add(target.parent, [target.name], "published")
    return written


def published_chapters(folder: Path) -> list[Section]:
    """The chapters of the report, from published episodes alone."""
    files = [file for name in PAPER if (file := folder / name / episodes.FILE).exists()]
    sections = [Section("What this is", (INTRODUCTION,))]
    for file in files:
        sections += sections_of(*published.of(file))
    return [*sections, *chapter(folder)]


def texts(folder: Path, *, draw: bool = False) -> dict[str, str]:
    """What follows from the published episodes in a folder: its report.

    Args:
        folder: Where they are.
        draw: Whether figures are drawn into the folder, too.
    """
    sections = published_chapters(folder)
    if draw:
        write_report(folder, TITLE, sections, html_too=False)
    return {published.REPORT: markdown(TITLE, sections)}


if __name__ == "__main__":
    sys.exit(main())
