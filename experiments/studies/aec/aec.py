"""Active epistemic control beside agents that believe: ``python -m experiments.studies.aec.aec``.

``--environment NAME`` plays any environment that declares predicates, with its own options; ALFWorld by default.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.harness.cli import guarded, known, main
from experiments.harness.document import Section
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.matrix import Options, TaskSet, configuration, own_options, plugin_of, spread, tasks_of
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from experiments.studies.aec.methods import AEC, CAP, METHODS, OFFICIAL, named
from experiments.studies.aec.tables import by_model
from tape.protocols import Task
from tape.protocols.domain import require_predicates
from tape.runner.configurations import Configuration

ALFWORLD = "alfworld"
SEEN = {"dev": "seen", "test": "unseen"}
"""Table 2's splits on ScienceWorld: variations of tasks to develop on, and those held out."""
QUICK = 6
"""Tasks of every set with ``--quick``."""


TABLE_2 = (PaperValue("table 2, Llama3-8B: AEC, seen and unseen", "61.36, 58.62"),)


def settings_of(environment: str, chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sets of tasks by name: the environment's own, and the official ones beside them where ALFWorld's are given."""
    if environment == ALFWORLD and chosen.get("data"):
        return {"packaged": {**chosen, "data": None, "games": None}, "official": dict(chosen)}
    if environment == ALFWORLD:
        return {chosen.get("games") or "packaged": dict(chosen)}
    if environment == "scienceworld":  # as far as WKM's splits are public
        splits = str(chosen.get("split", "dev")).split(",")
        return {f"{environment}, {SEEN.get(name, name)}": {**chosen, "split": name} for name in splits}
    return {environment: dict(chosen)}


def declared_tasks(environment: str, own: Mapping[str, Any]) -> tuple[Task, ...]:
    """The tasks that options name, of an environment that declares predicates.

    Raises:
        ConfigError: The environment declares no predicates, or there is no task.
    """
    tasks = tasks_of(environment, own)
    require_predicates(plugin_of(environment).make(tasks[0]).domain, EXPERIMENT.module)
    return tasks


def configurations(
    environment: str, chosen: Mapping[str, Any], options: Options, *, quick: bool = False
) -> list[Configuration]:
    """Every method with every model on all sets."""
    sets = settings_of(environment, chosen)
    played = {name: declared_tasks(environment, own)[: options.limit] for name, own in sets.items()}
    played = {name: spread(tasks, QUICK if quick else None) for name, tasks in played.items()}
    return [
        configuration(method, model, options, TaskSet(name, environment, sets[name], tasks))
        for model in options.models
        for name, tasks in played.items()
        for method in METHODS
    ]


def official(folders: Sequence[Path], chosen: Mapping[str, Any], options: Options) -> list[Configuration]:
    """The methods of :data:`OFFICIAL` on folders of official games, each of which is a set."""
    owns = {folder.name: {**chosen, "data": str(folder), "games": None} for folder in folders}
    tasks = {name: declared_tasks(ALFWORLD, own)[: options.limit] for name, own in owns.items()}
    return [
        configuration(method, model, options, TaskSet(name, ALFWORLD, own, tasks[name]))
        for name, own in owns.items()
        for model in options.models
        for method in OFFICIAL
    ]


def sections(measured: Measured) -> list[Section]:
    return [Section("What the rows are", (named(measured.methods()),), level=3), *by_model(measured, "aec")]


EXPERIMENT = Experiment(
    name="aec",
    module="experiments.studies.aec.aec",
    title="Commit only on grounded evidence",
    source="AEC: table 1, table 2 (--environment scienceworld) and figure 1, its ablations",
    about=(
        "Partially observable ALFWorld tasks on the real engine, at most 50 commands. Which commands the engine "
        "admits is told to no agent (`--commands shown` tells all); no oracle is asked. No free choice may repeat a "
        "command in an identical state. Success is the engine's. Model, temperature, games and seeds are the "
        "same for all."
    ),
    models=("bundled:household",),
    configurations=partial(configurations, ALFWORLD, {}),
    sections=sections,
    pairs=against(AEC.label),
    paper=(
        PaperValue("table 1, 134 official games: AEC on average", "98.7 %"),
        PaperValue("table 1: pick, clean, heat, cool, examine, pick two", "100, 100, 97, 95, 100, 100 %"),
        PaperValue("failures / replanning rounds: full, no verifier, no gating", "2/3, 9/6, 4/5"),
    ),
    differs=(
        OTHER_LM.replace("Sokoban", "ALFWorld tasks"),
        "The games are the 60 that ship with the package, 10 of each type; official ones are played too by "
        "`--data DIR`.",
        f"Replanning rounds of a failed episode are set to the cap, as in the paper; the cap is {CAP} here.",
        "Thresholds, the order of predicates and the size of the set of hypotheses are not published: ours are in "
        "`docs/reference/methods/aec.md`; `experiments/results/aec_sweep` has other ones.",
    ),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: shared options, ``--environment``, and the environment's own."""
    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(given), EXPERIMENT.module, given)


def _run(given: list[str]) -> int:
    first = known(_arguments, given)
    plugin = plugin_of(first.environment)
    chosen = own_options(first.environment, given)

    def arguments(parser: argparse.ArgumentParser) -> None:
        _arguments(parser)
        plugin.add_arguments(parser.add_argument_group(f"{first.environment} options"))
        if first.official or first.environment != ALFWORLD:
            parser.set_defaults(out=Path("runs") / f"aec-{'official' if first.official else first.environment}")

    made = partial(configurations, first.environment, chosen, quick=first.quick)
    played = replace(EXPERIMENT, models=(plugin.model,), configurations=made)
    if first.official:
        played = replace(
            played,
            name="aec-official",
            arguments="--official DIR ...",
            title=f"{EXPERIMENT.title}: official games",
            configurations=partial(official, first.official, chosen),
            differs=(EXPERIMENT.differs[0], *EXPERIMENT.differs[2:]),
        )
    if first.environment != ALFWORLD:
        about = (
            f"The environment `{first.environment}`, with the predicates that it declares. Model, temperature, tasks "
        )
        played = replace(
            played,
            name=f"aec-{first.environment}",
            arguments=f"--environment {first.environment}",
            title=f"{EXPERIMENT.title}: {first.environment}",
            about=about + "and seeds are the same for all.",
            paper=TABLE_2 if first.environment == "scienceworld" else (),
            differs=EXPERIMENT.differs[2:],
        )
    return main(played, given, arguments=arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment", default=ALFWORLD, metavar="NAME", help="one that declares predicates (default: alfworld)"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} tasks of every set, of all types")
    parser.add_argument(
        "--official",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="play these folders of official ALFWorld games alone, each as a set, with ReAct, TAPE and AEC",
    )


if __name__ == "__main__":
    sys.exit(run())
