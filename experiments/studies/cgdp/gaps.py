"""What goes wrong in searches, from their traces alone: ``python -m experiments.studies.cgdp.gaps`` (CGDP table 7)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from experiments.harness.experiment import Experiment, PaperValue
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp import memory
from experiments.studies.cgdp.memory import Chosen, configurations
from experiments.studies.cgdp.methods import MODEL, OWN
from experiments.studies.cgdp.tables import facts, measures_table, no_pairs
from tape.cgdp.gaps import GAPS, gaps
from tape.errors import TraceError
from tape.show.document import Bullets, Section, Table
from tape.statistics import wilson
from tape.trace import read_trace

PLAYED = Chosen(windows=(None,))
UNANSWERED = "G7"
"""Counted on questions that have no answer."""


def found_in(measured: Measured, record: Record) -> frozenset[str]:
    """The gaps of an episode; none where it ended by a fault before its search did."""

    def find() -> list[str]:
        try:
            return sorted(gaps(read_trace(measured.directory.trace_file(record["key"]))))
        except TraceError:
            return []

    return frozenset(measured.note(record, "gaps", find))


def sections(measured: Measured) -> list[Section]:
    """Table 7 by harness, memory and questions, what the gaps mean, and how right the agents were."""
    rows = []
    for setting, model, label, name in measured.played():
        records = measured.records[name]
        shown = [found_in(measured, record) for record in records]
        unanswerable = [not facts(measured, record).answerable for record in records]
        cells = []
        for gap in GAPS:
            counted = [
                gap in one for one, without in zip(shown, unanswerable, strict=True) if gap != UNANSWERED or without
            ]
            cells.append(_share(sum(counted), len(counted)))
        rows.append((setting, f"`{model}`", label, str(len(records)), *cells))
    note = (
        "Episodes that show the gap, of n, with Wilson's 95 % interval; G7 of the questions that have no answer. An "
        "episode may show several."
    )
    table = Table(("questions", "model", "harness and memory", "n", *GAPS), tuple(rows), note)
    meanings = Bullets(tuple(f"**{name}**: {text}." for name, text in GAPS.items()))
    return [
        Section("Gaps (table 7)", (table, meanings), level=3),
        Section("Every configuration", (measures_table(measured),), level=3),
    ]


def _share(count: int, n: int) -> str:
    if not n:
        return "-"
    low, high = wilson(count, n)
    return f"{count} of {n} ({low:.0%} to {high:.0%})"


EXPERIMENT = Experiment(
    name="cgdp_gaps",
    module="experiments.studies.cgdp.gaps",
    title=f"Gaps of search agents, {OWN}",
    source="CGDP table 7, appendix A",
    about=(
        "Detectors of what goes wrong in a search, run on traces alone. The paper defines G4 and G5/G6 so that they "
        "can be computed, and counts G7 on questions without an answer; the detectors of G1, G2 and G3 are ours."
    ),
    models=(MODEL,),
    configurations=partial(configurations, PLAYED),
    sections=sections,
    pairs=no_pairs,
    paper=(
        PaperValue("G4, MuSiQue, of 500: IRCoT / ReAct / MemGPT / Iter-RetGen", "74 / 4 / 62 / 0"),
        PaperValue("G5/G6, MuSiQue, of 500", "115 / 146 / 173 / 139"),
        PaperValue("G2, MuSiQue, of 500", "114 / 236 / 180 / 0"),
        PaperValue("G4, LoCoMo, of 1275", "68 / 10 / 143 / 0"),
        PaperValue("G5/G6, LoCoMo, of 1275", "248 / 70 / 24 / 986"),
        PaperValue("G2, LoCoMo, of 1275", "76 / 54 / 6 / 0"),
        PaperValue("G7, LoCoMo, of 440: IRCoT / ReAct / MemGPT", "125 / 73 / 229"),
        PaperValue("G4, code, of 260", "15 / 0 / 3 / 0"),
        PaperValue("G5/G6, code, of 260", "197 / 51 / 71 / 37"),
        PaperValue("G2, code, of 260", "9 / 61 / 20 / 0"),
    ),
    differs=(
        "The paper's counts are of its baseline condition; ours stand for every memory condition.",
        "An episode is wrong where its answer is no exact match; in the paper a judge says so.",
    ),
    batch=16,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return memory.commanded(EXPERIMENT, configurations, PLAYED, (None,), argv)


if __name__ == "__main__":
    sys.exit(run())
