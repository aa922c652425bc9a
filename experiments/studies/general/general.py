"""A small general model from end to end: word problems and multi-hop questions, the same small caps for all agents.

``python -m experiments.studies.general.general --gsm-hard FILE --musique FILE`` plays it. Without the files, which are
public, only the project's own questions are played.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.harness import tightness
from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, own_options, spread, tasks_of
from experiments.harness.measured import Measured
from experiments.harness.methods import PLAN_AND_ACT, REACT, TAPE, Method
from experiments.harness.standard import against
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table

READER = "smollm2:reader"
CAPS: Mapping[str, int] = MappingProxyType({"calls": 10, "tokens": 8_000})
"""Of an episode, beside the steps of its task: what a minute of one core allows at most."""

METHODS: tuple[Method, ...] = (TAPE.on({"num_plans": 2, "resample": 0, "max_replans": 0}), REACT, PLAN_AND_ACT)
"""TAPE+ with two plans, sampled once: more do not fit the caps."""


class Questions(NamedTuple):
    """One setting.

    Attributes:
        setting: Its name.
        environment: Where it is played.
        file: The option that names its public file; nothing where the questions are the project's own.
        reading: Whether texts are to be read, so that a reader may make a difference.
        own: Options of the environment.
    """

    setting: str
    environment: str
    file: str
    reading: bool
    own: Mapping[str, Any] = MappingProxyType({})


SETTINGS = (
    Questions("GSM-Hard, public", "gsm_hard", "gsm_hard", False),
    Questions("MuSiQue, public", "musique", "musique", True),
    Questions("HotpotQA, own", "hotpotqa", "", True),
    Questions("MuSiQue, own", "musique", "", True),
)


def configurations(files: Mapping[str, str | None], options: Options) -> list[Configuration]:
    """Every method on every setting whose questions are here; the reader where texts are to be read.

    Args:
        files: The public files, by the options that name them.
        options: What the command line decides.
    """
    found = []
    for setting, environment, file, reading, given in SETTINGS:
        if file and files.get(file) is None:
            continue
        own = {**own_options(environment), **given, **({"data": files[file]} if file else {})}
        asked = [task for task in tasks_of(environment, own) if not (file == "musique" and was_trained_on(task.id))]
        tasks = spread(asked, options.limit)
        for model in options.models:
            if model == READER and not reading:
                continue
            for method in METHODS:
                made = configuration(
                    method, model, options, environment=environment, own=own, setting=setting, tasks=tasks
                )
                found.append(replace(made, spec=made.spec.model_copy(update={"budget": dict(CAPS)})))
    return found


def was_trained_on(question: str) -> bool:
    """Whether the reader was trained on a public question: half of them, by the hash of their ids."""
    return hashlib.sha256(question.encode()).digest()[0] % 2 == 0


def sections(measured: Measured) -> list[Section]:
    """Beside the common table: how episodes ended, and what they spent."""
    rows = [
        (setting, f"`{model}`", method, ", ".join(f"{state} {count}" for state, count in ends.items()))
        for setting, model, method, name in measured.played()
        for ends in [measured.groups[name]["end_states"]]
    ]
    ends = Table(("questions", "model", "method", "episodes by end state"), tuple(rows))
    return [Section("How episodes ended", (ends,), level=3), tightness.spending(measured)]


EXPERIMENT = Experiment(
    name="general_lm",
    module="experiments.studies.general.general",
    title="A general model of 135 million parameters, from end to end",
    source="none: the paper's models are hosted ones",
    about=(
        "SmolLM2-135M-Instruct, a general model of the package index, and the same with this project's adapter for "
        "reading, on questions that neither was trained on: each agent gets the same questions, seeds and caps "
        f"({CAPS['calls']} calls and {CAPS['tokens']:,} tokens an episode, beside the steps of the task)."
    ),
    models=("smollm2", READER),
    configurations=partial(configurations, {}),
    sections=sections,
    pairs=against(TAPE.label),
    differs=(
        "The model is far below what these tasks ask: it plans calls whose arguments have nothing to do with the "
        "question. What the table shows is that every cap holds, and that no episode ends in a fault of the model's.",
    ),
    batch=10,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: the shared options and the public files."""

    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--gsm-hard", metavar="FILE", help="the public GSM-Hard, JSON Lines")
        parser.add_argument("--musique", metavar="FILE", help="the public MuSiQue, JSON Lines")

    given = list(sys.argv[1:] if argv is None else argv)
    files = vars(known(arguments, given))
    return main(replace(EXPERIMENT, configurations=partial(configurations, files)), given, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
