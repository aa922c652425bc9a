"""Figure 4b: the number of sampled plans M. ``python -m experiments.studies.tape.num_plans``."""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, TAPE, Method
from experiments.harness.standard import Pair
from experiments.studies.tape.levels import BATCH, HARD, OTHER_LEVELS, grid
from tape.show.document import Figure, Section
from tape.show.plots import Panel, Plot, Series

COUNTS = (1, 2, 4, 8)


def tape(count: int) -> Method:
    return TAPE.on({"num_plans": count}, f"{TAPE.label}, M = {count}")


def paper(count: int) -> Method:
    return PAPER.on({"num_plans": count}, f"{PAPER.label}, M = {count}")


def best_of(count: int) -> Method:
    return Method(f"Best-of-{count} Plan-and-Act", "best_of_n_plan_and_act", {"num_plans": count})


def sections(measured: Measured) -> list[Section]:
    panels = tuple(
        Panel(
            f"{model}, hard levels",
            tuple(
                Series(
                    label,
                    tuple(measured.success(HARD, model, make(count).label) for count in COUNTS),
                    "strong" if make is tape else "plain",
                    tuple(float(count) for count in COUNTS),
                )
                for label, make in (
                    ("Best-of-M Plan-and-Act", best_of),
                    (PAPER.label, paper),
                    (TAPE.label, tape),
                )
            ),
        )
        for model in measured.models()
    )
    plot = Plot("lines", panels, "success rate", "M, plans (or actions) sampled at a time")
    caption = "Success on the hard levels by the number of samples, 95 % intervals."
    return [Section("Figure", (Figure("num_plans", caption, plot),), level=3)]


def pairs(measured: Measured) -> list[Pair]:
    found = []
    for model in measured.models():
        for ours in (paper, tape):
            found += [(HARD, model, ours(4).label, ours(count).label) for count in COUNTS if count != 4]
            found += [(HARD, model, ours(count).label, best_of(count).label) for count in COUNTS]
        found += [(HARD, model, tape(count).label, paper(count).label) for count in COUNTS]
    return found


EXPERIMENT = Experiment(
    name="num_plans",
    module="experiments.studies.tape.num_plans",
    title="The number of sampled plans",
    source="figure 4b",
    about="TAPE with M sampled plans, beside Best-of-N Plan-and-Act with N = M samples at every step.",
    models=("bundled:nano-1500",),
    configurations=partial(grid, [make(count) for make in (paper, tape, best_of) for count in COUNTS], (HARD,)),
    sections=sections,
    pairs=pairs,
    batch=BATCH,
    paper=(PaperValue("best M of 1, 2, 4, 8", "4, with a decline at 8"),),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "The paper lets the LM merge the plans into a graph and explains the decline at M = 8 by its slips; here "
        "plans are folded by the exact key of a state, so more plans cannot make the graph less consistent. They can "
        "still add wrongly predicted shortcuts.",
        "Samples of a small model at temperature 0.3 are often the same, so doubling M does not double the number of "
        "distinct plans.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
