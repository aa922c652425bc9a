"""Four memory conditions of search agents: ``python -m experiments.studies.cgdp.memory``.

CGDP tables 3, 4, 8 to 10, 14, 15 and 21, and figure 2, as far as they are defined without a judge.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, spread
from experiments.harness.methods import Method
from experiments.studies.cgdp.memory_report import sections
from experiments.studies.cgdp.methods import (
    DOMAINS,
    HARNESSES,
    LARGER,
    MODEL,
    OWN,
    WINDOWS,
    Domain,
    larger,
    memories_of,
    method,
    windowed,
)
from experiments.studies.cgdp.tables import no_pairs
from tape.errors import TapeError
from tape.runner.configurations import Configuration


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
        found += [larger(agent) for agent in harnesses if agent in LARGER]
    return found


def configurations(
    asked: Chosen,
    options: Options,
    made: Methods = methods,
    quick_share: int = 1,
    domains: Mapping[str, Domain] = DOMAINS,
) -> list[Configuration]:
    """Every method on every domain under every window; what cannot be played here is named.

    Args:
        asked: What the command line asks for.
        options: What all studies share.
        made: The methods.
        quick_share: With ``--quick``, a domain's few questions are divided by this.
        domains: The domains by name.
    """
    found: list[Configuration] = []
    for name in asked.domains:
        domain = domains[name]
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
                environment=domain.environment,
                own=domain.options(asked.part),
                setting=windowed(domain, window),
                tasks=tasks,
            )
            for window in asked.windows
            for model in options.models
            for each in made(asked.harnesses, window, model)
        ]
    return found


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
    pairs=no_pairs,
    differs=(
        "No judge: exact match, F1, ROUGE-1, evidence recall and abstention; the paper's headline is a judge's score.",
        "The questions are the project's own, about invented people and places and about the package networkx, because "
        "a bundled model cannot read public ones.",
        "The belief is not rewritten by the model: facts are verbatim quotes, and what is kept at K is chosen exactly.",
    ),
    batch=16,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the studies of search agents share on the command line."""
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="of the questions (default: test)")
    parser.add_argument("--quick", action="store_true", help="a few questions of each domain, within ten minutes")


def commanded(
    experiment: Experiment,
    made: Callable[[Chosen, Options], list[Configuration]],
    usual: Chosen,
    quick: tuple[int | None, ...],
    argv: Sequence[str] | None,
) -> int:
    """The command line of a study of search agents.

    Args:
        experiment: The study.
        made: Its configurations, of what was chosen.
        usual: What is played by default.
        quick: The windows with ``--quick``.
        argv: The arguments; those of the process by default.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(arguments, given)
    what = replace(usual, part=first.part, quick=first.quick, windows=quick if first.quick else usual.windows)
    return main(replace(experiment, configurations=partial(made, what)), given, arguments=arguments)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return commanded(EXPERIMENT, configurations, Chosen(), (WINDOWS[0], None), argv)


if __name__ == "__main__":
    sys.exit(run())
