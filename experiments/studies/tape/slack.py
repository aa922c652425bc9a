"""Figure 5a: larger step budgets on the easy levels. ``python -m experiments.studies.tape.slack``."""

from __future__ import annotations

import sys

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from experiments.harness.methods import PLAN_AND_ACT, REACT, TAPE
from experiments.harness.standard import against, role
from experiments.studies.tape.levels import on_levels
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section
from tape.show.plots import Panel, Plot, Series

SHORTEST = 6
"""T* of every easy level."""

BUDGETS = (8, 10, 14, 22)


def setting(budget: int) -> str:
    return f"easy, B = {budget}"


def configurations(options: Options) -> list[Configuration]:
    return [
        on_levels(method, model, options, levels="easy", slack=budget - SHORTEST, setting=setting(budget))
        for model in options.models
        for budget in BUDGETS
        for method in (REACT, PLAN_AND_ACT, TAPE)
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
    caption = f"Success by the step budget (B / T* = {ratios}), 95 % intervals."
    return [Section("Figure", (Figure("slack", caption, plot),), level=3)]


EXPERIMENT = Experiment(
    name="slack",
    module="experiments.studies.tape.slack",
    title="Larger step budgets",
    source="figure 5a",
    about=f"Easy levels (T* = {SHORTEST}) with budgets of {', '.join(map(str, BUDGETS))} moves.",
    models=("bundled:nano-750", "bundled:nano-1500"),
    configurations=configurations,
    sections=sections,
    pairs=against(TAPE.label),
    paper=(
        PaperValue("TAPE, B = 8", "46 %", setting(8), TAPE.label),
        PaperValue("TAPE, B = 22", "75 %", setting(22), TAPE.label),
        PaperValue("ReAct and Plan-and-Act", "about level in B"),
    ),
    differs=(
        OTHER_LM,
        "The two weakest bundled models are used: the stronger ones leave little to gain on easy levels.",
        "Every prompt for a plan or an action says how many steps are left, and the bundled models were trained with "
        "at most 8 (plans) or 4 (actions) more than are needed. B = 22 is far outside that, and all methods get worse "
        "there, where the paper's TAPE goes on rising; what the engine gains by replanning does not make up for it.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
