"""The headline: every agent and bundled model on 200 fresh hard levels, and the effect of each addition of TAPE+.

``python -m experiments.studies.tape.headline`` resumes if run again. The levels are a test set: every run on them is
listed (``--register``). ``experiments.tables`` makes the table in docs/evidence/results.md of the published episodes.
"""

from __future__ import annotations

import sys

from experiments.harness import register
from experiments.harness.cli import main
from experiments.harness.document import Figure, Section, Table
from experiments.harness.experiment import OTHER_LM, Experiment
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    ALL_STEP,
    BASELINES,
    EVERYTHING,
    PAPER,
    SIMULATOR,
    TAPE,
    added_in,
    left_out,
)
from experiments.harness.standard import SIMULATED, Pair, against, share, signed, success_bars
from experiments.studies.tape.levels import ADDITIONS, BATCH, HARD, LADDER, OTHER_LEVELS, TAKEN_APART, grid
from tape.runner.configurations import Configuration

METHODS = tuple(method for method in EVERYTHING if method is not ALL_STEP)
"""What replanning at every step brings, and costs, figure 3 shows with one model."""


def configurations(options: Options) -> list[Configuration]:
    apart = [model for model in options.models if model in TAKEN_APART]
    return [
        *grid(METHODS, (HARD,), options),
        *(
            configuration
            for model in apart
            for configuration in grid((*left_out(ADDITIONS), *added_in(ADDITIONS)), (HARD,), options.only(model))
        ),
    ]


def sections(measured: Measured) -> list[Section]:
    caption = f"Success on hard levels (`{HARD}`) by model, 95 % intervals. {SIMULATED}"
    bars = success_bars(measured, by_model=True, methods=[method.label for method in METHODS])
    parts = [Section("Figure", (Figure("headline", caption, bars),), level=3)]
    parts.append(Section("What each addition is worth", (additions_table(measured),), level=3))
    entries = measured.rows("runs", lambda: register.read(measured.directory.path / register.COPY))
    if entries:
        parts.append(Section("Runs on the test sets", (register.table(entries),), level=3))
    return parts


def additions_table(measured: Measured) -> Table:
    """Each addition taken out of TAPE+ and put into the paper's algorithm, alone."""
    rows = []
    for (label, _), without, having in zip(ADDITIONS, left_out(ADDITIONS), added_in(ADDITIONS), strict=True):
        for model in measured.models():
            out, alone = (measured.success(HARD, model, method.label) for method in (without, having))
            if out is not None or alone is not None:
                lost = _signed(measured, model, TAPE.label, without.label)
                gained = _signed(measured, model, having.label, PAPER.label)
                rows.append((label, f"`{model}`", share(out), lost, share(alone), gained))
    without_it = (f"{TAPE.label} without it", f"{TAPE.label} minus that")
    head = ("addition", "model", *without_it, f"{PAPER.label} with it", f"that minus {PAPER.label}")
    note = (
        "Success, and paired differences with 95 % intervals. Additions overlap, so that what they are worth alone "
        f"does not add up to the difference of {TAPE.label} and {PAPER.label}."
    )
    return Table(head, tuple(rows), note)


def _signed(measured: Measured, model: str, ours: str, other: str) -> str:
    pair = measured.difference(HARD, model, ours, other)
    return "-" if pair is None else signed(pair)


def pairs(measured: Measured) -> list[Pair]:
    """TAPE+ and the paper's algorithm with every baseline, and with each other; each addition with what it changes."""
    apart = {method.label for method in (*left_out(ADDITIONS), *added_in(ADDITIONS))}
    result = against(TAPE.label, but={SIMULATOR.label, *apart})(measured)
    for model in measured.models():
        result += [(HARD, model, PAPER.label, method.label) for method in BASELINES]
        result += [(HARD, model, TAPE.label, method.label) for method in left_out(ADDITIONS)]
        result += [(HARD, model, method.label, PAPER.label) for method in added_in(ADDITIONS)]
    return result


EXPERIMENT = Experiment(
    name="headline",
    module="experiments.studies.tape.headline",
    title="The headline: TAPE beside every baseline, with every bundled model",
    source="its claim as a whole; no single figure",
    about="200 fresh hard levels (T* = 10, at most 12 moves), the same for all. Tokens and calls stand beside every "
    "success rate.",
    models=LADDER,
    configurations=configurations,
    sections=sections,
    pairs=pairs,
    differs=(OTHER_LM, OTHER_LEVELS),
    batch=BATCH,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
