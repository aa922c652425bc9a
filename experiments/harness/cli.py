"""What every ``python -m experiments.studies.STUDY.NAME`` shares: options, the dry run, playing, resuming, the report.

Exit codes: 0 complete, 1 some episodes ended by a fault, 2 usage or an error, 3 the run's budget is exhausted, 130
interrupted.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from experiments.harness import register
from experiments.harness.document import table, write_report
from experiments.harness.elapsed import stopwatch
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, identified, most_calls, unopened
from experiments.harness.measured import Measured
from experiments.harness.published import publish
from experiments.harness.standard import results_table, sections_of
from solvers.errors import SolverError
from tape.budget import Budget
from tape.cli.main import ended
from tape.errors import TapeError, UnknownNameError
from tape.interrupts import cleaning_up, interrupted, line, own_process
from tape.lm.bundled import sizes
from tape.plugins import names
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.play import Pool, WorkerError
from tape.runner.runner import Runner, errored
from tape.runner.workers import open_pool
from tape.screen import guard
from tape.show.progress import display

LARGER = "Finished episodes are kept; the same command with a larger --run-budget goes on"


class ExhaustedError(TapeError):
    """Episodes are missing for want of the run's budget."""


def main(
    experiment: Experiment,
    argv: Sequence[str] | None = None,
    *,
    arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> int:
    """Run one experiment.

    Args:
        experiment: The experiment.
        argv: The command line; ``sys.argv`` by default.
        arguments: Adds options of the experiment's own.

    Returns:
        The exit code.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser(experiment.module, f"{experiment.title} ({experiment.source}). {experiment.about}")
    parser.set_defaults(
        seeds=experiment.seeds,
        models=list(experiment.models),
        batch=experiment.batch,
        out=Path("runs") / experiment.name,
    )
    parser.add_argument(
        "--run-budget",
        default="",
        metavar="KIND=AMOUNT,...",
        help="hard caps on the whole run (docs/reference/budgets.md)",
    )
    arguments(parser)
    args = parser.parse_args(given)

    def run() -> int:
        options = options_of(args)
        if args.dry_run:
            print(dry_run([(experiment.name, experiment.configurations(options))]))
            return 0
        run_budget = Budget.parse(args.run_budget)
        with open_pool(args.workers, cache=args.cache, prices=args.prices) as pool:
            measured = play(
                experiment,
                options,
                args.out,
                pool,
                quiet=args.quiet,
                shared=args.share,
                run_budget=run_budget,
                listed=args.register,
                workers=args.workers,
            )
        files = write_report(args.out, experiment.title, sections_of(experiment, measured))
        result = results_table(measured)
        print(table(result.head, result.rows))
        if args.publish:
            published = publish(experiment, measured, args.publish)
            print(f"published: {', '.join(str(path) for path in published)}")
        print(f"report: {files[0]} and {files[1]}   episodes: {args.out / 'results.csv'}")
        return int(errored(list(measured.groups.values())) > 0)

    return guarded(run, experiment.module, given)


def make_parser(module: str, description: str) -> argparse.ArgumentParser:
    """The options that all scripts have.

    Args:
        module: The script, as ``python -m`` finds it.
        description: What it does.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--dry-run", action="store_true", help="only print the matrix; opens no model")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N tasks of every set")
    parser.add_argument("--seeds", type=positive, metavar="N", help="episodes per task (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the root of all seeds (default: 0)")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="default: %(default)s")
    parser.add_argument("--workers", default="1", help="processes, or ray://HOST:PORT (default: %(default)s)")
    parser.add_argument(
        "--batch", type=positive, default=8, metavar="N", help="episodes played together (default: %(default)s)"
    )
    parser.add_argument("--cache", type=Path, help="an SQLite file that keeps completions, for metered models")
    parser.add_argument("--prices", type=Path, help="a JSON file with prices of models (docs/reference/budgets.md)")
    parser.add_argument(
        "--out", type=Path, help="the run directory; the same command resumes it (default: %(default)s)"
    )
    parser.add_argument(
        "--share", type=Path, nargs="+", default=[], metavar="DIR", help="copy episodes that these runs have, too"
    )
    parser.add_argument(
        "--register", type=Path, default=register.FILE, metavar="FILE", help="the list of runs on the test sets"
    )
    parser.add_argument("--quiet", action="store_true", help="about ten lines of progress")
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="also write what the repository keeps")
    return parser


def known(arguments: Callable[[argparse.ArgumentParser], None], argv: Sequence[str]) -> argparse.Namespace:
    """The values of a script's own options, before the parser that needs to know them is made; others are passed over.

    Args:
        arguments: Adds them.
        argv: The command line.
    """
    parser = argparse.ArgumentParser(add_help=False)
    arguments(parser)
    return parser.parse_known_args(argv)[0]


