"""Active epistemic control with other backbones: ``python -m experiments.studies.aec.models``.

``--share runs/aec`` copies what the main comparison has played with the largest.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from experiments.harness.cli import main
from experiments.harness.matrix import Options, configuration, own_options
from experiments.harness.measured import Measured
from experiments.studies.aec import aec
from experiments.studies.aec.methods import BACKBONES, NAMES
from experiments.studies.aec.tables import by_model
from tape.runner.configurations import Configuration
from tape.show.document import Section

NAME = "aec_models"


def configurations(options: Options) -> list[Configuration]:
    """The methods that rest on the backbone most, with every model."""
    own = own_options(aec.ALFWORLD, ())
    tasks = aec.declared_tasks(aec.ALFWORLD, own)[: options.limit]
    return [
        configuration(method, model, options, environment=aec.ALFWORLD, own=own, setting="packaged", tasks=tasks)
        for model in options.models
        for method in BACKBONES
    ]


def sections(measured: Measured) -> list[Section]:
    """A table and bars for each model."""
    return [Section("What the rows are", (NAMES,), level=3), *by_model(measured, NAME)]


EXPERIMENT = replace(
    aec.EXPERIMENT,
    name=NAME,
    module="experiments.studies.aec.models",
    title="Commit only on grounded evidence: backbones",
    source="AEC figure 2, backbone sensitivity",
    models=("bundled:household-475", "bundled:household-950", "bundled:household"),
    configurations=configurations,
    sections=sections,
    paper=(),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(run())
