"""The report on memory conditions: CGDP tables 3, 4, 8 to 10, 14, 15 and 21, and figure 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from experiments.harness.matrix import split
from experiments.harness.measured import Measured, Record
from experiments.harness.standard import mean
from experiments.studies.cgdp.methods import HARNESSES, LARGER, K, larger
from experiments.studies.cgdp.tables import (
    MEASURES,
    Row,
    compare,
    differences_table,
    everything,
    exact,
    facts,
    measures_table,
    records_of,
)
from tape.cgdp.events import BeliefEvent
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series
from tape.trace import read_trace

PAIRS = (
    ("freeform", "lobotomized"),
    ("structured", "lobotomized"),
    ("baseline", "lobotomized"),
    ("freeform", "baseline"),
    ("structured", "baseline"),
    ("freeform", "structured"),
)
"""Condition minus condition, as in the paper's table 8."""
NO_EVIDENCE = ("no evidence", "not found", "no information", "unknown", "unanswerable")
"""An open question that has one of these is a "no evidence" artefact (our reading of the paper's table 4)."""
COMPARED = ("EM", "F1")


def sections(measured: Measured) -> list[Section]:
    """All tables and the figure."""
    facts_of_all(measured)
    answers = _split(measured)
    return [
        Section("All domains together", (_differences(measured, _pooled),), level=3),
        Section("Quality and tokens", (frontier(measured),), level=3),
        Section("Conditions (tables 3, 10, 14)", (measures_table(measured, _PER_ROUND),), level=3),
        Section("Where one observation is enough, and where it is not", (_by_need(measured),), level=3),
        Section("Differences between conditions (tables 8 and 10)", (_differences(measured, _single),), level=3),
        *([Section("Questions with and without an answer (table 9)", (answers,), level=3)] if answers.rows else []),
        Section("By hops (table 15)", (_by_hops(measured),), level=3),
        *_optional("Room for more items (table 21)", _space(measured)),
        *_optional("Questions that say there is no evidence (table 4)", _artefacts(measured)),
        *([Section("Weaker checkpoints", (_trend(measured),), level=3)] if len(measured.models()) > 1 else []),
    ]


_PER_ROUND = "Rounds are searches that were made; a mean of most rounds is a harness that never stopped by itself."


def _optional(title: str, table: Table) -> list[Section]:
    return [Section(title, (table,), level=3)] if table.rows else []


def facts_of_all(measured: Measured) -> None:
    """Find out and keep with every episode whether its question has an answer, and its hops."""
    for records in measured.records.values():
        for record in records:
            facts(measured, record)


Found = Iterator[tuple[tuple[str, ...], Sequence[Record], Sequence[Record]]]
"""The first columns of a row, and the episodes of both sides."""


def _conditions(measured: Measured) -> Iterator[tuple[str, str, str, str, str]]:
    """Model, harness, both conditions, wherever both were played in some setting."""
    labels = set(measured.methods())
    for model in measured.models():
        for harness in HARNESSES.values():
            for ours, other in PAIRS:
                if {f"{harness}, {ours}", f"{harness}, {other}"} <= labels:
                    yield model, harness, ours, other, f"{ours} - {other}"


def _single(measured: Measured, keep: Callable[[Record], bool] = everything) -> Found:
    for setting in measured.settings():
        for model, harness, ours, other, label in _conditions(measured):
            a, b = (records_of(measured, setting, model, f"{harness}, {one}", keep) for one in (ours, other))
            yield (setting, f"`{model}`", harness, label), a, b


def _pooled(measured: Measured, keep: Callable[[Record], bool] = everything) -> Found:
    for window in _windows(measured):
        settings = [setting for setting in measured.settings() if setting.endswith(window)]
        for model, harness, ours, other, label in _conditions(measured):
            a, b = (
                [
                    record
                    for setting in settings
                    for record in _apart(records_of(measured, setting, model, f"{harness}, {one}", keep))
                ]
                for one in (ours, other)
            )
            yield (window, f"`{model}`", harness, label), a, b


def _apart(records: Sequence[Record]) -> Iterator[Record]:
    """Episodes whose questions are distinguished from those of other domains."""
    for record in records:
        yield {**record, "task": f"{record['environment']}: {record['task']}"}


def _windows(measured: Measured) -> list[str]:
    return list(dict.fromkeys(setting.rsplit(", ", 1)[1] for setting in measured.settings()))


def _rows(found: Found) -> list[Row]:
    return [row for parts, a, b in found if (row := compare(parts, a, b, COMPARED)) is not None]


_HEAD = ("questions", "model", "harness", "condition - condition")
_POINTS = "EM and F1 in points."


def _differences(measured: Measured, found: Callable[[Measured], Found]) -> Table:
    return differences_table(_HEAD, _rows(found(measured)), COMPARED, _POINTS)


