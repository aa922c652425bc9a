"""SDP without VALIDATE, REPLAN or cascade, estimated and played (SDP section 4.3, table 6, appendix C).

``python -m experiments.studies.sdp.ablation`` plays an environment with its options, Sokoban by default;
``--run RUN_DIR`` takes the SDP configurations of a run instead, whose episodes are not played again. The paper only
estimates: it rescales the scores of recorded trajectories. Here the same levels and seeds are really played without
each part, and the estimate is set beside that. ``--cascades`` plays tasks in which one action may certify several
predicates: fresh pick-two tasks of ALFWorld, with targets of one predicate each, and ScienceWorld.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.harness.cli import guarded, known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import (
    SEPARATOR,
    Options,
    configuration,
    named,
    own_options,
    plugin_of,
    spread,
    tasks_of,
)
from experiments.harness.methods import GUARD, Method, merged
from experiments.studies.sdp.ablation_report import FULL, LABELS, sections
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec

QUICK = 6
"""Tasks of every setting with ``--quick``."""

WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "validate": {"sdp": {"validation": "always"}},
    "replan": {"replan": False},
    "cascade": {"sdp": {"cascade": False}},
}
"""The switches that take a part away."""

METHODS = (Method(FULL, "sdp"), *(Method(LABELS[name], "sdp", changes) for name, changes in WITHOUT.items()))
CHAINS = ("sample", "walk")
PAIRS = 40
SINGLE: Mapping[str, Any] = {"sdp": {"chain": "sample", "grain": "predicate"}}
SECOND = ("--split", "test", "--variations", "2")
"""The first two test variations of every task; the first ones were played by the comparison of SDP."""


def configurations(
    environment: str, chosen: Mapping[str, Any], chains: Sequence[str], options: Options, *, quick: bool = False
) -> list[Configuration]:
    """SDP and SDP without each part, with every kind of chain, on the tasks of an environment.

    Raises:
        ConfigError: There is no task.
    """
    tasks = spread(tasks_of(environment, chosen)[: options.limit], QUICK if quick else None)
    shared = GUARD if environment == "alfworld" else {}
    return [
        configuration(
            method.on({**shared, "sdp": {"chain": chain}}),
            model,
            options,
            environment=environment,
            own=chosen,
            setting=f"{environment}, chain from {chain}",
            tasks=tasks,
        )
        for model in options.models
        for chain in chains
        for method in METHODS
    ]


def cascade_tasks() -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Fresh pick-two tasks of ALFWorld, and the second test variation of every task of ScienceWorld."""
    from envs.alfworld.game.goal import TWO
    from envs.alfworld.plugin import task_of
    from experiments.studies.aec.refine import fresh_games

    pairs = tuple(task_of(game) for game in fresh_games("sdp-pairs", (TWO,), PAIRS))
    by_name: dict[str, list[Task]] = {}
    for task in tasks_of("scienceworld", own_options("scienceworld", SECOND)):
        by_name.setdefault(task.facts["task"], []).append(task)
    return pairs, tuple(own[1] for own in by_name.values() if len(own) > 1)


def configurations_with_cascades(options: Options, *, quick: bool = False) -> list[Configuration]:
    """SDP and SDP without each part, where one action may certify several predicates."""
    pairs, science = cascade_tasks()
    found = []
    for environment, argv, setting, tasks, shared in (
        ("alfworld", (), "ALFWorld pairs, a predicate each", pairs, {**GUARD, **SINGLE}),
        ("scienceworld", SECOND, "ScienceWorld", science, {"max_replans": 50, "sdp": {"chain": "adapter"}}),
    ):
        played = spread(tasks[: options.limit], QUICK if quick else None)
        own, model = own_options(environment, argv), plugin_of(environment).model
        found += [
            configuration(
                method.on(shared), model, options, environment=environment, own=own, setting=setting, tasks=played
            )
            for method in METHODS
            if model in options.models
        ]
    return found


