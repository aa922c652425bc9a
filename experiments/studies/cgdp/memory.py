"""Four memory conditions of search agents: ``python -m experiments.studies.cgdp.memory``.

CGDP tables 3, 8, 10 and 14, as far as they are defined without a judge.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, TaskSet, configuration, spread
from experiments.studies.cgdp.methods import DOMAINS, HARNESSES, OWN, WINDOWS, methods
from experiments.studies.cgdp.tables import sections
from tape.errors import TapeError
from tape.runner.configurations import Configuration

QUICK = 8
"""Questions of each domain with ``--quick``."""


def configurations(
    part: str,
    options: Options,
    *,
    quick: bool = False,
    domains: Sequence[str] = tuple(DOMAINS),
    harnesses: Sequence[str] = tuple(HARNESSES),
    windows: Sequence[int | None] = WINDOWS,
) -> list[Configuration]:
    """Every harness under its conditions on every domain under every window; what cannot be played here is named.

    Args:
        part: Of the questions.
        options: What all studies share.
        quick: A few questions of each domain.
        domains: Names of :data:`experiments.studies.cgdp.methods.DOMAINS`.
        harnesses: Agents.
        windows: Most tokens of a prompt.
    """
    result: list[Configuration] = []
    for domain in (DOMAINS[name] for name in domains):
        try:
            tasks = spread(domain.tasks(part)[: options.limit], QUICK if quick else None)
        except TapeError as error:
            print(f"left out: {domain.label}: {error}", file=sys.stderr)
            continue
        for window in windows:
            name = f"{domain.label}, {'no window' if window is None else f'window {window}'}"
            where = TaskSet(name, domain.environment, domain.options(part), tasks)
            result += [
                configuration(method, model, options, where)
                for model in options.models
                for agent in harnesses
                for method in methods(agent, window)
            ]
    return result


EXPERIMENT = Experiment(
    name="cgdp_memory",
    module="experiments.studies.cgdp.memory",
    title=f"Memory of search agents, {OWN}",
    source="CGDP tables 3, 8, 10, 14",
    about=(
        "Four memory conditions: the transcript, oldest rounds left out where the window is full (baseline); the "
        "newest observation alone (lobotomized); a belief state of quoted facts, with fields and open predicates "
        "(structured) or as notes (freeform). The harnesses of the paper, and CGDP's own loop; gate none. Every prompt "
        "fits the window, counted by the model's own tokenizer. Questions, seeds and model are the same for all."
    ),
    models=("bundled:search",),
    configurations=partial(configurations, "test"),
    sections=sections,
    pairs=lambda _: [],
    differs=(
        "No judge: exact match, F1, ROUGE-1 and abstention; the paper's headline is a judge's score.",
        "The questions are the project's own, about invented people and places and about the package networkx, because "
        "a bundled model cannot read public ones.",
        "The belief is not rewritten by the model: facts are verbatim quotes, and what is kept at K is chosen exactly.",
    ),
    batch=16,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The study's own options."""
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="of the questions (default: test)")
    parser.add_argument("--quick", action="store_true", help="a few questions of each domain, within ten minutes")


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(arguments, given)
    made = partial(configurations, first.part, quick=first.quick)
    return main(replace(EXPERIMENT, configurations=made), given, arguments=arguments)


if __name__ == "__main__":
    sys.exit(run())
