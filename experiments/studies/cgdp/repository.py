"""Search agents on questions about Python sources: ``python -m experiments.studies.cgdp.repository``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.harness.cli import main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, spread
from experiments.harness.measured import Measured
from experiments.studies.cgdp.memory_report import sections as of_memory
from experiments.studies.cgdp.methods import MODEL, Domain, memories_of, method
from experiments.studies.cgdp.strings import strings_table
from experiments.studies.cgdp.tables import no_pairs
from tape.runner.configurations import Configuration
from tape.show.document import Section

PACKAGES = ("networkx", "http")
"""Packages that `bundled:search` was not trained on."""
QUESTIONS = 60
"""Of each package, evenly from all kinds."""
AGENTS = ("react_search", "cgdp")


def configurations(options: Options) -> list[Configuration]:
    """Every memory condition on every package."""
    found = []
    for package in PACKAGES:
        domain = Domain(package, "repo_qa", "part", {"package": package})
        tasks = spread(domain.tasks("test"), options.limit or QUESTIONS)
        found += [
            configuration(
                method(agent, memory),
                model,
                options,
                environment="repo_qa",
                own=domain.options("test"),
                setting=f"{package}, no window",
                tasks=tasks,
            )
            for model in options.models
            for agent in AGENTS
            for memory in memories_of(agent)
        ]
    return found


def sections(measured: Measured) -> list[Section]:
    """The measures of answers, and the tables of the study of memory."""
    return [Section("Measures of answers (tables 10 to 12)", (strings_table(measured),), level=3), *of_memory(measured)]


EXPERIMENT = Experiment(
    name="cgdp_repository",
    module="experiments.studies.cgdp.repository",
    title="Search agents on questions about Python sources",
    source="CGDP tables 3 and 8 to 12, the part on SWE-QA-Pro",
    about=(
        "Agents search the sources of a package and answer generated questions, one to three facts each, or none. Four "
        "memory conditions, no window, gate none, five passages a search by BM25."
    ),
    models=(MODEL,),
    configurations=configurations,
    sections=sections,
    pairs=no_pairs,
    differs=(
        "Questions are generated from the sources, since SWE-QA-Pro is not here; their answers are names and values.",
        "No judge; the model has 2 million parameters and was trained on questions worded alike about other packages.",
    ),
    batch=16,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(run())
