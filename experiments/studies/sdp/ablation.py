"""SDP without VALIDATE, REPLAN or cascade, estimated and played (SDP section 4.3, table 6, appendix C).

``python -m experiments.studies.sdp.ablation`` plays an environment with its options, Sokoban by default. The paper only
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
from itertools import pairwise
from typing import Any

from experiments.harness.cli import guarded, known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, own_options, plugin_of, spread, tasks_of
from experiments.harness.methods import GUARD, Method
from experiments.studies.sdp.ablation_report import FULL, LABELS, sections
from tape.runner.configurations import Configuration

QUICK = 6
"""Tasks of every setting with ``--quick``."""

WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "validate": {"sdp": {"validation": "always"}},
    "replan": {"ablations": {"replan": False}},
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


def configurations_with_cascades(options: Options, *, quick: bool = False) -> list[Configuration]:
    """SDP and SDP without each part, where one action may certify several predicates.

    Fresh pick-two tasks of ALFWorld, and the second test variation of every task of ScienceWorld that has two.
    """
    from envs.alfworld.game.goal import TWO
    from envs.alfworld.plugin import task_of
    from experiments.studies.aec.refine import fresh_games

    pairs = tuple(task_of(game) for game in fresh_games("sdp-pairs", (TWO,), PAIRS))
    tests = tasks_of("scienceworld", own_options("scienceworld", SECOND))
    seconds = tuple(b for a, b in pairwise(tests) if a.facts["task"] == b.facts["task"])
    found = []
    for environment, argv, setting, tasks, shared in (
        ("alfworld", (), "ALFWorld pairs, a predicate each", pairs, {**GUARD, **SINGLE}),
        ("scienceworld", SECOND, "ScienceWorld", seconds, {"sdp": {"chain": "adapter"}}),
    ):
        where: dict[str, Any] = {"environment": environment, "setting": setting, "own": own_options(environment, argv)}
        played, model = spread(tasks[: options.limit], QUICK if quick else None), plugin_of(environment).model
        methods = [method.on(shared) for method in METHODS if model in options.models]
        found += [configuration(method, model, options, tasks=played, **where) for method in methods]
    return found


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
    plugin = plugin_of(first.environment)
    if first.cascades:
        name, models = f"{EXPERIMENT.name}-cascades", ["bundled:household", "simulated:scienceworld"]
        make: Callable[[Options], list[Configuration]] = partial(configurations_with_cascades, quick=first.quick)
    else:
        chosen = own_options(first.environment, given)
        name = EXPERIMENT.name if first.environment == "sokoban" else f"{EXPERIMENT.name}-{first.environment}"
        models = [plugin.model]
        make = partial(configurations, first.environment, chosen, first.chains, quick=first.quick)

    def arguments(parser: argparse.ArgumentParser) -> None:
        _arguments(parser)
        plugin.add_arguments(parser.add_argument_group(f"{first.environment} options"))

    return main(replace(EXPERIMENT, name=name, configurations=make, models=tuple(models)), given, arguments=arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
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
