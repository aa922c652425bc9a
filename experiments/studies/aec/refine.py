"""Failure-driven refinement: rules and calibration learned from what predictions got wrong (in the spirit of WALL-E).

``python -m experiments.studies.aec.refine``. Every iteration plays fresh training games with what was learned so far,
collects the predictions whose truth came to light, and learns from them; the development games measure the effect.
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
from experiments.harness import anchors
from experiments.harness.cli import guarded, make_parser, options_of, play, positive
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, split, spread
from experiments.harness.measured import Measured, count
from experiments.harness.methods import Method
from experiments.harness.published import publish
from experiments.harness.standard import mean, sections_of, share
from experiments.studies.aec import refinement as aec_refinement
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.cases import calibration_of, cases_in
from experiments.studies.aec.fitting import isotonic, reliability
from experiments.studies.aec.learned_rules import Case, LearnedRules
from experiments.studies.aec.methods import CALIBRATED_LABEL, RULES_LABEL, calibrated, with_rules
from experiments.studies.aec.refinement import Refined
from experiments.studies.aec.tables import ROUNDS, digits, rounds
from tape.aec.calibration import IsotonicCalibration
from tape.aec.overrides import OverrideRule, Overrides
from tape.errors import RunDirectoryError
from tape.files import replace_file
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


def fresh_games(label: str, types: Sequence[str], count: int) -> list[Game]:
    """Fresh games, all types in turn; none is among the shipped ones.

    Args:
        label: Of the set, and part of every seed.
        types: Task types.
        count: How many.
    """
    found = []
    for i in range(count):
        rng = random.Random(f"alfworld:{label}:{i}")
        house = draw_house(rng, types[i % len(types)])
        while house.digest() in held_out():
            house = draw_house(rng, types[i % len(types)])
        found.append(Game(f"{label.replace(':', '-')}-{i}", label.partition(":")[0], house))
    return found


def training_games(iteration: int, count: int) -> list[Game]:
    """Fresh games of an iteration, from 1."""
    return fresh_games(f"refine:{iteration}", TASK_TYPES, count)


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
        configurations = _configurations(_setting(iteration), dev, (rules, calibration), options)
        shown = _played(name, configurations, options, out / name, pool, quiet=quiet)
        steps.append(Step(iteration, rules.rules, rules.dropped, tuple(cases), calibration, shown))
        replace_file(out / f"{iteration}-rules.json", rules.overrides().to_json() + "\n")
    return steps


def joined(steps: Sequence[Step], count: int) -> Measured:
    """The development games of all iterations as one run, with what was learned in between.

    Args:
        steps: The iterations, in order.
        count: Training games of each.
    """
    found = [step.measured for step in steps]
    made = replace(
        found[-1],
        specs={name: spec for one in found for name, spec in one.specs.items()},
        records={name: records for one in found for name, records in one.records.items()},
        groups={name: group for one in found for name, group in one.groups.items()},
        notes={},
        others={},
    )
    made.rows("iterations", lambda: [{"iteration": s.iteration, "training games": count} for s in steps])
    made.rows("cases", lambda: _case_rows(steps))
    made.rows("rules", lambda: _rule_rows(steps))
    return made


def _case_rows(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Every case with the first iteration that knew it."""
    found, known = [], 0
    for step in steps:
        fresh = step.cases[known:]
        found += [{"iteration": step.iteration, "predicted": c.predicted, "observed": c.observed} for c in fresh]
        known = len(step.cases)
    return found


def _rule_rows(steps: Sequence[Step]) -> list[dict[str, Any]]:
    found = []
    for step in steps:
        for rules, dropped in ((step.rules, False), (step.dropped, True)):
            found += [{"iteration": step.iteration, "rule": str(rule), "dropped": dropped} for rule in rules]
    return found


def _rows(measured: Measured, name: str) -> list[dict[str, Any]]:
    """What :func:`joined` has noted."""

    def missing() -> list[dict[str, Any]]:
        raise RunDirectoryError(f"{measured.directory.path} has no rows {name!r}; play {MODULE} again")

    return measured.rows(name, missing)


