"""Figure 3, its part on ALFWorld, on the real engine: ``python -m experiments.studies.aec.alfworld``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.harness import tightness
from experiments.harness.experiment import DROP, OTHER_LM, Experiment
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    BEST_REACT,
    GUARD,
    LM_SELECTS,
    OPEN_LOOP,
    PAPER,
    PLAN_AND_ACT,
    REACT,
    REPLANNING,
    TAPE,
)
from experiments.harness.standard import against
from tape.show.document import Section

ENVIRONMENT = "alfworld"
OWN = {"data": None, "games": None, "count": None, "observation": "full", "commands": "hidden"}
"""The environment's options by default."""

METHODS = tuple(
    method.on(GUARD) for method in (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, PAPER, TAPE, LM_SELECTS)
)


def sections(measured: Measured) -> list[Section]:
    return [
        tightness.bars(measured, ENVIRONMENT),
        tightness.spending(measured),
        tightness.by_category(measured, "By type of task", lambda task: str(task.facts["task"])),
    ]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    module="experiments.studies.aec.alfworld",
    title="ALFWorld tasks",
    source="figure 3 (its part on ALFWorld), appendix E.1",
    about=(
        "Games of six types on the real TextWorld engine, with as many commands as the fewest possible and 2 more "
        "(tight) or 10 more (loose). As in the paper, what is in every receptacle is told at the start. Which commands "
        "the engine admits is told to no agent (`--commands shown` tells all). Success is the engine's."
    ),
    models=("bundled:household",),
    configurations=partial(tightness.configurations, ENVIRONMENT, OWN, methods=METHODS),
    sections=sections,
    pairs=against(TAPE.label),
    paper=(DROP,),
    differs=(
        OTHER_LM.replace("Sokoban", "ALFWorld tasks"),
        "The games are the 60 that ship with the package, 10 of each type; the official ones are played by "
        "`--data DIR`. The paper does not say how many commands its two budgets allow.",
        "No free choice of any agent may repeat a command in an identical state (`no_repeat`): without it a model that "
        "acts step by step goes round in circles.",
    ),
)


def others(argv: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The sets of games: those that ship, and the official ones beside them where ``--data`` names them."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data")
    data = parser.parse_known_args(argv)[0].data
    return {", packaged": {"data": None, "games": "packaged"}, ", official": {"data": data}} if data else {"": {}}


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: the shared options and the environment's own."""
    given = list(sys.argv[1:] if argv is None else argv)
    return tightness.run(EXPERIMENT, ENVIRONMENT, OWN, given, others=others(given), methods=METHODS)


if __name__ == "__main__":
    sys.exit(run())
