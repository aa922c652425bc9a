"""``tape run ENVIRONMENT``: play tasks, keep everything in a run directory, resume it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from tape.budget import Budget
from tape.cli.numbers import whole
from tape.cli.switches import add_switches, config_of, explain_unknown, methods_of, shorten
from tape.interrupts import cleaning_up
from tape.plugins import load, names
from tape.runner.spec import MOST_BATCH, MOST_REPEATS, MOST_SEED

if TYPE_CHECKING:
    from tape.lm.base import LanguageModel
    from tape.runner.configurations import Configuration
    from tape.runner.directory import RunDirectory

ALL = "--help-all"
COMMON = (
    "help", "help_all", "agent", "model", "budget", "run_budget", "prices", "limit", "repeats", "seed", "workers",
    "out", "quiet", "paper", "verify", "num_plans", "temperature", "horizon", "destructive", "on_limit",
)  # fmt: skip
"""Options that ``--help`` shows beside those of the environment and of the agent's own method."""

LARGER = "Finished episodes are kept; the same command with a larger --run-budget goes on"


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    environments = names("tape.environments")
    if not argv or argv[0].startswith("-"):
        parser = argparse.ArgumentParser(prog="tape run", description="Play the tasks of an environment.")
        parser.add_argument("environment", help=f"one of: {', '.join(environments)}; then `tape run NAME --help`")
        parser.parse_args(argv)
        return 2
    plugin = load("tape.environments", argv[0])
    methods = methods_of(argv, plugin.agent)
    parser = _parser(argv[0], plugin.model, plugin.agent, methods)
    own = parser.add_argument_group("what is played")
    plugin.add_arguments(own)
    option_names = [action.dest for action in own._group_actions]
    if ALL not in argv:
        shorten(parser, {*COMMON, *option_names})
    args, unknown = parser.parse_known_args(argv[1:])
    explain_unknown(parser, unknown, methods)
    options = {name: getattr(args, name) for name in option_names}
    config = config_of(args, methods, plugin.proposer if args.model == plugin.model else "lm")
    import solvers

    solvers.get(config.solver)  # an unknown solver is a usage error now, not in the middle of a run
    load("tape.agents", args.agent)
    from tape.runner.checks import check_before
    from tape.show.progress import loading, working

    plugin.require_installed()
    with working(f"reading the tasks of {argv[0]}"):
        every = plugin.tasks(options)
    tasks = every[: args.limit]
    from tape.lm.base import usual_batch
    from tape.protocols import prompt_version
    from tape.runner.configurations import Configuration
    from tape.runner.directory import RunDirectory
    from tape.runner.play import open_at_price
    from tape.runner.spec import RunSpec

    out = args.out or new_directory(argv[0])
    directory = RunDirectory(out)
    with loading(f"loading {args.model}"):
        model = open_at_price(args.model, args.cache, args.prices)
    # Where nobody says, a run goes on with its own batch, whatever the default was when it began.
    begun = directory.configurations().values() if directory.config_file.exists() else ()
    spec = RunSpec(
        environment=argv[0],
        options={**options, "limit": args.limit},
        agent=args.agent,
        config=config,
        model=args.model,
        model_identity=model.identity,
        budget=dict(Budget.parse(args.budget)),
        seed=args.seed,
        repeats=args.repeats,
        batch=args.batch or next((held.batch for held in begun), usual_batch(model)),
        prompt_version=prompt_version(plugin, model.prompt_format),
    )
    configurations = [Configuration(spec.label(), spec, tuple(tasks))]
    run_budget = Budget.parse(args.run_budget)
    with working("checking what is asked for against every task"):
        check_before(configurations, {args.model: model}, run_budget, args.workers)
    if args.auto_roles:
        from tape.cli.auto_roles import auto_roles

        given = frozenset(vars(args))
        configurations = [auto_roles(configurations[0], model, every, given, directory, run_budget)]
        check_before(configurations, {args.model: model}, run_budget, args.workers)
    command = _again([*argv, *([] if args.out else ["--out", str(out)])], args.ledger)
    return _play(args, configurations, directory, model, command)


def _again(argv: Sequence[str], ledger: str) -> str:
    """The command, to be shown: without the password of a ledger, which libpq takes from PGPASSWORD too."""
    from tape.budget.stores.addresses import read_address

    if ledger and (address := read_address(ledger)).has_password:
        argv = [name.replace(ledger, str(address)) for name in argv]
    return shlex.join(["tape", "run", *argv])


