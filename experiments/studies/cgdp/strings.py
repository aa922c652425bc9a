"""Measures of answers that are computed for reports alone: METEOR and sentence similarity (CGDP tables 11 and 12)."""

from __future__ import annotations

from statistics import fmean

from envs.search.metrics import meteor_exact_stem
from envs.search.similarity import similarity
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp.tables import plain
from tape.cgdp.events import StoppedEvent
from tape.show.document import Table
from tape.trace import read_trace

BESIDE = ("EM", "F1", "ROUGE-1")


def of_answer(measured: Measured, record: Record) -> tuple[float, float]:
    """METEOR and similarity of an episode; 0 where it gave no answer."""

    def find() -> list[float]:
        events = read_trace(measured.directory.trace_file(record["key"]))
        end = next((event for event in events if isinstance(event, StoppedEvent) and event.answer), None)
        if end is None:
            return [0.0, 0.0]
        given, answers = end.answer, end.gold_answers
        return [round(meteor_exact_stem(given, answers), 6), round(similarity(given, answers), 6)]

    meteor, cosine = measured.note(record, "METEOR and similarity", find)
    return meteor, cosine


def strings_table(measured: Measured) -> Table:
    """Every configuration, with all measures of its answers."""
    rows = []
    for setting, model, method, name in measured.played():
        records = measured.records[name]
        both = [fmean(values) for values in zip(*(of_answer(measured, one) for one in records), strict=True)]
        cells = [plain(records, what) for what in BESIDE]
        rows.append((setting, f"`{model}`", method, str(len(records)), *cells, *(f"{value:.2f}" for value in both)))
    note = (
        "Means per question. METEOR by its stages exact and stem, without synonyms: an exact answer of one word scores "
        ".5. Similarity is the cosine of embeddings by all-MiniLM-L6-v2, which is far above 0 for unlike answers too."
    )
    head = ("questions", "model", "method", "n", *BESIDE, "METEOR (exact, stem)", "similarity")
    return Table(head, tuple(rows), note)
