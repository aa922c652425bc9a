"""Interventions of CGDP's appendix B, on and off: ``python -m experiments.studies.cgdp.interventions``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from experiments.harness.matrix import Options
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp import memory
from experiments.studies.cgdp.gate import BEST
from experiments.studies.cgdp.memory import Chosen
from experiments.studies.cgdp.methods import OWN, method
from experiments.studies.cgdp.tables import compare, differences_table, measures_table, records_of
from tape.cgdp.events import InterventionEvent
from tape.cgdp.settings import INTERVENTIONS, Memory
from tape.runner.configurations import Configuration
from tape.show.document import Section
from tape.trace import read_trace

PLAYED = Chosen(harnesses=("react_search", "cgdp"), windows=(None,))
MEMORY: Mapping[str, Memory] = {"react_search": "freeform", "cgdp": "structured"}
OFF = "none"
COMPARED = ("EM", "F1", "evidence recall", "tokens")
SETS = (OFF, *INTERVENTIONS, ",".join(INTERVENTIONS))


def configurations(asked: Chosen, options: Options) -> list[Configuration]:
    """Each intervention alone, and all of them, behind the paper's gate."""
    return memory.configurations(asked, options, lambda harnesses, window, _: [
        method(agent, MEMORY[agent], on, gate=BEST, context_tokens=window, interventions=on)
        for agent in harnesses
        for on in SETS
    ])  # fmt: skip


def acted(measured: Measured, record: Record) -> list[str]:
    """The interventions that did something in an episode."""

    def find() -> list[str]:
        events = read_trace(measured.directory.trace_file(record["key"]))
        return sorted({e.name for e in events if isinstance(e, InterventionEvent) and e.texts} & {*INTERVENTIONS})

    return measured.note(record, "acted", find)


def sections(measured: Measured) -> list[Section]:
    """On less off, by domain and over all, and every configuration."""
    rows = []
    settings = measured.settings()
    domains = [*((one.split(",")[0], [one]) for one in settings), ("all", settings)]
    for base in dict.fromkeys(label.rsplit(", ", 1)[0] for label in measured.methods()):
        for on in SETS[1:]:
            for questions, several in domains:
                played, without = (_records(measured, several, f"{base}, {name}") for name in (on, OFF))
                share = f"{sum(bool(acted(measured, one)) for one in played)} of {len(played)}"
                if row := compare((questions, base, on, share), played, without, COMPARED):
                    rows.append(row)
    head = ("questions", "harness and memory", "on", "acts in")
    note = f"Less the same with none; all behind the gate {BEST}. Shares in points."
    return [
        Section("On less off", (differences_table(head, rows, COMPARED, note),), level=3),
        Section("Every configuration", (measures_table(measured),), level=3),
    ]


def _records(measured: Measured, settings: Sequence[str], method: str) -> list[Record]:
    """Episodes of several domains, distinguished by task."""
    [model] = measured.models()
    return [
        {**record, "task": f"{setting}: {record['task']}"}
        for setting in settings
        for record in records_of(measured, setting, model, method)
    ]


EXPERIMENT = replace(
    memory.EXPERIMENT,
    name="cgdp_interventions",
    module="experiments.studies.cgdp.interventions",
    title=f"Interventions of appendix B, {OWN}",
    source="CGDP appendix B, which has no results",
    about=(
        "Triggered resampling, the observation filter, parallel hypotheses and gap-aware stopping, each alone and all "
        "together, beside none of them, on the same questions. Rounds and budgets are the same for all."
    ),
    configurations=partial(configurations, PLAYED),
    sections=sections,
    differs=("The paper names these in a sentence or two each and measures none; the rules are ours.",),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return memory.commanded(EXPERIMENT, configurations, PLAYED, (None,), argv)


if __name__ == "__main__":
    sys.exit(run())
