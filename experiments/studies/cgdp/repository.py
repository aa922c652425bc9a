"""Search agents on questions about Python sources: ``python -m experiments.studies.cgdp.repository``.

Answers are measured by METEOR and sentence similarity too (CGDP tables 11 and 12), from traces.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from envs.search.metrics import meteor_exact_stem
from envs.search.similarity import similarity
from experiments.harness.cli import main
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp import memory, memory_report
from experiments.studies.cgdp.methods import Domain, memories_of, method
from experiments.studies.cgdp.tables import plain
from tape.cgdp.events import StoppedEvent
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table
from tape.trace import read_trace

PACKAGES = ("networkx", "http")
"""Packages that `bundled:search` was not trained on."""
QUESTIONS = 60
"""Of each package, evenly from all kinds."""
BESIDE = ("EM", "F1", "ROUGE-1")


def configurations(options: Options) -> list[Configuration]:
    """Every memory condition on every package."""
    count = options.limit or QUESTIONS
    domains = {one: Domain(one, "repo_qa", "part", {"package": one}, count) for one in PACKAGES}
    asked = memory.Chosen(PACKAGES, ("react_search", "cgdp"), (None,), quick=True)
    methods = [method(agent, each) for agent in asked.harnesses for each in memories_of(agent)]
    return memory.configurations(asked, replace(options, limit=None), lambda *_: methods, domains=domains)


def of_answer(measured: Measured, record: Record) -> list[float]:
    """METEOR and similarity of an episode; 0 where it gave no answer."""

    def find() -> list[float]:
        events = read_trace(measured.directory.trace_file(record["key"]))
        end = next((event for event in events if isinstance(event, StoppedEvent) and event.answer), None)
        both = (meteor_exact_stem, similarity)
        return [0.0, 0.0] if end is None else [round(of(end.answer, end.gold_answers), 6) for of in both]

    return measured.note(record, "METEOR and similarity", find)


def answers_table(measured: Measured) -> Table:
    """Every configuration, with all measures of its answers."""
    rows = []
    for setting, model, label, name in measured.played():
        records = measured.records[name]
        both = map(fmean, zip(*(of_answer(measured, one) for one in records), strict=True))
        cells = [*(plain(records, what) for what in BESIDE), *(f"{value:.2f}" for value in both)]
        rows.append((setting, f"`{model}`", label, str(len(records)), *cells))
    note = (
        "Means per question. METEOR by its stages exact and stem, without synonyms: an exact answer of one word scores "
        ".5. Similarity is the cosine of embeddings by all-MiniLM-L6-v2, which is above 0 for unlike answers too."
    )
    return Table(("questions", "model", "method", "n", *BESIDE, "METEOR", "similarity"), tuple(rows), note)


def sections(measured: Measured) -> list[Section]:
    """The measures of answers, and the tables of the study of memory."""
    answers = Section("Measures of answers (tables 10 to 12)", (answers_table(measured),), level=3)
    return [answers, *memory_report.sections(measured)]


EXPERIMENT = replace(
    memory.EXPERIMENT,
    name="cgdp_repository",
    module="experiments.studies.cgdp.repository",
    title="Search agents on questions about Python sources",
    source="CGDP tables 3 and 8 to 12, the part on SWE-QA-Pro",
    about=(
        "Agents search the sources of a package and answer generated questions of one to three facts, or of none. Four "
        "memory conditions, no window, gate none, five passages a search by BM25."
    ),
    configurations=configurations,
    sections=sections,
    differs=(
        "Questions are generated from the sources, since SWE-QA-Pro is not here; their answers are names and values.",
        "No judge; the model has 2 million parameters and was trained on questions worded alike about other packages.",
    ),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(run())
