"""Rebuilds everything derived of a run directory, without any model.

``python -m experiments.report DIR`` rewrites ``summary.*``, ``results.*``, ``report.md``, ``report.html`` and
``plots/`` of a study on Sokoban.

``python -m experiments.report --check`` recomputes every number and interval that is committed under
``experiments/results`` from the episodes that are committed beside (``*/episodes.parquet``); it names
each that differs, and each episode that is not as it was anchored. ``--rewrite`` writes reports anew, ``--anchor NAME``
anchors what a merge or a benchmark has changed. None plays anything. ``python -m experiments.tables --check``
does the same for the tables of the docs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.harness import anchors, published
from experiments.harness.cli import guarded
from experiments.harness.document import write_report
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured
from experiments.harness.places import RESULTS
from experiments.harness.standard import sections_of
from experiments.studies.tape.catalogue import NAMES, find
from tape.errors import RunDirectoryError
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory

MODULE = "experiments.report"


def rebuild(path: Path) -> tuple[Experiment, Measured]:
    """Rebuild the derived files of one run directory and read it.

    Args:
        path: The run directory.

    Raises:
        RunDirectoryError: It holds no run of an experiment, or a run is going on in it.
    """
    directory = RunDirectory(path)
    name = directory.title()
    if name not in NAMES:
        raise RunDirectoryError(f"{path} holds no run of an experiment (its title is {name!r}); use `tape show {path}`")
    with directory.locked():
        groups = write_derived(directory)
    return find(name), Measured.load(directory, groups)


def write(path: Path) -> list[Path]:
    """Rebuild what is derived of a run directory.

    Returns:
        The files of the report.

    Raises:
        RunDirectoryError: It holds no run of an experiment, or a run is going on in it.
    """
    experiment, measured = rebuild(path)
    return write_report(path, experiment.title, sections_of(experiment, measured))


def check(results: Path) -> int:
    """Compare what is published with its episodes; the exit code is 1 if anything differs."""
    differences = [*published.check(results), *anchors.check(results)]
    for difference in differences:
        print(difference, file=sys.stderr)
    if differences:
        again = f"python -m {MODULE} --rewrite"
        print(
            f"{len(differences)} differences; if the episodes are right, `{again}` writes reports anew", file=sys.stderr
        )
    else:
        print(f"all that is published in {results} follows from its episodes, and these are as they were anchored")
    return int(bool(differences))


def main(argv: Sequence[str] | None = None) -> int:
    """Rebuild a report."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="a run directory")
    what.add_argument("--check", action="store_true", help="compare what is published with its episodes")
    what.add_argument("--rewrite", action="store_true", help="write what is published anew from its episodes")
    what.add_argument("--anchor", nargs="+", metavar="NAME", help="anchor studies or files as they are now")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="(default: %(default)s)")
    args = parser.parse_args(given)

    def run() -> int:
        if args.check:
            return check(args.results)
        if args.anchor:
            fresh = anchors.add(args.results, args.anchor, "anchored afterwards")
            print(f"anchored: {', '.join(entry['what'] for entry in fresh) or 'nothing, as nothing is new'}")
            return 0
        if args.rewrite:
            print(f"written: {', '.join(map(str, published.write_again(args.results)))}")
            return 0
        files = write(args.folder)
        print(f"report: {files[0]} and {files[1]}")
        return 0

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())
