"""Figure 5a: the step budget on easy levels. ``python -m experiments.studies.tape.slack``."""

from __future__ import annotations

import sys

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, PLAN_AND_ACT, REACT, TAPE
from experiments.harness.standard import both_against_all, role
from experiments.studies.tape.levels import BATCH, EASY, OTHER_LEVELS, on_levels
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section
from tape.show.plots import Panel, Plot, Series

SHORTEST = 6
"""T* of every easy level."""

TRAINED = 3
"""Steps beyond those needed that every kind of prompt had in training (``experiments/training/sokoban/data.py``); some
kinds had more. The slack of an episode never grows, so a budget of T* and this much is never left."""

BUDGETS = tuple(SHORTEST + slack for slack in range(TRAINED + 1))
"""6 to 9; the paper's are 8 to 22."""


def setting(budget: int) -> str:
    return f"{EASY}, B = {budget}"


def configurations(options: Options) -> list[Configuration]:
    return [
        on_levels(method, model, options, levels=EASY, slack=budget - SHORTEST, setting=setting(budget))
        for model in options.models
        for budget in BUDGETS
        for method in (REACT, PLAN_AND_ACT, PAPER, TAPE)
    ]


def sections(measured: Measured) -> list[Section]:
    panels = tuple(
        Panel(
            f"{model}, easy levels (T* = {SHORTEST})",
            tuple(
                Series(
                    method,
                    tuple(measured.success(setting(budget), model, method) for budget in BUDGETS),
                    role(method),
                    tuple(float(budget) for budget in BUDGETS),
                )
                for method in measured.methods()
            ),
        )
        for model in measured.models()
    )
    plot = Plot("lines", panels, "success rate", f"budget B (T* = {SHORTEST})")
    ratios = ", ".join(f"{budget / SHORTEST:.1f}" for budget in BUDGETS)
    caption = (
        f"Success by the step budget (B / T* = {ratios}), 95 % intervals. The budget stands in every prompt; these are "
        "the budgets that the models have seen in training."
    )
    return [Section("Figure", (Figure("slack", caption, plot),), level=3)]


EXPERIMENT = Experiment(
    name="slack",
    module="experiments.studies.tape.slack",
    title="The step budget",
    source="figure 5a",
    about=f"Easy levels (T* = {SHORTEST}) with budgets of {', '.join(map(str, BUDGETS))} moves.",
    models=("bundled:nano-750", "bundled:nano-1500"),
    configurations=configurations,
    sections=sections,
    pairs=both_against_all,
    batch=BATCH,
    paper=(
        PaperValue("TAPE, B = 8", "46 %", setting(8), PAPER.label),
        PaperValue("TAPE, B = 22", "75 %"),
        PaperValue("ReAct and Plan-and-Act", "about level in B"),
    ),
    differs=(
        OTHER_LM,
        "The two weakest bundled models are used: the stronger ones leave little to gain on easy levels.",
        OTHER_LEVELS,
        "Every prompt for a plan or an action says how many steps are left, and in training that was never more than 3 "
        "(an action with a plan at hand), 4 (an action) or 8 (a plan) beyond those needed. So the budgets here are T* "
        "to T* + 3, where the paper's go up to 22: beyond, it would be measured how the models take numbers that they "
        "have never seen, and not what a larger budget is worth.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
