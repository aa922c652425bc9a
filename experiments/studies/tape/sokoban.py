"""Figure 3: every agent on the easy and the hard levels. ``python -m experiments.studies.tape.sokoban``."""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.document import Figure, Section
from experiments.harness.experiment import DROP, OTHER_LM, Experiment, PaperValue
from experiments.harness.measured import Measured
from experiments.harness.methods import EVERYTHING, PAPER, TAPE
from experiments.harness.standard import SIMULATED, both_against_all, success_bars
from experiments.studies.tape.levels import BATCH, EASY, HARD, OTHER_LEVELS, grid

SETTINGS = (EASY, HARD)


def sections(measured: Measured) -> list[Section]:
    caption = f"Success within the shortest solution plus 2 moves, 95 % intervals. {SIMULATED}"
    several = len(measured.models()) > 1
    figure = Figure("sokoban", caption, success_bars(measured, by_model=several))
    return [Section("Figure", (figure,), level=3)]


EXPERIMENT = Experiment(
    name="sokoban",
    module="experiments.studies.tape.sokoban",
    title="Every agent on easy and hard levels",
    source="figure 3 (its part on Sokoban)",
    about="All agents with one model, on the same levels, with the same budget, seeds and sampling temperature.",
    models=("bundled:nano",),
    configurations=partial(grid, EVERYTHING, SETTINGS),
    sections=sections,
    pairs=both_against_all,
    batch=BATCH,
    paper=(
        PaperValue("TAPE, easy (tables 1, 4)", "46.0 % (standard error 5.0)", EASY, PAPER.label),
        PaperValue("the same, ours with additions", "-", EASY, TAPE.label),
        PaperValue("Plan-and-Act, easy (table 4; table 1: 17.0)", "20.0 % (4.0)", EASY, "Plan-and-Act"),
        PaperValue("ReAct, easy (table 4; table 1: 5.0)", "4.0 % (2.0)", EASY, "ReAct"),
        DROP,
    ),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "Plan-and-Act that replans on a mismatch, Best-of-N and the open loop are not in the paper's figure. Much of "
        "what replanning gains a Plan-and-Act gains too, so it is the baseline to look at first.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
