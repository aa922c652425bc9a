"""Table 4: TAPE beside Best-of-N with as many samples. ``python -m experiments.studies.tape.best_of_n``."""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    BEST_PLAN_AND_ACT,
    BEST_PLANS,
    BEST_REACT,
    PAPER,
    PLAN_AND_ACT,
    REACT,
    TAPE,
)
from experiments.harness.standard import both_against_all, success_bars
from experiments.studies.tape.levels import BATCH, EASY, HARD, OTHER_LEVELS, grid
from tape.show.document import Figure, Section

METHODS = (REACT, BEST_REACT, PLAN_AND_ACT, BEST_PLAN_AND_ACT, BEST_PLANS, PAPER, TAPE)


def sections(measured: Measured) -> list[Section]:
    caption = "Success with as many samples at a time (4), 95 % intervals."
    return [Section("Figure", (Figure("best_of_n", caption, success_bars(measured, by_model=True)),), level=3)]


EXPERIMENT = Experiment(
    name="best_of_n",
    module="experiments.studies.tape.best_of_n",
    title="Best-of-N with as many samples",
    source="table 4",
    about="At every step Best-of-4 ReAct and Plan-and-Act sample 4 actions, let the model predict and score where they "
    "lead, and take the best. Best-of-4 plans samples 4 plans, rolls them out, scores them, and carries out the best "
    "that fits, under the constraint and with replanning: it is the paper's algorithm without merging plans into a "
    "graph, so that what TAPE is above it is what merging brings. TAPE samples 4 plans. The tokens are in the table.",
    models=("bundled:nano-1500",),
    configurations=partial(grid, METHODS, (EASY, HARD)),
    sections=sections,
    pairs=both_against_all,
    paper=(
        PaperValue("TAPE (M = 4)", "46.0 % (standard error 5.0)", EASY, PAPER.label),
        PaperValue("Plan-and-Act", "20.0 % (4.0)", EASY, PLAN_AND_ACT.label),
        PaperValue("Plan-and-Act (M = 4)", "22.0 % (4.1)", EASY, BEST_PLAN_AND_ACT.label),
        PaperValue("ReAct", "4.0 % (2.0)", EASY, REACT.label),
        PaperValue("ReAct (M = 4)", "8.0 % (2.7)", EASY, BEST_REACT.label),
    ),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "Best-of-N here scores the outcome that the model itself predicts, and ties go to the action sampled more "
        "often. The paper does not say how its best outcome is chosen, and has no Best-of-N over plans.",
    ),
    batch=BATCH,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
