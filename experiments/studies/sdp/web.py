"""Questions over a recorded web, SDP beside ReAct, by AssistantBench's measure.

``python -m experiments.studies.sdp.web`` plays it.
No test set is played: the 25 tasks are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from experiments.harness import episodes, published
from experiments.harness.cli import main
from experiments.harness.experiment import Experiment, PaperValue
from experiments.harness.matrix import Options, configuration, own_options, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import REACT
from experiments.harness.places import RESULTS
from experiments.harness.standard import against, mean, share, signed
from experiments.studies.sdp.settings import SDP_OWN, UNVALIDATED
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table, table
from tape.statistics import paired

NAME, SETTING = "web_qa", "25 made tasks"
LEVELS = ("Easy", "Medium", "Hard")
METHODS = (SDP_OWN, UNVALIDATED, REACT.on({"on_limit": "final_answer"}))
RATES = (0.0, 0.05, 0.1, 0.2)
TABLE_3 = (
    ("SDP (GPT-4o)", "31.8, 32.0, 14.9; 92.8, 54.9, 16.0"),
    ("ACP-Domain Agents (GPT-4o)", "28.3, 30.0, 11.0; 67.8, 48.5, 15.5"),
    ("Magentic-One (GPT-4o)", "25.3, 25.3, 11.0; 69.9, 35.6, 16.9"),
)
"""Rows of SDP table 3: accuracy, precision, EM; accuracy of easy, medium and hard tasks, in percent."""


def configurations(options: Options) -> list[Configuration]:
    """Every method with every model."""
    own = own_options(NAME)
    tasks = tasks_of(NAME, own)[: options.limit]
    return [
        configuration(method, model, options, environment=NAME, own=own, setting=SETTING, tasks=tasks)
        for model in options.models
        for method in METHODS
    ]


def _of(name: str) -> Callable[[Record], float]:
    return lambda record: float(record["result"]["measures"][name])


def tables(measured: Measured) -> list[Table]:
    """Accuracy, precision, EM and answer rate, and accuracy by difficulty; the differences from ReAct."""
    levels = {task.digest: str(task.facts["difficulty"]) for task in tasks_of(NAME, own_options(NAME))}
    accuracy, rows, pairs = _of("accuracy"), [], []
    for setting, model, method, name in measured.played():
        records, who = measured.records[name], (f"`{model}`", method)
        hard = [(r, measured.note(r, "difficulty", partial(levels.__getitem__, r["digest"]))) for r in records]
        shown = [mean(records, accuracy), mean([record for record in records if _of("answered")(record)], accuracy)]
        shown += [mean(records, _of("exact_match")), mean(records, _of("answered"))]
        shown += [mean([record for record, at in hard if at == level], accuracy) for level in LEVELS]
        rows.append((*who, str(len(records)), *map(share, shown)))
        ours, react = (measured.outcomes(setting, model, one, accuracy) for one in (method, REACT.label))
        if method != REACT.label and react:
            pairs.append((*who, signed(paired(ours, react))))
    head = ("model", "method", "n", "accuracy", "precision", "EM", "answer rate", *LEVELS)
    return [Table(head, tuple(rows)), Table(("model", "method", "accuracy minus ReAct's"), tuple(pairs))]


def sections(measured: Measured) -> list[Section]:
    """AssistantBench's measures."""
    return [Section("AssistantBench's measures", tuple(tables(measured)), level=3)]


def web_text(folder: Path = RESULTS / NAME) -> str:
    """The tables of docs/evidence/environments/web_qa.md; empty if the study has not been published yet."""
    file = folder / episodes.FILE
    if not file.exists():
        return ""
    experiment, measured = published.of(file)
    shown = [table(one.head, one.rows) for one in tables(measured)]
    note = f"95 % intervals by bootstrap over the 25 tasks. Made by `{experiment.command}`."
    return "\n".join([*(f"{one}\n" for one in shown), note, ""])


EXPERIMENT = Experiment(
    name="web_qa",
    module="experiments.studies.sdp.web",
    title="Questions over a recorded web, with a simulated model",
    source="SDP table 3",
    about=(
        "SDP's narrowing chains beside ReAct with the same tools, budgets and model. The model is simulated: it reads "
        "our own pages by script, errs at a stated rate in every role, and turns one verdict in ten round. It knows "
        "what the tasks ask. No figure is a result of any language model. At a limit ReAct is asked for an answer."
    ),
    models=tuple(f"simulated:web_qa?errors={rate:g}" for rate in RATES),
    configurations=configurations,
    sections=sections,
    pairs=against(SDP_OWN.label),
    paper=tuple(PaperValue(f"accuracy, precision, EM; easy, medium, hard: {who}", value) for who, value in TABLE_3),
    differs=(
        "Not comparable with table 3: made tasks over 110 recorded pages in place of 181 tasks on the live web, a "
        "simulated model in place of GPT-4o, difficulty by the number of pages.",
        "Success is an exact answer; the paper's accuracy gives partial credit, which is in the first table.",
        "The paper's fallback to a model with web search of its own is left out.",
    ),
    seeds=3,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, list(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(run())