def sections(measured: Measured) -> list[Section]:
    """The report, of a joined run."""
    iterations = _rows(measured, "iterations")
    [model] = measured.models()
    about = (
        f"`{model}` predicts what is not known. In every iteration {iterations[-1]['training games']} fresh training "
        "games are played twice, on beliefs alone with the rules so far, and by AEC with the calibration so far. Every "
        "prediction whose truth came to light is a case; rules are learned where predictions keep being wrong and "
        "cases agree, and dropped where they keep failing; the calibration is isotonic, on all cases. What each "
        "iteration is worth is measured on the development games, which nothing is learned from. Iteration 0 has "
        "learned nothing."
    )
    last = [row for row in _rows(measured, "rules") if row["iteration"] == iterations[-1]["iteration"]]
    rules = tuple(f"`{row['rule']}`" for row in last if not row["dropped"]) or ("none",)
    dropped = tuple(f"dropped: `{row['rule']}`" for row in last if row["dropped"])
    figure = Figure(NAME, "Success by iteration, 95 % intervals.", _plot(measured))
    return [
        Section("By iteration", (about, summary_table(measured), figure), 3),
        Section("Rules in force at the end", (Bullets((*rules, *dropped)),), 3),
    ]


def summary_table(measured: Measured) -> Table:
    """A row for each iteration."""
    rows = []
    for step in (row["iteration"] for row in _rows(measured, "iterations")):
        pairs = [(c["predicted"], bool(c["observed"])) for c in _rows(measured, "cases") if c["iteration"] <= step]
        rules = [row for row in _rows(measured, "rules") if row["iteration"] == step]
        raw, calibration = reliability(pairs), isotonic(pairs)
        fitted = reliability([(calibration(mu), truth) for mu, truth in pairs])
        dropped = sum(row["dropped"] for row in rules)
        row = [str(step), str(len(pairs)), f"{len(rules) - dropped} ({dropped})"]
        row.append(f"{raw.ece:.3f}, {fitted.ece:.3f}" if raw.n else "-")
        for label in LABELS:
            records = measured.records[_name(measured, step, label)]
            row += [str(len(records)), share(_success(measured, step, label))]
            row.append(digits(mean(records, lambda record: rounds(record["result"]))))
            row.append(digits(mean(records, lambda record: count(record["result"], "queries"))))
        rows.append(tuple(row))
    head = ["iteration", "cases", "rules (dropped)", "ECE on these cases, raw and fitted"]
    for label in LABELS:
        head += [f"{label}: n", "success", "rounds", "queries"]
    note = (
        f"{ROUNDS} The fitted ECE is on the cases it was fitted on; `experiments/results/aec_calibration` has others."
    )
    return Table(tuple(head), tuple(rows), note)


def _setting(iteration: int) -> str:
    return f"iteration {iteration}"


def _name(measured: Measured, iteration: int, label: str) -> str:
    return next(name for name in measured.specs if split(name)[::2] == (_setting(iteration), label))


def _success(measured: Measured, iteration: int, label: str) -> Value | None:
    return measured.success(*split(_name(measured, iteration, label)))


def _plot(measured: Measured) -> Plot:
    steps = [row["iteration"] for row in _rows(measured, "iterations")]
    xs = tuple(float(step) for step in steps)
    series = tuple(
        Series(label, tuple(_success(measured, step, label) for step in steps), "strong" if i else "plain", xs)
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
    sections=sections,
    pairs=lambda _: [],
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
        identity, last = options.identify(options.models[0]).identity, steps[-1]
        rules = Overrides.from_json((args.out / f"{last.iteration}-rules.json").read_text(encoding="utf-8"))
        learned = Refined(ENVIRONMENT, identity, last.iteration, len(last.cases), last.calibration, rules)
        aec_refinement.write(args.out / aec_refinement.FILE.name, learned)
        measured = joined(steps, count)
        files = write_report(args.out, TITLE, sections_of(EXPERIMENT, measured))
        if args.publish:
            aec_refinement.write(args.publish / aec_refinement.FILE.name, learned)
            anchors.add(args.publish, [aec_refinement.FILE.name], "published")
            print(f"published: {publish(EXPERIMENT, measured, args.publish)[0]}")
        summary = summary_table(measured)
        print(table(summary.head, summary.rows))
        print(f"report: {files[0]} and {files[1]}   learned: {args.out / aec_refinement.FILE.name}")
        return int(any(errored(list(step.measured.groups.values())) for step in steps))

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())
