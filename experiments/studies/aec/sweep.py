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
from experiments.harness.measured import Measured, Outcomes, Record, count
from experiments.harness.methods import Method
from experiments.harness.standard import against
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.methods import AEC, JOINT, QUERY_ALL
from experiments.studies.aec.tables import panels, table
from tape.aec.settings import AecSettings
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Plot
from tape.statistics import paired

ENVIRONMENT = "alfworld"
VOTES = ((0.25, 0.2), (0.4, 0.2))
"""Margin and uncertainty, where that is of votes: it is never above 0.167, so the margin alone decides."""

WORDED = ((0.1, 1.0), (0.1, 0.03), (0.4, 1.0), (0.4, 0.1), (0.4, 0.03), (0.4, 0.01))
"""Where it is the spread over wordings; with 1 the margin alone decides."""


def _threshold(sigma: str, margin: float, uncertainty: float) -> Method:
    settings = {"sigma": sigma, "margin": margin, "uncertainty": uncertainty}
    return Method(f"{sigma}, m = {margin:g}, tau = {uncertainty:g}", AEC.agent, {**AEC.changes, "aec": settings})


def _ungated(sigma: str) -> Method:
    return Method(f"{sigma}, no gating", AEC.agent, {**AEC.changes, "aec": {"sigma": sigma, "gate": "simulate_all"}})


METHODS = (
    QUERY_ALL,
    _ungated("votes"),
    *(_threshold("votes", *one) for one in VOTES),
    _ungated("wordings"),
    *(_threshold("wordings", *one) for one in WORDED),
    JOINT,
)
UNGATED = _ungated("wordings").label
"""What the gate is measured against: the same predictions, all believed."""


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
        found.append(Section(f"What gating saves, `{model}`", (_saved(measured, model),), 3))
    return found


def _saved(measured: Measured, model: str) -> Table:
    """Queries and infeasible commitments of each method, less those of two others, on the same games."""
    rows = []
    for setting in measured.settings():
        for method in measured.methods():
            row = [setting, method]
            for other in (QUERY_ALL.label, UNGATED):
                for what in ("queries", "infeasible_commitments", "success"):

                    def of(record: Record, what: str = what) -> float:
                        return count(record["result"], what)

                    a, b = (measured.outcomes(setting, model, one, of) for one in (method, other))
                    row.append(_difference(a, b) if method != other and a.keys() & b.keys() else "-")
            rows.append(tuple(row))
    head = ["games", "method"]
    for other in (QUERY_ALL.label, UNGATED):
        head += [f"queries less those of *{other}*", "infeasible commitments", "success"]
    note = (
        "Means per episode, paired by game, with 95 % intervals by bootstrap over games. A gate saves queries where "
        "the first is below 0 and the second is not above it."
    )
    return Table(tuple(head), tuple(rows), note)


def _difference(a: Outcomes, b: Outcomes) -> str:
    found = paired(a, b)
    return f"{found.difference:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


_DEFAULTS = AecSettings().margin, AecSettings().uncertainty
_SHOWN = ("success", "steps", "queries")


def _bars(measured: Measured, model: str, what: str) -> Plot:
    if what == "success":
        return Plot("bars", panels(measured, model, what), what, top=1.0)
    return Plot("bars", panels(measured, model, what, lambda record: count(record["result"], what)), what)


EXPERIMENT = Experiment(
    name="aec_sweep",
    module="experiments.studies.aec.sweep",
    title="Thresholds of active epistemic control, and the joint choice",
    source="AEC eq. 4 and algorithm 1 (values not published)",
    about=(
        "Margin and uncertainty decide what is queried and what is simulated; without gating everything is simulated "
        "that is not committed to, and the joint choice has neither. Development games, partially observable, at most "
        "50 commands."
    ),
    models=("bundled:household",),
    configurations=partial(configurations, {"games": "dev", "observation": "partial", "commands": "hidden"}),
    sections=sections,
    pairs=against(JOINT.label),
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
