"""Searching public dialogues: ``python -m experiments.studies.cgdp.public --data FILE``.

CGDP's loop as in the paper beside the same with ``persist`` (ours) and BM25 with the question as it stands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from envs.search import bm25
from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Identified, Options, configuration, own_options, plugin_of, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp.methods import method
from experiments.studies.cgdp.reader import KEYWORDS, keyword_reader
from experiments.studies.cgdp.tables import MEASURES, by_digest, measures_table, no_pairs, options_of, outcomes, shown
from tape.cgdp.events import RetrievedEvent
from tape.lm.scripted import ScriptedLM
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table
from tape.statistics import paired
from tape.trace import read_trace

DEPTHS = "5,10,20"
PARTS = {"dev": ("4,5", slice(0, 2)), "held-out": ("1,2,3", slice(2, None))}
"""The categories and the dialogues of each part; retrieval and alignment had been measured on categories 4 and 5."""
METHODS = (method("cgdp", "structured"), method("cgdp", "structured", "persist (ours)", persist=True))
AT_5, AT_SAME = "BM25 with the question, 5", "BM25 with the question, as many"
NOTES = (AT_5, AT_SAME, "kind", "passages", "repeated")
NO_EVIDENCE = "no evidence named"
"""Two questions of the file; they are in no mean of recall."""


def tasks(data: str, part: str) -> tuple[Task, ...]:
    """The answerable questions of a part."""
    categories, dialogues = PARTS[part]
    found = tasks_of("locomo", own_options("locomo", (), {"data": data, "categories": categories, "depths": DEPTHS}))
    names = list(dict.fromkeys(task.facts["dialogue"].name for task in found))[dialogues]
    return tuple(task for task in found if task.facts["dialogue"].name in names and task.facts["question"].answerable)


def configurations(data: str, part: str, options: Options) -> list[Configuration]:
    """Both loops on the questions of a part."""
    own = own_options("locomo", (), {"data": data, "categories": PARTS[part][0], "depths": DEPTHS})
    given = replace(options, identify=_identify)
    return [
        configuration(
            each,
            model,
            given,
            environment="locomo",
            own=own,
            setting=f"LoCoMo, public, {part}",
            tasks=tasks(data, part)[: options.limit],
        )
        for model in options.models
        for each in METHODS
    ]


def _identify(model: str) -> Identified:
    return Identified(model, "chat")


def sections(measured: Measured) -> list[Section]:
    """Evidence recall beside BM25's, by kind of question; repeated queries; all measures."""
    return [
        Section("Evidence recall and repeated queries", (_recall(measured),), level=3),
        Section("Measures", (measures_table(measured),), level=3),
    ]


def _found(measured: Measured, record: Record) -> Mapping[str, Any]:
    """What a search brought, and what BM25 brings for the question as it stands; published with the episode."""

    def find() -> dict[str, Any]:
        trace = read_trace(measured.directory.trace_file(record["key"]))
        events = [event for event in trace if isinstance(event, RetrievedEvent)]
        own = tuple(sorted(options_of(measured.specs[record["cell"]]).items()))
        task = by_digest("locomo", own)[record["digest"]]
        gold, index = set(plugin_of("locomo").make(task).gold()[1]), bm25(task.facts["dialogue"].passages)
        passages = {passage.id for event in events for passage in event.passages}
        hits = {name: index.search(task.facts["text"], k) for name, k in ((AT_5, 5), (AT_SAME, len(passages)))}
        return {
            **{name: len(gold & {one.id for one in found}) / max(1, len(gold)) for name, found in hits.items()},
            "kind": task.facts["kind"] if gold else NO_EVIDENCE,
            "passages": len(passages),
            "repeated": len(events) - len({(event.option, event.query) for event in events}),
        }

    return {name: measured.note(record, name, lambda name=name: find()[name]) for name in NOTES}  # type: ignore[misc]


def _recall(measured: Measured) -> Table:
    """Recall of every method beside BM25, the paired differences, and how often queries were repeated."""
    rows = []
    for setting, _, label, name in measured.played():
        found = [(record, _found(measured, record)) for record in measured.records[name]]
        known = sorted({str(notes["kind"]) for _, notes in found} - {NO_EVIDENCE})
        for kind in ["all", *known]:
            chosen = [(one, notes) for one, notes in found if notes["kind"] in (known if kind == "all" else [kind])]
            ours = outcomes([one for one, _ in chosen], MEASURES["evidence recall"])
            cells = [f"{fmean(ours.values()):.2f}"]
            for reference in (AT_5, AT_SAME):
                theirs = {(one["task"], one["repeat"]): float(notes[reference]) for one, notes in chosen}
                cells += [f"{fmean(theirs.values()):.2f}", shown(paired(ours, theirs))]
            cells += [f"{fmean(notes[what] for _, notes in chosen):.2f}" for what in ("passages", "repeated")]
            rows.append((setting, label, kind, str(len(chosen)), *cells))
    references = (AT_5, "difference", AT_SAME, "difference")
    head = ("questions", "method", "kind", "n", "recall", *references, "passages", "repeated queries")
    note = "Mean share of the gold turns that any search brought; differences in points, paired, with 95 % intervals."
    return Table(head, tuple(rows), note)


EXPERIMENT = Experiment(
    name="cgdp_public",
    module="experiments.studies.cgdp.public",
    title="Searching public dialogues, a scripted reader",
    source="none: `persist` is ours",
    about=(
        "CGDP's loop with a structured belief, as in the paper and with `persist`, on answerable questions about "
        "public LoCoMo dialogues, BM25, depths 5, 10 and 20, at most ten rounds. The reader is scripted, without gold: "
        "its query is the first four words of a predicate that say something, always the same, and it takes any "
        "quote for an answer. No model's reading is measured here. Development: categories 4 and 5 of the first two "
        "dialogues of the file. Held-out: categories 1 to 3 of the others, which nothing had been measured on; played "
        "twice, as a rule about times was mended in between, for a test and not for these questions."
    ),
    models=(KEYWORDS,),
    configurations=partial(configurations, "", "dev"),
    sections=sections,
    pairs=no_pairs,
    batch=16,
    arguments="--data FILE",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What is played."""
    parser.add_argument("--data", required=True, metavar="FILE", help="a file in LoCoMo's public format")
    parser.add_argument("--part", choices=tuple(PARTS), default="dev", help="of its questions (default: dev)")


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(arguments, given)
    made = replace(EXPERIMENT, configurations=partial(configurations, first.data, first.part))
    return main(made, given, arguments=arguments, opened={KEYWORDS: ScriptedLM(keyword_reader, identity=KEYWORDS)})


if __name__ == "__main__":
    sys.exit(run())
