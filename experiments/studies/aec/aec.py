"""Active epistemic control beside agents that believe: ``python -m experiments.studies.aec.aec``.

``--environment NAME`` plays any environment that declares predicates, with its own options; household games by default.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from experiments.harness.cli import guarded, main
from experiments.harness.matrix import OTHER_LM, SEPARATOR, Experiment, Method, Options, PaperValue, short
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from experiments.studies.aec import readme_table as household_table
from experiments.studies.aec import refinement as aec_refinement
from experiments.studies.aec.methods import AEC, CALIBRATED_LABEL, CAP, RULES_LABEL, methods
from experiments.studies.aec.tables import by_model
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tape.protocols.predicates import require_predicates
from tape.runner.cells import Cell
from tape.runner.spec import RunSpec
from tape.show.document import Section

T = TypeVar("T")

QUICK = 6
"""Tasks of every set with ``--quick``."""


def plugin_of(environment: str) -> EnvironmentPlugin:
    """The environment.

    Raises:
        UnknownNameError: There is none of that name.
    """
    found: EnvironmentPlugin = load("tape.environments", environment)
    return found


def settings_of(environment: str, chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sets of tasks by name: the environment's own, and the given ones beside them where household games are given."""
    if environment == "alfworld" and chosen.get("data"):
        return {"packaged": {**chosen, "data": None, "games": None}, "given": dict(chosen)}
    if environment == "alfworld":
        return {chosen.get("games") or "packaged": dict(chosen)}
    return {environment: dict(chosen)}


def tasks_of(environment: str, options: Mapping[str, Any]) -> tuple[Task, ...]:
    """The tasks that options name.

    Raises:
        ConfigError: The environment declares no predicates, or there is no task.
    """
    plugin = plugin_of(environment)
    tasks = tuple(plugin.tasks(dict(options)))
    if not tasks:
        raise ConfigError(f"{environment}: these options name no task")
    require_predicates(plugin.make(tasks[0]).domain, "experiments.studies.aec.aec")
    return tasks


def spread(tasks: Sequence[T], count: int | None) -> tuple[T, ...]:
    """As many tasks or games, evenly from the whole: sets are sorted by type."""
    if count is None or count >= len(tasks):
        return tuple(tasks)
    return tuple(tasks[i * len(tasks) // count] for i in range(count))


def cell_of(
    environment: str, own: Mapping[str, Any], setting: str, method: Method, model: str, options: Options,
    tasks: Sequence[Task],
) -> Cell:  # fmt: skip
    """One method with one model on some tasks."""
    spec = RunSpec(
        environment=environment,
        options={**own, "limit": options.limit},
        agent=method.agent,
        config=TapeConfig.make(**method.changes),
        model=model,
        model_identity=options.identify(model),
        seed=options.seed,
        repeats=options.seeds,
        prompt_version=plugin_of(environment).prompt_version,
    )
    return Cell(SEPARATOR.join([setting, short(model), method.label]), spec, tuple(tasks))


def cells(
    environment: str,
    chosen: Mapping[str, Any],
    refinement: Path,
    options: Options,
    *,
    quick: bool = False,
    search: bool = False,
) -> list[Cell]:
    """Every method with every model on all sets."""
    found = []
    sets = settings_of(environment, chosen)
    played = {name: tasks_of(environment, own)[: options.limit] for name, own in sets.items()}
    played = {name: spread(tasks, QUICK if quick else None) for name, tasks in played.items()}
    for model in options.models:
        refined = aec_refinement.find(refinement, environment, options.identify(model))
        for setting, tasks in played.items():
            for method in methods(refined, search=search):
                found.append(cell_of(environment, sets[setting], setting, method, model, options, tasks))
    return found


def sections(measured: Measured) -> list[Section]:
    found = by_model(measured, "aec")
    missing = [label for label in (RULES_LABEL, CALIBRATED_LABEL) if label not in measured.methods()]
    if missing:
        said = (
            f"Left out: {' and '.join(missing)}. They need what `python -m experiments.studies.aec.refine` learns from "
            "failures with the same model in the same environment (`aec_refinement.json`)."
        )
        found.append(Section("What is not measured", (said,), level=3))
    return found


EXPERIMENT = Experiment(
    name="aec",
    title="Commit only on grounded evidence",
    source="AEC: its main comparison, backbones and ablations",
    about=(
        "Partially observable household games on the real engine, at most 50 commands. Which commands the engine "
        "admits is told to no agent (`--commands shown` tells all); no oracle is asked. No free choice may repeat a "
        "command in an identical state. Success is the engine's. Model, temperature, games and seeds are the "
        "same for all."
    ),
    models=("bundled:household",),
    cells=partial(cells, "alfworld", {}, aec_refinement.FILE),
    sections=sections,
    pairs=against(AEC.label),
    paper=(PaperValue("failures / replanning rounds: full, no verifier, no gating", "2/3, 9/6, 4/5"),),
    differs=(
        OTHER_LM.replace("Sokoban", "household games"),
        "The games are the 60 that ship with the package, 10 of each type; official ones are played too by "
        "`--data DIR`.",
        f"Replanning rounds of a failed episode are set to the cap, as in the paper; the cap is {CAP} here.",
        "Thresholds, the order of predicates and the size of the set of hypotheses are not published: ours are in "
        "`docs/aec.md`, and `python -m experiments.studies.aec.sweep` varies the thresholds.",
    ),
    seeds=1,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: shared options, ``--environment``, and the environment's own."""
    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(given), EXPERIMENT.name, given)


def _run(given: list[str]) -> int:
    first = argparse.ArgumentParser(add_help=False)
    _arguments(first)
    known = first.parse_known_args(given)[0]
    plugin = plugin_of(known.environment)
    own = argparse.ArgumentParser(add_help=False)
    plugin.add_arguments(own)
    chosen = vars(own.parse_known_args(given)[0])

    def arguments(parser: argparse.ArgumentParser) -> None:
        _arguments(parser)
        plugin.add_arguments(parser.add_argument_group(f"{known.environment} options"))
        if known.environment != "alfworld":
            parser.set_defaults(out=Path("runs") / f"aec-{known.environment}")

    made = partial(cells, known.environment, chosen, known.refinement, quick=known.quick, search=known.search)
    played = replace(EXPERIMENT, models=(plugin.model,), cells=made)
    if known.environment != "alfworld":
        about = (
            f"The environment `{known.environment}`, with the predicates that it declares. Model, temperature, tasks "
        )
        played = replace(
            played,
            name=f"aec-{known.environment}",
            arguments=f"--environment {known.environment}",
            title=f"{EXPERIMENT.title}: {known.environment}",
            about=about + "and seeds are the same for all.",
            paper=(),
            differs=EXPERIMENT.differs[2:],
        )
    return main(played, given, arguments=arguments, after=_keep)


def _keep(args: argparse.Namespace, measured: Measured) -> None:
    """Keep the figures of household games for the README's table, where they are published."""
    if args.publish is not None and args.environment == "alfworld":
        household_table.keep(args.publish / household_table.CHECKS, measured)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment", default="alfworld", metavar="NAME", help="one that declares predicates (default: alfworld)"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} tasks of every set, of all types")
    parser.add_argument("--search", action="store_true", help="play AEC with the two-frontier proposer too; it is slow")
    parser.add_argument(
        "--refinement",
        type=Path,
        default=aec_refinement.FILE,
        metavar="FILE",
        help="what experiments.studies.aec.refine has learned (default: the committed file, if there is one)",
    )


if __name__ == "__main__":
    sys.exit(run())