def _split(measured: Measured) -> Table:
    def answerable(record: Record) -> bool:
        return facts(measured, record).answerable

    def unanswerable(record: Record) -> bool:
        return not facts(measured, record).answerable

    rows: list[Row] = []
    both = {split(name)[0] for name, found in measured.records.items() if any(map(unanswerable, found))}
    for label, keep in (("with an answer", answerable), ("without", unanswerable)):
        for row in _rows(_single(measured, keep)):
            if row.parts[0] in both:
                rows.append(Row((*row.parts, label), row.pairs))
    rows.sort(key=lambda row: row.parts[:4])
    return differences_table(
        (*_HEAD, "questions are"), rows, ("EM",), "EM in points; without an answer it is to abstain."
    )


def _by_need(measured: Measured) -> Table:
    """All domains together, the questions that a memory is for apart from the others."""

    def several(record: Record) -> bool:
        of = facts(measured, record)
        return of.answerable and of.hops > 1

    rows = [
        Row((*row.parts, label), row.pairs)
        for label, keep in (("two or more", several), ("one, or no answer", lambda record: not several(record)))
        for row in _rows(_pooled(measured, keep))
        if row.parts[3].endswith("lobotomized")
    ]
    rows.sort(key=lambda row: row.parts[:4])
    note = "EM in points, all domains together, by the passages that an answer takes."
    return differences_table((*_HEAD, "passages"), rows, ("EM",), note)


def _by_hops(measured: Measured) -> Table:
    hops = sorted({facts(measured, record).hops for records in measured.records.values() for record in records} - {0})
    rows = [
        Row((*row.parts, str(number)), row.pairs)
        for number in hops
        for row in _rows(_single(measured, partial(_has_hops, measured, number)))
    ]
    rows.sort(key=lambda row: row.parts)
    note = "EM in points; hops are passages of evidence, of questions that have an answer."
    return differences_table((*_HEAD, "hops"), rows, ("EM",), note)


def _has_hops(measured: Measured, number: int, record: Record) -> bool:
    of = facts(measured, record)
    return of.answerable and of.hops == number


def _space(measured: Measured) -> Table:
    rows: list[Row] = []
    for setting in measured.settings():
        for model in measured.models():
            for agent in LARGER:
                most, usual = larger(agent).label, f"{HARNESSES[agent]}, structured"
                a, b = (records_of(measured, setting, model, one) for one in (most, usual))
                if row := compare((setting, f"`{model}`", HARNESSES[agent], f"K = {K} - K = 6"), a, b, COMPARED):
                    rows.append(row)
    return differences_table(
        _HEAD, rows, COMPARED, f"{_POINTS} Curation starts at 10 items with K = 6, at {K + 4} here."
    )


def _artefacts(measured: Measured) -> Table:
    rows = []
    for setting, model, label, _ in measured.played():
        if not label.endswith("structured"):
            continue
        records = records_of(measured, setting, model, label)
        count = sum(
            bool(measured.note(record, "no evidence", partial(_artefact, measured, record))) for record in records
        )
        rows.append((setting, f"`{model}`", label, str(len(records)), f"{count} ({count / len(records):.0%})"))
    note = f"Episodes with an open question that has one of: {', '.join(NO_EVIDENCE)}. What counts is our reading."
    return Table(("questions", "model", "method", "n", "episodes"), tuple(rows), note)


def _artefact(measured: Measured, record: Record) -> bool:
    return any(
        mark in question.lower()
        for event in read_trace(measured.directory.trace_file(record["key"]))
        if isinstance(event, BeliefEvent)
        for question in event.questions
        for mark in NO_EVIDENCE
    )


def _trend(measured: Measured) -> Table:
    """By checkpoint, all domains together: how right each condition is, with the harnesses that have all of them."""
    memories = ("baseline", "lobotomized", "structured", "freeform")
    known = set(measured.methods())
    harnesses = [one for one in HARNESSES.values() if {f"{one}, {memory}" for memory in memories} <= known]
    rows = []
    for window in _windows(measured):
        settings = [setting for setting in measured.settings() if setting.endswith(window)]
        for model in measured.models():
            row = [window, f"`{model}`"]
            for memory in memories:
                labels = [f"{harness}, {memory}" for harness in harnesses]
                found = [r for s in settings for label in labels for r in _apart(records_of(measured, s, model, label))]
                value = exact(found)
                row.append("-" if value is None else f"{value.at:.2f} ({value.low:.2f} to {value.high:.2f})")
            rows.append(tuple(row))
    note = (
        f"EM of {', '.join(harnesses)}, which have all four, in all domains; the models in the order they were given."
    )
    return Table(("questions", "model", *memories), tuple(rows), note)


def frontier(measured: Measured) -> Figure:
    """EM against tokens: a point for each harness and condition, a panel for each domain and window."""
    panels = []
    for setting in measured.settings():
        for model in measured.models():
            series = []
            for label in measured.methods():
                records = records_of(measured, setting, model, label)
                used = mean(records, MEASURES["tokens"])
                if used is not None:
                    role = "strong" if label.endswith(("structured", "freeform")) else "plain"
                    series.append(Series(label, (exact(records),), role, (used.at,)))
            several = len(measured.models()) > 1
            panels.append(Panel(f"{model}, {setting}" if several else setting, tuple(series)))
    caption = "EM against mean tokens (figure 2), 95 % intervals; dark: with a belief state."
    return Figure("cgdp_memory", caption, Plot("points", tuple(panels), "exact match", "tokens per question"))
