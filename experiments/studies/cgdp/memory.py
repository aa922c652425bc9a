"""Four memory conditions of search agents: ``python -m experiments.studies.cgdp.memory``.

CGDP tables 3, 4, 8 to 10, 14, 15 and 21, and figure 2, as far as they are defined without a judge.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from experiments.harness.cli import guarded, known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, split, spread
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import Method
from experiments.studies.cgdp import judge
from experiments.studies.cgdp.methods import (
    DOMAINS,
    HARNESSES,
    MODEL,
    OWN,
    WINDOWS,
    chosen,
    memories_of,
    method,
    window_of,
    windowed,
)
from experiments.studies.cgdp.tables import (
    MEASURES,
    Row,
    compare,
    differences_table,
    everything,
    exact,
    facts,
    mean_of,
    measures_table,
    named,
    records_of,
)
from tape.cgdp.events import BeliefEvent
from tape.errors import TapeError
from tape.runner.configurations import Configuration
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
LARGER = ("ircot", "react_search")
"""Harnesses that are also played with K = 12 (the paper's table 21)."""
K = 12
NO_EVIDENCE = ("no evidence", "not found", "no information", "unknown", "unanswerable")
"""An open question that has one of these is a "no evidence" artefact (our reading of the paper's table 4)."""
COMPARED = ("EM", "F1")


@dataclass(frozen=True)
class Chosen:
    """What is played.

    Attributes:
        domains: Names of :data:`experiments.studies.cgdp.methods.DOMAINS`.
        harnesses: Agents.
        windows: Most tokens of a prompt.
        part: Of the questions.
        quick: A few questions of each domain.
    """

    domains: tuple[str, ...] = tuple(DOMAINS)
    harnesses: tuple[str, ...] = tuple(HARNESSES)
    windows: tuple[int | None, ...] = WINDOWS
    part: str = "test"
    quick: bool = False


Methods = Callable[[Sequence[str], int | None, str], list[Method]]
"""What is played with some harnesses, under a window, by a model."""


def methods(harnesses: Sequence[str], window: int | None, model: str) -> list[Method]:
    """Every harness under its conditions; without a window also with room for more items."""
    del model
    found = [method(agent, memory, context_tokens=window) for agent in harnesses for memory in memories_of(agent)]
    if window is None:
        found += [_larger(agent) for agent in harnesses if agent in LARGER]
    return found


def _larger(agent: str) -> Method:
    return method(agent, "structured", f"K = {K}", k_target=K, k_trigger=K + 4)


def configurations(
    asked: Chosen, options: Options, made: Methods = methods, quick_share: int = 1
) -> list[Configuration]:
    """Every method on every domain under every window; what cannot be played here is named.

    Args:
        asked: What the command line asks for.
        options: What all studies share.
        made: The methods.
        quick_share: With ``--quick``, a domain's few questions are divided by this.
    """
    found: list[Configuration] = []
    for name in asked.domains:
        domain = DOMAINS[name]
        try:
            tasks = spread(
                domain.tasks(asked.part)[: options.limit], domain.quick // quick_share if asked.quick else None
            )
        except TapeError as error:
            print(f"left out: {domain.label}: {error}", file=sys.stderr)
            continue
        found += [
            configuration(
                each,
                model,
                options,
                environment=name,
                own=domain.options(asked.part),
                setting=windowed(domain, window),
                tasks=tasks,
            )
            for window in asked.windows
            for model in options.models
            for each in made(asked.harnesses, window, model)
        ]
    return found


# --- the report -----------------------------------------------------------------------------------


def sections(measured: Measured) -> list[Section]:
    """All tables and the figure."""
    facts_of_all(measured)
    answers = _split(measured)
    return [
        Section("Quality and tokens", (frontier(measured),), level=3),
        Section("Conditions (tables 3, 10, 14)", (measures_table(measured, _PER_ROUND),), level=3),
        Section("All domains together", (_differences(measured, _pooled),), level=3),
        Section("Where one observation is enough, and where it is not", (_by_need(measured),), level=3),
        Section("Differences between conditions (tables 8 and 10)", (_differences(measured, _single),), level=3),
        *([Section("Questions with and without an answer (table 9)", (answers,), level=3)] if answers.rows else []),
        Section("By hops (table 15)", (_by_hops(measured),), level=3),
        *_optional("Room for more items (table 21)", _room(measured)),
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
    """Episodes whose questions are told apart from those of other domains."""
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


def _room(measured: Measured) -> Table:
    rows: list[Row] = []
    for setting in measured.settings():
        for model in measured.models():
            for agent in LARGER:
                larger, usual = _larger(agent).label, f"{HARNESSES[agent]}, structured"
                a, b = (records_of(measured, setting, model, one) for one in (larger, usual))
                if row := compare((setting, f"`{model}`", HARNESSES[agent], f"K = {K} - K = 6"), a, b, COMPARED):
                    rows.append(row)
    return differences_table(
        _HEAD, rows, COMPARED, f"{_POINTS} Curation starts at 10 items with K = 6, at {K + 4} here."
    )


def _artefacts(measured: Measured) -> Table:
    rows = []
    for setting, model, label in named(measured):
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
    """By checkpoint, all harnesses and domains together: how right each condition is, and what a belief is worth."""
    rows = []
    for window in _windows(measured):
        settings = [setting for setting in measured.settings() if setting.endswith(window)]
        for model in measured.models():
            row = [window, f"`{model}`"]
            for memory in ("baseline", "lobotomized", "structured", "freeform"):
                labels = [f"{harness}, {memory}" for harness in HARNESSES.values()]
                found = [r for s in settings for label in labels for r in _apart(records_of(measured, s, model, label))]
                value = exact(found)
                row.append("-" if value is None else f"{value.at:.2f} ({value.low:.2f} to {value.high:.2f})")
            rows.append(tuple(row))
    note = "EM over all harnesses that have the condition and all domains, the models in the order they were given."
    return Table(("questions", "model", "baseline", "lobotomized", "structured", "freeform"), tuple(rows), note)


def frontier(measured: Measured) -> Figure:
    """EM against tokens: a point for each harness and condition, a panel for each domain and window."""
    panels = []
    for setting in measured.settings():
        for model in measured.models():
            series = []
            for label in measured.methods():
                records = records_of(measured, setting, model, label)
                used = mean_of(records, MEASURES["tokens"])
                if used is not None:
                    role = "strong" if label.endswith(("structured", "freeform")) else "plain"
                    series.append(Series(label, (exact(records),), role, (used.at,)))
            several = len(measured.models()) > 1
            panels.append(Panel(f"{model}, {setting}" if several else setting, tuple(series)))
    caption = "EM against mean tokens (figure 2), 95 % intervals; dark: with a belief state."
    return Figure("cgdp_memory", caption, Plot("points", tuple(panels), "exact match", "tokens per question"))


def pairs(measured: Measured) -> list[tuple[str, str, str, str]]:
    """None: differences have tables of their own, with corrected p."""
    del measured
    return []


EXPERIMENT = Experiment(
    name="cgdp_memory",
    module="experiments.studies.cgdp.memory",
    title=f"Memory of search agents, {OWN}",
    source="CGDP tables 3, 4, 8-10, 14, 15, 21, figure 2",
    about=(
        "Four memory conditions: the transcript, oldest rounds left out where the window is full (baseline); the "
        "newest observation alone (lobotomized); a belief state of quoted facts, with fields and open predicates "
        "(structured) or as notes (freeform). The harnesses of the paper, and CGDP's own loop; gate none. Every prompt "
        "fits the window, counted by the model's own tokenizer. Questions, seeds and model are the same for all."
    ),
    models=(MODEL,),
    configurations=partial(configurations, Chosen()),
    sections=sections,
    pairs=pairs,
    differs=(
        "No judge: exact match, F1, ROUGE-1, evidence recall and abstention; the paper's headline is a judge's score.",
        "The questions are the project's own, about invented people and places and about the package networkx, because "
        "a bundled model cannot read public ones.",
        "The belief is not rewritten by the model: facts are verbatim quotes, and what is kept at K is chosen exactly.",
    ),
    seeds=1,
    batch=16,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the studies of search agents share on the command line."""
    parser.add_argument("--domains", nargs="+", metavar="NAME", help=f"of {', '.join(DOMAINS)} (default: all)")
    parser.add_argument("--harnesses", nargs="+", metavar="NAME", help=f"of {', '.join(HARNESSES)} (default: all)")
    parser.add_argument("--windows", nargs="+", metavar="TOKENS", help="most tokens of a prompt, or none")
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="of the questions (default: test)")
    parser.add_argument("--quick", action="store_true", help="a few questions of each domain, within ten minutes")
    judge.argument(parser)


def read(first: argparse.Namespace, windows: Sequence[int | None], quick: Sequence[int | None]) -> Chosen:
    """What a command line asks for.

    Args:
        first: Its own options.
        windows: By default.
        quick: By default with ``--quick``.

    Raises:
        ConfigError: A name or a window is none.
    """
    asked = tuple(map(window_of, first.windows)) if first.windows else tuple(quick if first.quick else windows)
    return Chosen(
        chosen(first.domains, DOMAINS, "domain"),
        chosen(first.harnesses, HARNESSES, "harness"),
        asked,
        first.part,
        first.quick,
    )


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)

    def asked() -> int:
        what = read(known(arguments, given), WINDOWS, (WINDOWS[0], None))
        return main(
            replace(EXPERIMENT, configurations=partial(configurations, what)),
            given,
            arguments=arguments,
            after=judge.judge,
        )

    return guarded(asked, EXPERIMENT.module, given)


if __name__ == "__main__":
    sys.exit(run())