def configurations_of_runs(directories: Sequence[RunDirectory], options: Options) -> list[Configuration]:
    """The same four for every SDP configuration of some runs, on the tasks that they have episodes of.

    Raises:
        ConfigError: None of them plays the agent ``sdp`` as a whole, or its tasks are not what they were.
    """
    found = [one for directory in directories for one in _configurations_of(directory, options.limit)]
    if not found:
        where = ", ".join(str(directory.path) for directory in directories)
        raise ConfigError(f"{where}: no episode of the agent 'sdp' with all its parts; play one into it")
    return found


def _configurations_of(directory: RunDirectory, limit: int | None) -> list[Configuration]:
    held: dict[str, set[str]] = {}
    for record in directory.episodes():
        held.setdefault(record["cell"], set()).add(record["digest"])
    found = []
    for name, spec in directory.configurations().items():
        if not _whole(spec) or name not in held:
            continue
        own = {key: value for key, value in spec.options.items() if key != "limit"}
        tasks = tuple(task for task in tasks_of(spec.environment, own) if task.digest in held[name])
        if {task.digest for task in tasks} != held[name]:
            raise ConfigError(f"{directory.path}: {name!r}: its tasks are not what they were; play the run anew")
        for method in METHODS:  # with the run's own seeds and repeats, so that its episodes need not be played again
            config = TapeConfig.make(**merged(spec.config.model_dump(), method.changes))
            one = named(name.replace(SEPARATOR, ", "), spec.model, method.label)
            found.append(Configuration(one, spec.model_copy(update={"config": config}), spread(tasks, limit)))
    return found


def _whole(spec: RunSpec) -> bool:
    """Whether a run's configuration is SDP with all its parts."""
    held = spec.config.model_dump()
    return spec.agent == "sdp" and all(merged(held, changes) != held for changes in WITHOUT.values())


EXPERIMENT = Experiment(
    name="sdp_ablation",
    module="experiments.studies.sdp.ablation",
    title="SDP without VALIDATE, REPLAN or cascade",
    source="SDP section 4.3, table 6, appendix C",
    about="Each part is taken away twice: estimated from recorded trajectories, and really played without it.",
    models=(),
    configurations=partial(configurations, "sokoban", own_options("sokoban"), CHAINS),
    sections=sections,
    pairs=lambda _: [],
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(given), EXPERIMENT.module, given)


def _run(given: list[str]) -> int:
    first = known(_arguments, given)
    plugin = None
    if first.run is not None:
        sources = [RunDirectory(path) for path in first.run]
        models = sorted({spec.model for one in sources for spec in one.configurations().values()})
        make: Callable[[Options], list[Configuration]] = partial(configurations_of_runs, sources)
        name = "-".join([EXPERIMENT.name, *(path.resolve().name for path in first.run)])
    elif first.cascades:
        name, models = f"{EXPERIMENT.name}-cascades", ["bundled:household", "simulated:scienceworld"]
        make = partial(configurations_with_cascades, quick=first.quick)
    else:
        plugin = plugin_of(first.environment)
        chosen = own_options(first.environment, given)
        name = EXPERIMENT.name if first.environment == "sokoban" else f"{EXPERIMENT.name}-{first.environment}"
        models = [plugin.model]
        make = partial(configurations, first.environment, chosen, first.chains, quick=first.quick)

    def arguments(parser: argparse.ArgumentParser) -> None:
        _arguments(parser)
        parser.set_defaults(share=first.run or [])  # whose episodes are not played again
        if plugin is not None:
            plugin.add_arguments(parser.add_argument_group(f"{first.environment} options"))

    return main(replace(EXPERIMENT, name=name, configurations=make, models=tuple(models)), given, arguments=arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=Path, nargs="+", metavar="RUN_DIR", help="take the SDP configurations of runs")
    parser.add_argument(
        "--environment", default="sokoban", metavar="NAME", help="one that the agent sdp plays (default: sokoban)"
    )
    parser.add_argument(
        "--chains", nargs="+", choices=("sample", "walk", "adapter"), default=CHAINS,
        help="where chains come from (default: sample walk)",
    )  # fmt: skip
    parser.add_argument("--cascades", action="store_true", help="play where an action may certify several predicates")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} tasks of the environment")


if __name__ == "__main__":
    sys.exit(run())