def positive(text: str) -> int:
    """A whole number from 1, for ``argparse``."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def options_of(args: argparse.Namespace, models: Sequence[str] | None = None) -> Options:
    """The options of a command line; a dry run identifies models by their names alone.

    Args:
        args: The command line.
        models: Instead of the command line's.

    Raises:
        UnknownNameError: There is no such model.
    """
    chosen = tuple(models or args.models)
    for model in chosen:
        require_known(model)
    return Options(
        seeds=args.seeds,
        models=chosen,
        limit=args.limit,
        seed=args.seed,
        batch=args.batch,
        identify=unopened if args.dry_run else partial(identified, prices=args.prices),
    )


def require_known(model: str) -> None:
    """Refuse a misspelt model before anything is loaded.

    Raises:
        UnknownNameError: There is no such backend or bundled model.
    """
    backend, _, argument = model.partition(":")
    if backend not in names("tape.models"):
        raise UnknownNameError("model backend", model, names("tape.models"), "A model is BACKEND:NAME.")
    if backend == "bundled" and argument not in sizes():
        raise UnknownNameError("bundled model", argument, sizes())


def dry_run(parts: Iterable[tuple[str, Sequence[Configuration]]]) -> str:
    """The matrix: configurations, tasks, repeats, episodes, and the most LM calls they can make.

    An episode that several configurations have is played once; the totals count it once.
    """
    rows: list[tuple[str, ...]] = []
    bounds: dict[str, int | None] = {}
    asked = 0
    for name, configurations in parts:
        for configuration in configurations:
            jobs = configuration.resolved().jobs()
            calls = {job.key: most_calls(configuration, job.task) for job in jobs}
            bounds |= calls
            asked += len(jobs)
            row = (
                name,
                configuration.name,
                str(len(configuration.tasks)),
                str(configuration.spec.repeats),
                str(len(jobs)),
            )
            rows.append((*row, _total(calls.values())))
    text = table(("run", "configuration", "tasks", "repeats", "episodes", "LM calls at most"), rows)
    return (
        f"{text}\n\n{len(rows)} configurations, {asked} episodes, {len(bounds)} of them distinct, each played once; "
        f"LM calls at most: {_total(bounds.values())}. Nothing was run."
    )


def _total(bounds: Collection[int | None]) -> str:
    known = sum(bound for bound in bounds if bound is not None)
    return f"{known}" if None not in bounds else f"{known}, and unknown ones of agents that state no bound"


def play(
    experiment: Experiment,
    options: Options,
    out: Path,
    pool: Pool,
    *,
    quiet: bool = False,
    shared: Sequence[Path] = (),
    run_budget: Budget | None = None,
    listed: Path | None = None,
    workers: str = "1",
) -> Measured:
    """Play what is missing of an experiment, list it if it plays a test set, and read what was measured.

    Args:
        experiment: The experiment.
        options: What the command line decides.
        out: The run directory.
        pool: Plays the episodes.
        quiet: About ten lines of progress.
        shared: Run directories whose episodes are copied where they are the same.
        run_budget: Hard caps on the whole run.
        listed: The list of runs on the test sets; the repository's by default.
        workers: How the pool was made, for the record of times.

    Raises:
        ExhaustedError: The run's budget did not suffice.
    """
    directory = RunDirectory(out)
    others = [RunDirectory(path) for path in shared]
    with display(experiment.name, quiet=quiet, boards=0) as shown:
        runner = Runner(
            experiment.configurations(options),
            directory,
            pool,
            shown.watcher(),
            shared=others,
            title=experiment.name,
            run_budget=run_budget,
        )
        try:
            with stopwatch(directory, workers):
                groups = runner.run()
        except (KeyboardInterrupt, WorkerError):
            if (out / "summary.json").exists():
                register.note(Measured.read(out), listed or register.FILE)
            raise
    register.note(Measured.load(directory, groups), listed or register.FILE)
    if runner.exhausted is not None:
        raise ExhaustedError(f"the run's budget is exhausted: {runner.exhausted}. {LARGER}")
    return Measured.load(directory, groups)


def guarded(run: Callable[[], int], module: str, argv: Sequence[str]) -> int:
    """Run, and turn errors and Ctrl-C into a message and an exit code.

    Args:
        run: What to do.
        module: The script, as ``python -m`` finds it.
        argv: Its command line, to resume it by.
    """
    command = shlex.join(["python", "-m", module, *argv])

    def checked() -> int:
        try:
            with cleaning_up(lambda: f"finished episodes are kept. Resume with: {command}"):
                return run()
        except ExhaustedError as error:
            print(f"{module}: {error}", file=sys.stderr)
            return 3
        except (TapeError, SolverError) as error:
            if interrupted():
                raise
            print(f"{module}: {error}", file=sys.stderr)
            return 2

    def own() -> int:
        guard()
        return ended(module, checked)

    started = sys.modules["__main__"].__spec__
    if started is not None and started.name == module:  # by `python -m`: the process is the script's own
        return own_process(module, own)
    try:
        return checked()
    except KeyboardInterrupt:
        print(line(module), file=sys.stderr)
        return 130
