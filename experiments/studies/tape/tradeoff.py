"""Figure 5b: success against the share of the step budget used: ``python -m experiments.studies.tape.tradeoff``."""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import EVERYTHING, PAPER
from experiments.harness.standard import SIMULATED, both_against_all, mean, role, share
from experiments.studies.tape.levels import BATCH, HARD, OTHER_LEVELS, grid
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series


def sections(measured: Measured) -> list[Section]:
    panels, rows = [], []
    for model in measured.models():
        series = []
        for _, own, method, name in measured.played():
            if own == model:
                used, success = mean(measured.records[name], _used), measured.success(HARD, model, method)
                assert used is not None
                series.append(Series(method, (success,), role(method), (used.at,)))
                rows.append((f"`{model}`", method, share(success), share(used)))
        panels.append(Panel(f"{model}, hard levels", tuple(series)))
    plot = Plot("points", tuple(panels), "success rate", "mean steps used / budget")
    caption = f"Success against the mean share of the step budget used; top left is best. {SIMULATED}"
    note = "The share is over all episodes, solved or not: an episode that gives up early uses few steps."
    table = Table(("model", "method", "success", "steps used / budget"), tuple(rows), note)
    return [Section("Figure", (Figure("tradeoff", caption, plot), table), level=3)]


def _used(record: Record) -> float:
    return float(record["result"]["steps"] / record["result"]["budget"]["steps"])


EXPERIMENT = Experiment(
    name="tradeoff",
    module="experiments.studies.tape.tradeoff",
    title="Success against steps used",
    source="figure 5b",
    about="The hard half of the first experiment seen from another side: the same episodes, shared by key.",
    models=("bundled:nano",),
    configurations=partial(grid, EVERYTHING, (HARD,)),
    sections=sections,
    pairs=both_against_all,
    batch=BATCH,
    paper=(
        PaperValue(
            "TAPE against ReAct and Plan-and-Act", "higher success, smaller share of the budget", HARD, PAPER.label
        ),
    ),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "With a slack of 2 a solved hard level uses between 10/12 and 12/12 of its budget, so the share mostly tells "
        "how many episodes ended unsolved, and how early.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
