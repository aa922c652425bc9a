"""Certified subgoal chains, alone, with TAPE's path and AEC's verifier: ``python -m experiments.studies.sdp.sdp``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from experiments.harness.cli import guarded, known, main
from experiments.harness.document import Section
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, TaskSet, configuration, plugin_of, spread
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE
from experiments.harness.standard import Pair, against
from experiments.studies.sdp import certificates
from experiments.studies.sdp.settings import ALL, PATH, SETTINGS, SETTINGS_BY_NAME, SIMULATED, Setting
from experiments.studies.sdp.tables import bars, by_group, table
from experiments.studies.tape.levels import BATCH
from tape.errors import ConfigError, TapeError
from tape.runner.configurations import Configuration


def configurations(
    settings: Sequence[Setting], names: Sequence[str] | None, options: Options, *, quick: bool = False
) -> list[Configuration]:
    """Every method of every setting that can be played here; the others are named.

    Raises:
        ConfigError: There is no such setting, or none can be played.
    """
    there = {setting.name: setting for setting in settings}
    if unknown := [name for name in names or () if name not in there]:
        raise ConfigError(f"there is no setting {unknown[0]!r}; there is: {', '.join(there)}")
    result: list[Configuration] = []
    for setting in settings:
        if names and setting.name not in names:
            continue
        models = [model for model in setting.models if model in options.models]
        try:
            tasks = spread(setting.tasks(), setting.quick if quick else None)[: options.limit] if models else ()
            if tasks:
                plugin_of(setting.environment).make(tasks[0])  # its error names what is missing
            where = TaskSet(setting.name, setting.environment, setting.own(), tasks)
            mine = [
                configuration(method.on(setting.switches), model, options, where)
                for model in models
                for method in setting.methods
            ]
        except TapeError as error:
            print(f"left out: {setting.name}: {error}", file=sys.stderr)
            continue
        result += mine
    if not result:
        raise ConfigError("nothing to play: no setting can be played here with these models")
    return result


def sections(measured: Measured) -> list[Section]:
    grouped = by_group(measured, "score", lambda task: task.facts.get("group"))
    simulated = any(spec.model.startswith(SIMULATED[0]) for spec in measured.specs.values())
    chains = Section("Chains", (*([FAVOURS] if simulated else []), table(measured)), level=3)
    return [bars(measured), chains, *([grouped] if grouped else []), *certificates.sections(measured)]


def pairs(measured: Measured) -> list[Pair]:
    """The whole and its half against all others; where neither is played, TAPE+."""
    if not {ALL.label, PATH.label} & {*measured.methods()}:
        return against(TAPE.label)(measured)
    return [*against(ALL.label)(measured), *against(PATH.label, but=[ALL.label])(measured)]


FAVOURS = (
    f"`{SIMULATED[0]}` follows the gold path from where the history has got to, and never repeats a mistake that it "
    "sees. That favours agents that try one command at a time, ReAct above all: a mistake costs them a step, whereas a "
    f"planner also meets wrong predictions. `{SIMULATED[1]}` errs alike in all roles: the error of a point of the task "
    "is the same in an action, a plan and a prediction, and one that was seen is drawn anew, not ruled out."
)
"""Stands at every table with the simulated model of ScienceWorld."""

EVERYTHING = tuple(SETTINGS_BY_NAME.values())

EXPERIMENT = Experiment(
    name="sdp",
    module="experiments.studies.sdp.sdp",
    title="Certified subgoal chains (SDP)",
    source=f"SDP: its main comparison; {PATH.label} and {ALL.label} are ours",
    about=(
        "SDP alone takes its chain from one sample of the model, or from the environment's own operators where it has "
        f"them; {PATH.label} from the nodes of the path that the solver picks under the budgets; {ALL.label} only "
        "from paths that the grounded verifier accepts. Tasks, budgets, model, temperature and seeds are the same for "
        "all. Success is the environment's own check. What is simulated or scripted says so in its name."
    ),
    models=tuple(dict.fromkeys(model for setting in EVERYTHING for model in setting.models)),
    configurations=partial(configurations, EVERYTHING, None),
    sections=sections,
    pairs=pairs,
    batch=BATCH,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: the shared options, ``--settings`` and ``--quick``."""
    given = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(given), EXPERIMENT.module, given)


def _run(given: list[str]) -> int:
    first = known(_arguments, given)
    settings = SETTINGS[first.part] if first.part else EVERYTHING
    played = replace(EXPERIMENT, configurations=partial(configurations, settings, first.settings, quick=first.quick))
    if first.part:
        models = tuple(dict.fromkeys(model for setting in settings for model in setting.models))
        played = replace(played, name=f"{played.name}-{first.part}", models=models, arguments=f"--part {first.part}")
    return main(played, given, arguments=_arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"'{setting.name}'" for setting in EVERYTHING).replace("%", "%%")
    parser.add_argument("--part", choices=tuple(SETTINGS), help="only these settings (default: all)")
    parser.add_argument("--settings", nargs="+", metavar="NAME", help=f"only these of {names} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a few tasks of every setting, within ten minutes")


if __name__ == "__main__":
    sys.exit(run())
