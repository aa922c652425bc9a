"""Failure-driven refinement: rules and calibration learned from what predictions got wrong (in the spirit of WALL-E).

``python -m experiments.studies.aec.refine``. Every iteration plays fresh training games with what was learned so far,
collects the predictions whose truth came to light, and learns from them; the development games say what it is worth.
The same command resumes it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envs.alfworld.game.games import Game, held_out
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from experiments.harness.cli import guarded, make_parser, options_of, play, positive
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, short, split, spread
from experiments.harness.measured import Measured
from experiments.harness.methods import Method
from experiments.harness.standard import share
from experiments.studies.aec import refinement as aec_refinement
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.cases import calibration_of, cases_in, pairs_of
from experiments.studies.aec.methods import CALIBRATED_LABEL, RULES_LABEL, calibrated, with_rules
from experiments.studies.aec.refinement import Refined
from experiments.studies.aec.tables import ROUNDS, mean_of, rounds, told
from tape.aec.calibration import IsotonicCalibration, reliability
from tape.aec.learned_rules import Case, LearnedRules, OverrideRule
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.runner.pool import Pool
from tape.runner.runner import errored
from tape.runner.workers import open_pool
from tape.show.document import Bullets, Figure, Section, Table, table, write_report
from tape.show.plots import Panel, Plot, Series, Value

NAME = "aec_refine"
MODULE = "experiments.studies.aec.refine"
TITLE = "Failure-driven refinement"
ENVIRONMENT = "alfworld"
OWN: dict[str, Any] = {"games": "dev", "data": None, "observation": "partial", "commands": "hidden"}
GAMES, ITERATIONS = 30, 4
LABELS = (RULES_LABEL, CALIBRATED_LABEL)


@dataclass(frozen=True)
class Step:
    """What an iteration has come to.

    Attributes:
        iteration: 0 is before anything was learned.
        rules: In force.
        dropped: Rules that have kept failing, all so far.
        cases: All cases so far.
        calibration: Fitted on them.
        measured: The development games, played with all that.
    """

    iteration: int
    rules: tuple[OverrideRule, ...]
    dropped: tuple[OverrideRule, ...]
    cases: tuple[Case, ...]
    calibration: IsotonicCalibration
    measured: Measured


def training_games(iteration: int, count: int) -> list[Game]:
    """Fresh games of an iteration, all types in turn; none is among the shipped ones.

    Args:
        iteration: From 1.
        count: How many.
    """
    found = []
    for i in range(count):
        rng = random.Random(f"alfworld:refine:{iteration}:{i}")
        house = draw_house(rng, TASK_TYPES[i % len(TASK_TYPES)])
        while house.digest() in held_out():
            house = draw_house(rng, TASK_TYPES[i % len(TASK_TYPES)])
        found.append(Game(f"refine-{iteration}-{i}", "refine", house))
    return found


def training_tasks(iteration: int, count: int) -> tuple[Task, ...]:
    """The same as tasks."""
    from envs.alfworld.plugin import task_of

    return tuple(task_of(game) for game in training_games(iteration, count))


def methods(rules: LearnedRules, calibration: IsotonicCalibration) -> tuple[Method, Method]:
    """What is played with what was learned: beliefs with rules, and AEC with calibrated predictions."""
    return with_rules(rules.overrides().to_json()), calibrated(calibration.to_json())


def _configurations(
    setting: str, tasks: Sequence[Task], learned: tuple[LearnedRules, IsotonicCalibration], options: Options
) -> list[Configuration]:
    model = options.models[0]
    return [
        configuration(method, model, options, environment=ENVIRONMENT, own=OWN, setting=setting, tasks=tasks)
        for method in methods(*learned)
    ]


def _played(
    name: str, configurations: list[Configuration], options: Options, out: Path, pool: Pool, *, quiet: bool
) -> Measured:
    stage = replace(EXPERIMENT, name=name, configurations=lambda _: configurations)
    return play(stage, options, out, pool, quiet=quiet)


def refine(
    options: Options, out: Path, pool: Pool, iterations: int, count: int, dev: Sequence[Task], *, quiet: bool = False
) -> list[Step]:
    """Play, learn and evaluate; what was played before is kept.

    Args:
        options: Model and seeds.
        out: A folder with a run directory for each part of each iteration.
        pool: Plays the episodes.
        iterations: How many rounds of learning.
        count: Training games of each.
        dev: The games for evaluation.
        quiet: About ten lines of progress for each part.
    """
    rules, cases, steps = LearnedRules(), list[Case](), list[Step]()
    calibration = IsotonicCalibration()
    for iteration in range(iterations + 1):
        if iteration:
            tasks = training_tasks(iteration, count)
            name = f"{iteration}-training"
            trained = _played(
                name,
                _configurations("training", tasks, (rules, calibration), options),
                options,
                out / name,
                pool,
                quiet=quiet,
            )
            fresh = cases_in(trained.directory)
            rules.refine(fresh)
            cases += fresh
            calibration = calibration_of(cases)
        name = f"{iteration}-dev"
        configurations = _configurations(f"iteration {iteration}", dev, (rules, calibration), options)
        shown = _played(name, configurations, options, out / name, pool, quiet=quiet)
        steps.append(Step(iteration, rules.rules, rules.dropped, tuple(cases), calibration, shown))
        rules.save(out / f"{iteration}-rules.json")
    return steps


def sections(steps: Sequence[Step], model: str, count: int) -> list[Section]:
    """The report."""
    about = (
        f"`{model}` predicts what is not known. In every iteration {count} fresh training games are played twice, on "
        "beliefs alone with the rules so far, and by AEC with the calibration so far. Every prediction whose truth "
        "came to light is a case; rules are learned where predictions keep being wrong and cases agree, and dropped "
        "where they keep failing; the calibration is isotonic, on all cases. What each iteration is worth is "
        "measured on the development games, which nothing is learned from. Iteration 0 has learned nothing."
    )
    last = steps[-1]
    rules = tuple(f"`{rule}`" for rule in last.rules) or ("none",)
    dropped = tuple(f"dropped: `{rule}`" for rule in last.dropped)
    return [
        Section(TITLE, (about, f"Made by `{EXPERIMENT.command}`. In the paper: AEC's comparison with WALL-E.")),
        Section(
            "By iteration",
            (summary_table(steps), Figure(NAME, "Success by iteration, 95 % intervals.", _plot(steps))),
            3,
        ),
        Section("Rules in force at the end", (Bullets((*rules, *dropped)),), 3),
    ]


def summary_table(steps: Sequence[Step]) -> Table:
    """A row for each iteration."""
    rows = []
    for step in steps:
        raw = reliability(pairs_of(step.cases))
        fitted = reliability([(step.calibration(mu), truth) for mu, truth in pairs_of(step.cases)])
        row = [str(step.iteration), str(len(step.cases)), f"{len(step.rules)} ({len(step.dropped)})"]
        row.append(f"{raw.ece:.3f}, {fitted.ece:.3f}" if raw.n else "-")
        for label in LABELS:
            name = _name(step.measured, label)
            records = step.measured.records[name]
            row += [str(len(records)), share(_success(step.measured, label))]
            row.append(told(mean_of(records, [rounds(record["result"]) for record in records])))
            row.append(told(mean_of(records, [record["result"]["queries"] for record in records])))
        rows.append(tuple(row))
    head = ["iteration", "cases", "rules (dropped)", "ECE on these cases, raw and fitted"]
    for label in LABELS:
        head += [f"{label}: n", "success", "rounds", "queries"]
    note = (
        f"{ROUNDS} The fitted ECE is on the cases it was fitted on; "
        "`python -m experiments.studies.aec.calibration` has others."
    )
    return Table(tuple(head), tuple(rows), note)


def _name(measured: Measured, label: str) -> str:
    return next(name for name in measured.specs if name.endswith(f" / {label}"))


def _success(measured: Measured, label: str) -> Value | None:
    setting, model, method = split(_name(measured, label))
    return measured.success(setting, model, method)


def _plot(steps: Sequence[Step]) -> Plot:
    xs = tuple(float(step.iteration) for step in steps)
    series = tuple(
        Series(label, tuple(_success(step.measured, label) for step in steps), "strong" if i else "plain", xs)
        for i, label in enumerate(LABELS)
    )
    return Plot("lines", (Panel("development games", series),), "success rate", "iteration")


EXPERIMENT = Experiment(
    name=NAME,
    module=MODULE,
    title=TITLE,
    source="AEC: its comparison with rules learned from failures",
    about="Rules and calibration learned from predictions that were wrong, iteration by iteration.",
    models=("bundled:household",),
    configurations=lambda _: [],
    sections=lambda _: [],
    pairs=lambda _: [],
    seeds=1,
)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser(MODULE, f"{EXPERIMENT.title} ({EXPERIMENT.source}). {EXPERIMENT.about}")
    parser.set_defaults(seeds=1, models=list(EXPERIMENT.models), out=Path("runs") / NAME)
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="(default: %(default)s)")
    parser.add_argument("--count", type=positive, default=GAMES, help="training games of each (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"2 iterations, {QUICK} games each, of all types")
    args = parser.parse_args(given)

    def run() -> int:
        options = options_of(args, args.models[:1])
        iterations, count = (2, QUICK) if args.quick else (args.iterations, args.count)
        dev = spread(declared_tasks(ENVIRONMENT, OWN), QUICK if args.quick else args.limit)
        if args.dry_run:
            print(
                f"{iterations} iterations of 2 x {count} training games, {iterations + 1} times 2 x {len(dev)} others"
            )
            return 0
        with open_pool(args.workers, cache=args.cache, prices=args.prices) as pool:
            steps = refine(options, args.out, pool, iterations, count, dev, quiet=args.quiet)
        identity, last = options.identify(options.models[0]), steps[-1]
        rules = LearnedRules.load(args.out / f"{last.iteration}-rules.json").overrides()
        learned = Refined(ENVIRONMENT, identity, last.iteration, len(last.cases), last.calibration, rules)
        aec_refinement.write(args.out / aec_refinement.FILE.name, learned)
        found = sections(steps, short(options.models[0]), count)
        files = write_report(args.out, TITLE, found)
        if args.publish:
            aec_refinement.write(args.publish / aec_refinement.FILE.name, learned)
            print(f"published: {write_report(args.publish / NAME, TITLE, found, html_too=False)[0]}")
        summary = summary_table(steps)
        print(table(summary.head, summary.rows))
        print(f"report: {files[0]} and {files[1]}   learned: {args.out / aec_refinement.FILE.name}")
        return int(any(errored(list(step.measured.groups.values())) for step in steps))

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())
