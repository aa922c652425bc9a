"""The engine's own switches on the development levels. ``python -m experiments.studies.tape.development``.

Changes to the engine are tried here, never on the levels of the other experiments.
"""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, REPLANNING, SIMULATOR, TAPE, left_out
from experiments.harness.standard import against, success_bars
from experiments.studies.tape.levels import ADDITIONS, BATCH, TAKEN_APART, grid
from tape.show.document import Figure, Section

LEVELS = "hard-dev"


def sections(measured: Measured) -> list[Section]:
    caption = "Success on the development levels with the engine's switches taken away one by one, 95 % intervals."
    return [Section("Figure", (Figure("development", caption, success_bars(measured, by_model=True)),), level=3)]


EXPERIMENT = Experiment(
    name="development",
    module="experiments.studies.tape.development",
    title="The engine's switches on the development levels",
    source="nothing; these are additions to its algorithm",
    about="100 hard levels that no other experiment uses. Each row takes one addition away.",
    models=TAKEN_APART,
    configurations=partial(grid, (REPLANNING, PAPER, TAPE, *left_out(ADDITIONS), SIMULATOR), (LEVELS,)),
    sections=sections,
    pairs=against(TAPE.label),
    differs=(
        OTHER_LM,
        "The additions were chosen on these very levels, so the differences here flatter them a little; the test "
        "levels are the honest comparison.",
    ),
    batch=BATCH,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