def _play(
    args: argparse.Namespace,
    configurations: Sequence[Configuration],
    directory: RunDirectory,
    model: LanguageModel,
    command: str,
) -> int:
    """Play what is left of a run and print its table; returns the exit code."""
    from tape.runner.runner import Runner, errored
    from tape.runner.summary import fault_note
    from tape.runner.workers import open_pool
    from tape.show.progress import display, show_results

    [configuration] = configurations
    label = f"{configuration.tasks[0].level_set} {configuration.name} {args.model}"
    boards = 4 if args.workers == "1" else 0

    def kept() -> str:
        if not directory.episodes_file.exists():
            return "no episode was finished"
        if not directory.episodes_file.stat().st_size:
            return f"no episode was finished; this plays them from the start: {command}"
        return f"finished episodes are kept. Resume with: {command}"

    with cleaning_up(kept):
        with (
            open_pool(args.workers, cache=args.cache, prices=args.prices, opened={args.model: model}) as pool,
            display(label, quiet=args.quiet, boards=boards) as shown,
        ):
            runner = Runner(
                configurations, directory, pool, shown.watcher(), run_budget=Budget.parse(args.run_budget),
                ledger=(args.ledger, args.ledger_scope) if args.ledger else None,
            )  # fmt: skip
            groups = runner.run()
        show_results(groups)
        if note := fault_note(groups, directory.episodes()):
            print(f"tape run: {note}", file=sys.stderr)
        print(f"results: {directory.path / 'summary.json'}   replay: tape show {directory.path}")
    if runner.exhausted is not None:
        print(f"the run's budget is exhausted: {runner.exhausted}. {LARGER}", file=sys.stderr)
        return 3
    return 1 if errored(groups) else 0


def new_directory(environment: str) -> Path:
    """A run directory of its own: ``runs/ENVIRONMENT-TIME``, with a number behind it where that is taken."""
    first = Path("runs") / f"{environment}-{datetime.now():%Y%m%d-%H%M%S}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(path for path in chain([first], numbered) if not path.exists())


def _parser(environment: str, model: str, agent: str, methods: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"tape run {environment}", description=f"Play the tasks of {environment}.", allow_abbrev=False
    )
    parser.add_argument(ALL, action="help", help="show every option")
    group = parser.add_argument_group("the agent")
    group.add_argument("--agent", default=agent, help=f"{', '.join(names('tape.agents'))} (default: {agent})")
    default_model = f"default: that of {environment}, {model}"
    group.add_argument("--model", default=model, help=f"see `tape models` ({default_model})")
    _add_budgets(parser.add_argument_group("budgets"))
    _add_run(parser.add_argument_group("the run"))
    add_switches(parser, methods)
    return parser


def _add_budgets(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--budget", default="", help="further hard caps, for instance tokens=5000,calls=100")
    group.add_argument(
        "--run-budget",
        default="",
        help="hard caps on the whole run, what it spent before included, for instance usd=1,tokens=100000",
    )
    group.add_argument(
        "--ledger",
        default="",
        metavar="URL",
        help="a ledger that other runs and programs pay from too (docs/reference/ledger.md)",
    )
    group.add_argument("--ledger-scope", default="run", metavar="SCOPE", help="who pays there (default: run)")
    group.add_argument(
        "--prices", type=Path, help="a JSON file with prices of models (docs/reference/budgets.md), before genai-prices"
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--limit", type=whole(), help="only the first N tasks")
    group.add_argument("--repeats", type=whole(most=MOST_REPEATS), default=1, help="episodes per task (default: 1)")
    group.add_argument(
        "--seed", type=whole(-MOST_SEED, MOST_SEED), default=0, help="the root of all randomness (default: 0)"
    )
    group.add_argument(
        "--batch",
        type=whole(most=MOST_BATCH),
        help="episodes played together, their requests batched (default: 8; 1 with a general model that this machine's "
        "processor computes, of which one episode takes minutes)",
    )
    group.add_argument(
        "--cache",
        type=Path,
        help="an SQLite file that keeps completions (a partly filled cache can change floating-point results)",
    )
    group.add_argument(
        "--workers",
        default="1",
        help="1: in this process; N: worker processes; ray://HOST:PORT: a Ray cluster; ray:local: one started here",
    )
    group.add_argument(
        "--out",
        type=Path,
        help="the run directory; the same command resumes it (default: runs/ENVIRONMENT-TIME, a new one)",
    )
    group.add_argument("--quiet", action="store_true", help="ten plain lines at most, even on a terminal")
    group.add_argument(
        "--auto-roles",
        action="store_true",
        help="give roles that the model is no good at to what the environment declares, as `tape probe` measures it "
        "(at most five minutes, where it is not in the cache yet)",
    )
