"""Figure 3, its part on ALFWorld: household games on the real engine. ``python -m experiments.studies.aec.alfworld``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.harness.matrix import (
    BEST_REACT,
    OPEN_LOOP,
    OTHER_LM,
    PLAN_AND_ACT,
    REACT,
    REPLANNING,
    Experiment,
    Method,
    PaperValue,
)
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from experiments.studies.tools import matrix as tool_cells
from tape.show.document import Section

ENVIRONMENT = "alfworld"
OWN = {"data": None, "games": None, "count": None, "observation": "full", "commands": "hidden"}
"""The environment's options by default."""

GUARD = {"no_repeat": True, "max_replans": 50}
"""For every agent: no free choice repeats a command in an identical state, and replanning lasts as the steps do."""


def guarded(method: Method) -> Method:
    """A method with the switches that all agents share on household games."""
    return replace(method, changes={**GUARD, **method.changes})


METHODS = tuple(
    map(guarded, (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, tool_cells.TAPE, tool_cells.LM_SELECTS))
)


def sections(measured: Measured) -> list[Section]:
    return [
        tool_cells.bars(measured, ENVIRONMENT),
        tool_cells.spending(measured),
        tool_cells.by_category(measured, "By type of task", lambda task: str(task.facts["task"])),
    ]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    title="Household games",
    source="figure 3 (its part on ALFWorld), appendix E.1",
    about=(
        "Games of six types on the real TextWorld engine, with as many commands as the fewest possible and 2 more "
        "(tight) or 10 more (loose). As in the paper, what is in every receptacle is told at the start. Which commands "
        "the engine admits is told to no agent (`--commands shown` tells all). Success is the engine's."
    ),
    models=("bundled:household",),
    cells=partial(tool_cells.cells, ENVIRONMENT, OWN, methods=METHODS),
    sections=sections,
    pairs=against(tool_cells.TAPE.label),
    paper=(
        PaperValue(
            "relative drop from easy to hard, mean of four tasks: TAPE, Plan-and-Act, ReAct", "28 %, 52 %, 55 %"
        ),
    ),
    differs=(
        OTHER_LM.replace("Sokoban", "household games"),
        "The games are the 60 that ship with the package, 10 of each type; the official ones are played by "
        "`--data DIR`. The paper does not say how many commands its two budgets allow.",
        "No free choice of any agent may repeat a command in an identical state (`no_repeat`): without it a model that "
        "acts step by step goes round in circles.",
    ),
    seeds=1,
)


def others(argv: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The sets of games: those that ship, and the official ones beside them where ``--data`` says where they are."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data")
    data = parser.parse_known_args(argv)[0].data
    return {", packaged": {"data": None, "games": "packaged"}, ", official": {"data": data}} if data else {"": {}}


if __name__ == "__main__":
    sys.exit(tool_cells.run(EXPERIMENT, ENVIRONMENT, OWN, others=others(sys.argv[1:]), methods=METHODS))
