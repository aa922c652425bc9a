"""A small general model from end to end, where it may be enough: it reads and chooses, declarations carry the rest.

``python -m experiments.studies.general.general`` plays the chains of tools, from the repository's folder; ``--others``
plays the other grounds, public questions too, where ``--gsm-hard FILE`` and ``--musique FILE`` name them.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.harness import tightness
from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, own_options, spread, tasks_of
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, REACT, REPLANNING, TAPE, Method
from experiments.harness.standard import against
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table

READER = "smollm2:reader"
DESK = "experiments/studies/general/desk.json"
CALLS = 60
"""Cap on the model's calls, of an episode; a reading from both sides takes a dozen small ones."""

FORCED: Mapping[str, Any] = MappingProxyType(
    {"num_plans": 2, "ablations": {"resample": 0}, "execution": "forced", "on_infeasible": "stop"}
)
"""Two plans, sampled once: more do not fit the caps. As by default for tools, planned actions are taken without a call,
and where no plan fits nothing is paid."""

EXACT: Mapping[str, Any] = MappingProxyType({"proposer": "declared", "scorer": "declared"})
METHODS: tuple[Method, ...] = (PAPER.on(FORCED), TAPE.on(FORCED), REACT, REPLANNING)


class Ground(NamedTuple):
    """One setting.

    Attributes:
        setting: Its name.
        environment: Where it is played.
        own: Options of the environment.
        tokens: Cap on the model's tokens, of an episode.
        most: Tasks at most, evenly spaced.
        declared: What TAPE+ leaves to declarations, as `tape probe` advises for this model.
        fits: Which tasks are played.
        file: The option that names its public file; nothing where the tasks are the project's own.
        reading: Whether passages are to be read, so that the adapter for reading may make a difference.
    """

    setting: str
    environment: str
    own: Mapping[str, Any] = MappingProxyType({})
    tokens: int = 8_000
    most: int = 30
    declared: Mapping[str, Any] = MappingProxyType({})
    fits: Callable[[Task], bool] = bool
    file: str = ""
    reading: bool = False


def _three_days(task: Task) -> bool:
    return bool(task.facts["query"].days == 3)


def _untrained(task: Task) -> bool:
    return not was_trained_on(task.id)


_HOUSE = {"problems": "test", "count": 100, "tools": 20, "reader": "lm"}
_TRIPS = {"problems": "general", "count": 90, "tightness": "tight"}
CHAINS = (
    Ground("desk: chains of tools", "tool_chains", {"data": DESK}, 8_000, 100, EXACT),
    Ground("copying house: chains of tools", "tool_chains", _HOUSE, 12_000, 100, EXACT),
)
OTHERS = (
    Ground("trips of 3 days", "travelplanner", _TRIPS, 24_000, fits=_three_days),
    Ground("GSM-Hard, public", "gsm_hard", file="gsm_hard"),
    Ground("MuSiQue, public", "musique", fits=_untrained, file="musique", reading=True),
    Ground("Sokoban, easy", "sokoban", {"levels": "easy"}, 12_000),
    Ground("GSM-Hard, own", "gsm_hard"),
    Ground("HotpotQA, own", "hotpotqa", reading=True),
    Ground("MuSiQue, own", "musique", reading=True),
)


def configurations(grounds: Sequence[Ground], files: Mapping[str, str | None], options: Options) -> list[Configuration]:
    """Every method on every setting whose tasks are here; the adapter where passages are to be read.

    Args:
        grounds: The settings.
        files: The public files, by the options that name them.
        options: What the command line decides.
    """
    found = []
    for ground in grounds:
        if ground.file and files.get(ground.file) is None:
            continue
        own = own_options(ground.environment, defaults=ground.own)
        own |= {"data": files[ground.file]} if ground.file else {}
        # No model gets questions that the adapter was trained on.
        asked = [task for task in tasks_of(ground.environment, own) if ground.fits(task)]
        tasks = spread(spread(asked, ground.most), options.limit)
        budget = {"calls": CALLS, "tokens": ground.tokens}
        where: dict[str, Any] = {"environment": ground.environment, "own": own, "setting": ground.setting}
        for model in options.models:
            if model == READER and not ground.reading:
                continue
            for method in METHODS:
                given = ground.declared if method.label == TAPE.label else {}
                played = replace(method, changes={**method.changes, **given})
                made = configuration(played, model, options, tasks=tasks, **where)
                found.append(replace(made, spec=made.spec.model_copy(update={"budget": budget})))
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
        "(10 calls and 8,000 tokens an episode, beside the steps of the task)."
    ),
    models=("smollm2",),
    configurations=partial(configurations, CHAINS + OTHERS, {}),
    sections=sections,
    pairs=against(TAPE.label),
    differs=(
        "The model is far below what these tasks ask: it plans calls whose arguments have nothing to do with the "
        "question. What the table shows is that every cap holds, and that no episode ends in a fault of the model's.",
    ),
    batch=12,
)
"""What was published first, of the questions alone and under smaller caps; its report follows from its episodes."""

GROUNDS = replace(
    EXPERIMENT,
    name="general_lm_grounds",
    configurations=partial(configurations, CHAINS, {}),
    title="A general model of 135 million parameters, where it only has to read and to choose",
    about=(
        "SmolLM2-135M-Instruct, a general model of the package index. All agents get the same tasks, seeds and caps, "
        "the same readings of the requests, and in their prompts the same declarations: tools with types and prices, "
        "or options with prices. TAPE+ leaves to the declarations what the model is not good enough for, as `tape "
        "probe` advises: on chains of tools the exact planner makes the plans. Elsewhere the model makes them for all."
    ),
    differs=(),
)
REST = replace(
    GROUNDS,
    name="general_lm_others",
    arguments="--others",
    title="A general model of 135 million parameters, on the other grounds",
    configurations=partial(configurations, OTHERS, {}),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: the shared options and the public files."""

    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--others", action="store_true", help="the other grounds, 30 tasks each")
        parser.add_argument("--gsm-hard", metavar="FILE", help="the public GSM-Hard, JSON Lines")
        parser.add_argument("--musique", metavar="FILE", help="the public MuSiQue, JSON Lines")

    given = list(sys.argv[1:] if argv is None else argv)
    chosen = vars(known(arguments, given))
    if chosen["others"]:
        played = replace(REST, configurations=partial(configurations, OTHERS, chosen))
        return main(played, given, arguments=arguments)
    return main(GROUNDS, given, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
