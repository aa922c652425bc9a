"""Figure 4a: the bundled models, the weakest first, on hard levels: ``python -m experiments.studies.tape.models``."""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, PLAN_AND_ACT, REACT, REPLANNING, TAPE
from experiments.harness.standard import both_against_all, role
from experiments.studies.tape.levels import BATCH, HARD, LADDER, OTHER_LEVELS, grid
from experiments.studies.tape.losses import losses_section
from tape.show.document import Figure, Section
from tape.show.plots import Panel, Plot, Series


def sections(measured: Measured) -> list[Section]:
    models = measured.models()
    series = tuple(
        Series(
            method,
            tuple(measured.success(HARD, model, method) for model in models),
            role(method),
            tuple(float(i) for i in range(len(models))),
        )
        for method in measured.methods()
    )
    plot = Plot("lines", (Panel("hard levels", series),), "success rate", "model, the weakest first", tuple(models))
    caption = "Success on the hard levels by model, 95 % intervals; the order of the models is that of their training."
    return [Section("Figure", (Figure("models", caption, plot),), level=3), *losses_section(measured)]


EXPERIMENT = Experiment(
    name="models",
    module="experiments.studies.tape.models",
    title="Models of rising ability",
    source="figure 4a",
    about="The same five agents with every bundled model: three early checkpoints of the smallest one, then the three "
    "finished ones.",
    models=LADDER,
    configurations=partial(grid, (REACT, PLAN_AND_ACT, REPLANNING, PAPER, TAPE), (HARD,)),
    sections=sections,
    pairs=both_against_all,
    batch=BATCH,
    paper=(
        PaperValue("ReAct, from its weakest to its strongest model", "22.0 % to 66.0 %"),
        PaperValue("TAPE over ReAct with its strongest model (gpt-5-nano), relative", "+48 %"),
    ),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "The paper orders five LMs of different makers by ReAct's success; here checkpoints of one family are ordered "
        "by their size and training, whatever comes out. With the strongest models most agents are near the ceiling on "
        "these levels, which leaves little to gain.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
