"""Table 2: TAPE without its parts, and without each switch of this engine.

``python -m experiments.studies.tape.ablation`` plays it.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE, Method
from experiments.harness.standard import against, share, success_bars
from experiments.studies.tape.levels import grid
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table

PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("solver", {"selector": "lm"}),
    ("constrained execution", {"execution": "free"}),
    ("replanning", {"replan": False}),
)
"""The paper's parts, and how each is taken away."""

ENGINE_SWITCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("plans from inside the graph", {"extend": 0}),
    ("second thoughts on invalid moves", {"doubt": 0.0}),
    ("caution", {"cautious": False}),
    ("mean scores of open ends", {"score": "argmax"}),
    ("probes", {"probe": False}),
    ("all of these", {"extend": 0, "doubt": 0.0, "cautious": False, "score": "argmax", "probe": False}),
)
"""What this engine adds to the paper's algorithm, and how each addition is taken away: (label, changed fields)."""


def combination(kept: tuple[bool, ...]) -> Method:
    """TAPE with some of its parts."""
    changes: dict[str, Any] = {}
    for keep, (_, without) in zip(kept, PARTS, strict=True):
        changes |= {} if keep else without
    gone = [name for keep, (name, _) in zip(kept, PARTS, strict=True) if not keep]
    return Method(f"without {', '.join(gone)}", "tape", changes) if gone else TAPE


COMBINATIONS = tuple(
    (kept, combination(kept))
    for kept in sorted(product((True, False), repeat=3), key=lambda kept: (kept.count(False), kept))
)


def switches() -> list[Method]:
    return [Method(f"engine without {label}", "tape", changes) for label, changes in ENGINE_SWITCHES]


def configurations(options: Options) -> list[Configuration]:
    return grid([*(method for _, method in COMBINATIONS), *switches()], ("hard",), options)


def sections(measured: Measured) -> list[Section]:
    models = measured.models()
    rows = [
        (
            *("on" if keep else "-" for keep in kept),
            *(share(measured.success("hard", model, method.label)) for model in models),
        )
        for kept, method in COMBINATIONS
    ]
    head = (*(name for name, _ in PARTS), *(f"`{model}`" for model in models))
    note = (
        "Solver off: the LM picks among the sampled plans. Constrained execution off: the planned step is only a hint. "
    )
    note += "Replanning off: no mismatch check, and the episode ends with the path. Success on the hard levels."
    caption = "Success on the hard levels with and without the parts of TAPE, 95 % intervals."
    figure = Figure("ablation", caption, success_bars(measured, by_model=True))
    return [Section("Table 2 with the bundled models", (Table(head, tuple(rows), note), figure), level=3)]


EXPERIMENT = Experiment(
    name="ablation",
    module="experiments.studies.tape.ablation",
    title="TAPE without its parts",
    source="table 2 (easy levels there, hard levels here)",
    about="The eight on/off combinations of solver, constrained execution and replanning, and the engine without each "
    "of its own switches.",
    models=("bundled:nano-1500", "bundled:nano"),
    configurations=configurations,
    sections=sections,
    pairs=against(TAPE.label),
    paper=(
        PaperValue("all three on", "46.0 % (standard error 5.0)", "hard", TAPE.label),
        PaperValue("no solver", "42.0 % (4.9)", "hard", combination((False, True, True)).label),
        PaperValue("no constrained execution", "36.0 % (4.8)", "hard", combination((True, False, True)).label),
        PaperValue("no replanning", "38.0 % (4.8)", "hard", combination((True, True, False)).label),
        PaperValue("two of the three off, the three ways in the paper's order", "30.0 %, 19.0 %, 37.0 %"),
        PaperValue("none of the three", "11.0 % (3.1)", "hard", combination((False, False, False)).label),
    ),
    differs=(
        OTHER_LM,
        "The bundled models were trained on prompts with a plan in them and tend to do the step that they are shown, "
        "so there are few sampling errors for constrained execution to prevent (the chapter on errors counts them).",
        "Where replanning is off the episode ends with the path, whatever budget is left; the paper's agent goes on "
        "along its path.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
