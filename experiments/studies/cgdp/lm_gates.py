"""Gates that ask a general model: ``python -m experiments.studies.cgdp.lm_gates`` (CGDP table 6, appendix E.4).

With ``--cache FILE`` the searches up to a gate are computed once: decoding is greedy, so they are the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from experiments.harness.cli import main
from experiments.harness.experiment import PaperValue
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp import gate, memory
from experiments.studies.cgdp.methods import DOMAINS
from tape.cgdp.events import GateEvent
from tape.cgdp.prompts.format import Verdict
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table
from tape.trace import read_trace

QUESTIONS, ROUNDS, WINDOW, DEPTH = 30, 5, 640, 2
"""What a small model plays on one core within the hour."""
GATES = (gate.NONE, gate.BEST, *gate.ASKED, "fixed:1", "fixed:2", "fixed:3")
VERDICTS: tuple[str, ...] = get_args(Verdict)
PLAYED = memory.Chosen(("repo_qa",), windows=(WINDOW,), quick=True)


def configurations(options: Options, asked: memory.Chosen = PLAYED) -> list[Configuration]:
    """IRCoT on its transcript with every gate, as in table 6; questions evenly from all kinds."""
    methods = [gate.gated(*gate.SWEPT, name, WINDOW, rounds=ROUNDS) for name in GATES]
    count = options.limit or QUESTIONS
    domains = {name: replace(one, own={**one.own, "depths": str(DEPTH)}, quick=count) for name, one in DOMAINS.items()}
    return memory.configurations(asked, replace(options, limit=None), lambda *_: methods, domains=domains)


def verdicts_of(measured: Measured, record: Record) -> list[list[str]]:
    """The verdicts of an episode, each with what its round brought: ``a new passage`` or ``nothing new``."""

    def find() -> list[list[str]]:
        events = read_trace(measured.directory.trace_file(record["key"]))
        asked = [event for event in events if isinstance(event, GateEvent) and event.verdict]
        return [["a new passage" if event.upr else "nothing new", event.verdict] for event in asked]

    return measured.note(record, "verdicts", find)


def sections(measured: Measured) -> list[Section]:
    """What the model said, and the tables of the study of gates."""
    rows = []
    for setting, model, method, name in measured.played():
        if method.rsplit(", ", 1)[1] in gate.ASKED:
            found = Counter(tuple(one) for record in measured.records[name] for one in verdicts_of(measured, record))
            for brought in ("a new passage", "nothing new"):
                counts = (str(found[brought, verdict]) for verdict in VERDICTS)
                rows.append((setting, f"`{model}`", method, brought, *counts))
    note = "Rounds by verdict. A judge that is of use calls more of those that bring nothing new EXHAUSTED."
    table = Table(("questions", "model", "method", "the round brought", *VERDICTS), tuple(rows), note)
    return [Section("Verdicts", (table,), level=3), *gate.sections(measured)]


EXPERIMENT = replace(
    gate.EXPERIMENT,
    name="cgdp_lm_gates",
    module="experiments.studies.cgdp.lm_gates",
    title="Gates that ask a general model of 135 million parameters, questions about code",
    source="CGDP table 6, appendix E.4",
    about=(
        "IRCoT on its transcript. Two gates ask the model after every round but the first whether the search is "
        "exhausted; beside them the programmatic gate, fixed numbers of rounds and no gate. Tokens of the gates' own "
        "calls count."
    ),
    models=("smollm2",),
    configurations=configurations,
    sections=sections,
    paper=(
        PaperValue("tokens, conservative LM gate less no gate, IRCoT, code", "+159 %"),
        PaperValue("accuracy, neutral LM gate less no gate, IRCoT, code", "-5.0 points"),
        PaperValue("tokens, programmatic gate less no gate, at best", "-39 %"),
    ),
    differs=(
        "The model has 135 million parameters; the paper's is gpt-4o-mini.",
        f"Generated questions, at most {ROUNDS} rounds of {DEPTH} passages each, and a window of {WINDOW} tokens.",
        "The prompts are worded anew; a verdict is a constrained choice, without a reason.",
    ),
    batch=15,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(run())
