"""The thresholds of AEC varied, beside the joint choice: ``python -m experiments.studies.aec.sweep``.

On the development games, so that the defaults are not chosen on what is reported elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, spread
from experiments.harness.measured import Measured
from experiments.harness.methods import Method
from experiments.harness.standard import against
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.methods import AEC, JOINT
from experiments.studies.aec.tables import mean_of, table
from tape.aec.settings import AecSettings
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section
from tape.show.plots import Panel, Plot, Series, Value

ENVIRONMENT = "alfworld"
MARGINS = (0.1, 0.25, 0.4, 0.48)
UNCERTAINTIES = (0.05, 0.1, 0.2)


def _threshold(margin: float, uncertainty: float) -> Method:
    label = f"m = {margin:g}, tau = {uncertainty:g}"
    return Method(label, AEC.agent, {**AEC.changes, "aec": {"margin": margin, "uncertainty": uncertainty}})


METHODS = (*(_threshold(m, tau) for m in MARGINS for tau in UNCERTAINTIES), JOINT)


def configurations(chosen: Mapping[str, Any], options: Options, *, quick: bool = False) -> list[Configuration]:
    """Every pair of thresholds, and the joint choice."""
    tasks = spread(declared_tasks(ENVIRONMENT, chosen)[: options.limit], QUICK if quick else None)
    setting = str(chosen["games"])
    return [
        configuration(method, model, options, environment=ENVIRONMENT, own=chosen, setting=setting, tasks=tasks)
        for model in options.models
        for method in METHODS
    ]


def sections(measured: Measured) -> list[Section]:
    """A table and a figure for each model."""
    found = []
    for number, model in enumerate(measured.models()):
        name = "aec_sweep" if number == 0 else f"aec_sweep-{number + 1}"
        caption = f"Success, steps and queries with `{model}`, 95 % intervals; the defaults are m = {_DEFAULTS[0]:g}, "
        figures = [
            Figure(f"{name}-{what}", f"{caption}tau = {_DEFAULTS[1]:g}.", _bars(measured, model, what))
            for what in _SHOWN
        ]
        found.append(Section(f"Thresholds and the joint choice, `{model}`", (table(measured, model), *figures), 3))
    return found


_DEFAULTS = AecSettings().margin, AecSettings().uncertainty
_SHOWN = ("success", "steps", "queries")


def _bars(measured: Measured, model: str, what: str) -> Plot:
    panels = []
    for setting in measured.settings():
        series = []
        for method in measured.methods():
            name = measured.name(setting, model, method)
            if name is not None:
                records = measured.records[name]
                values: list[float] = [float(record["result"][what]) for record in records]
                value: Value | None = mean_of(records, values)
                if what == "success":
                    value = measured.success(setting, model, method)
                series.append(Series(method, (value,), "strong" if method == JOINT.label else "plain"))
        panels.append(Panel(f"{what}, {setting}", tuple(series)))
    return Plot("bars", tuple(panels), what, top=1.0 if what == "success" else None)


EXPERIMENT = Experiment(
    name="aec_sweep",
    module="experiments.studies.aec.sweep",
    title="Thresholds of active epistemic control, and the joint choice",
    source="AEC eq. 4 and algorithm 1 (values not published)",
    about=(
        "Margin and uncertainty decide what is queried and what is simulated; the joint choice has neither. "
        "Development games, partially observable, at most 50 commands."
    ),
    models=("bundled:household",),
    configurations=partial(configurations, {"games": "dev", "observation": "partial", "commands": "hidden"}),
    sections=sections,
    pairs=against(JOINT.label),
    seeds=1,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(_arguments, given)
    chosen = {"games": first.games, "count": first.count, "data": None, "observation": "partial", "commands": "hidden"}
    return main(
        replace(EXPERIMENT, configurations=partial(configurations, chosen, quick=first.quick)),
        given,
        arguments=_arguments,
    )


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--games", choices=("dev", "packaged"), default="dev", help="(default: dev)")
    parser.add_argument("--count", type=int, metavar="N", help="only the first N games")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} games, of all types")


if __name__ == "__main__":
    sys.exit(run())
