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
from experiments.harness.experiment import Experiment, PaperValue
from experiments.harness.matrix import Options, configuration, spread
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import Method
from experiments.studies.cgdp import gate
from experiments.studies.cgdp.methods import DOMAINS, windowed
from experiments.studies.cgdp.tables import no_pairs
from tape.cgdp.events import GateEvent
from tape.cgdp.prompts.format import Verdict
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table
from tape.trace import read_trace

VERDICTS: tuple[str, ...] = get_args(Verdict)
QUESTIONS, ROUNDS, WINDOW, DEPTH = 30, 5, 640, 2
"""What a small model plays on one core within the hour."""
GATES = (gate.NONE, gate.BEST, *gate.ASKED, *(f"fixed:{rounds}" for rounds in (1, 2, 3)))
DOMAIN = replace(DOMAINS["repo_qa"], own={**DOMAINS["repo_qa"].own, "depths": str(DEPTH)})


def methods() -> list[Method]:
    """IRCoT on its transcript with every gate, as in table 6."""
    return [gate.gated(*gate.SWEPT, name, WINDOW, rounds=ROUNDS) for name in GATES]


def configurations(options: Options) -> list[Configuration]:
    """The matrix: questions about code, evenly from all kinds."""
    own, setting = DOMAIN.options("test"), windowed(DOMAIN, WINDOW)
    tasks = spread(DOMAIN.tasks("test"), options.limit or QUESTIONS)
    return [
        configuration(one, model, options, environment="repo_qa", own=own, setting=setting, tasks=tasks)
        for model in options.models
        for one in methods()
    ]


def verdicts_of(measured: Measured, record: Record) -> list[list[str]]:
    """The verdicts of an episode, each with whether its round brought a new passage: ``new`` or ``old``."""

    def find() -> list[list[str]]:
        events = read_trace(measured.directory.trace_file(record["key"]))
        return [["new" if e.upr else "old", e.verdict] for e in events if isinstance(e, GateEvent) and e.verdict]

    return measured.note(record, "verdicts", find)


def _verdicts(measured: Measured) -> Table:
    rows = []
    for setting, model, method, name in measured.played():
        if method.rsplit(", ", 1)[1] in gate.ASKED:
            found = [one for record in measured.records[name] for one in verdicts_of(measured, record)]
            for kind, label in (("new", "a new passage"), ("old", "nothing new")):
                counts = Counter(verdict for what, verdict in found if what == kind)
                rows.append((setting, f"`{model}`", method, label, *(str(counts[one]) for one in VERDICTS)))
    note = "Rounds by verdict. A judge that is any use calls more of those that bring nothing new EXHAUSTED."
    return Table(("questions", "model", "method", "the round brought", *VERDICTS), tuple(rows), note)


def sections(measured: Measured) -> list[Section]:
    """The tables of the study of gates, and what the model said."""
    return [Section("Verdicts", (_verdicts(measured),), level=3), *gate.sections(measured)]


EXPERIMENT = Experiment(
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
    pairs=no_pairs,
    paper=(
        PaperValue("tokens, conservative LM gate less no gate, IRCoT, code", "+159 %"),
        PaperValue("accuracy, neutral LM gate less no gate, IRCoT, code", "-5.0 points"),
        PaperValue("tokens, programmatic gate less no gate, at best", "-39 %"),
    ),
    differs=(
        "The model has 135 million parameters; the paper's is gpt-4o-mini.",
        f"{QUESTIONS} generated questions, at most {ROUNDS} rounds of {DEPTH} passages each, and a window of {WINDOW}.",
        "The prompts are worded anew; a verdict is a constrained choice, without a reason.",
    ),
    batch=15,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(run())
