"""Table 2: TAPE without its parts, and with and without each addition of this engine.

``python -m experiments.studies.tape.ablation`` plays it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

from experiments.harness.cli import main
from experiments.harness.experiment import OTHER_LM, Experiment, PaperValue
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    BEST_PLAN_SELECTS,
    BEST_PLANS,
    LM_SELECTOR,
    LM_SELECTS,
    PAPER,
    TAPE,
    Method,
    added_in,
    left_out,
    merged,
)
from experiments.harness.standard import PAIRED, Pair, share, signed, success_bars, verdict
from experiments.studies.tape.levels import ADDITIONS, BATCH, HARD, OTHER_LEVELS, grid
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table

PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("solver", LM_SELECTOR),
    ("constrained execution", {"execution": "free"}),
    ("replanning", {"ablations": {"replan": False}}),
)
"""The paper's parts, and how each is taken away."""

WHOLES = (PAPER, TAPE)


def combination(kept: tuple[bool, ...], whole: Method = TAPE) -> Method:
    """The paper's algorithm or TAPE+ with some of the paper's parts."""
    gone = [(name, without) for keep, (name, without) in zip(kept, PARTS, strict=True) if not keep]
    if not gone:
        return whole
    if whole is TAPE and gone == [PARTS[0]]:
        return LM_SELECTS
    changes = dict(whole.changes)
    for _, without in gone:
        changes = merged(changes, without)
    return Method(f"{whole.label} without {', '.join(name for name, _ in gone)}", whole.agent, changes)


COMBINATIONS = tuple(sorted(product((True, False), repeat=3), key=lambda kept: (kept.count(False), kept)))
"""Which parts are kept: all, one away, two away, none."""

BEST_PLAN = Method(f"{TAPE.label}, the best single plan", "tape", BEST_PLAN_SELECTS)
ALONE = {PAPER.label: BEST_PLANS, TAPE.label: BEST_PLAN}
"""Nothing is recombined: the best single plan of the same graph is followed."""


def configurations(options: Options) -> list[Configuration]:
    methods = [combination(kept, whole) for whole in WHOLES for kept in COMBINATIONS]
    return grid([*methods, *ALONE.values(), *added_in(ADDITIONS), *left_out(ADDITIONS)], (HARD,), options)


def contributions() -> list[tuple[str, list[tuple[Method, Method]]]]:
    """What is isolated, and for the paper's algorithm and TAPE+ the two methods that differ in that alone."""
    without = [[combination(tuple(at != gone for at in range(3)), whole) for whole in WHOLES] for gone in range(3)]
    lm, free, once = without
    single = [ALONE[whole.label] for whole in WHOLES]
    return [
        ("the solver selects, not the LM", [*zip(WHOLES, lm, strict=True)]),
        ("the solver on the merged graph, not the best single plan", [*zip(WHOLES, single, strict=True)]),
        ("the best single plan by scores, not the LM's choice", [*zip(single, lm, strict=True)]),
        ("the planned action is enforced, not shown", [*zip(WHOLES, free, strict=True)]),
        ("replanning", [*zip(WHOLES, once, strict=True)]),
    ]


def additions() -> list[tuple[str, list[tuple[Method, Method]]]]:
    """For each addition: the paper's algorithm with it and without, TAPE+ with it and without; last all together."""
    rows = [
        (label, [(alone, PAPER), (TAPE, without)])
        for (label, _), alone, without in zip(ADDITIONS, added_in(ADDITIONS), left_out(ADDITIONS), strict=True)
    ]
    return [*rows, ("all of these", [(TAPE, PAPER), (TAPE, PAPER)])]


def _differences(
    measured: Measured, first: str, rows: Sequence[tuple[str, list[tuple[Method, Method]]]], heads: tuple[str, str]
) -> Table:
    """A row per thing that is isolated; per model and base the paired difference that it makes, and what that shows."""
    found = []
    for label, pairs in rows:
        columns = [label]
        for model in measured.models():
            for with_it, without in pairs:
                pair = measured.difference(HARD, model, with_it.label, without.label)
                columns.append("-" if pair is None else f"{signed(pair)}, {verdict(pair)}")
        found.append(tuple(columns))
    head = (first, *(f"{base}, `{model}`" for model in measured.models() for base in heads))
    return Table(head, tuple(found), f"Differences in success, paired by level. {PAIRED}")


SAME_GRAPH = (
    "Without the solver the LM selects, as said above, from the same graph (`experiments/ablations/offered.py`); "
    "here it is told the steps left. The best single plan is chosen on that graph too, by scores among the plans "
    "that fit: each plan by itself, with what was sampled from further on along it, and none recombined. So the "
    "solver against the LM shows what selecting by scores brings at all, and the solver against the best single "
    "plan what only a solver can do. On Sokoban every sampled plan fits the steps left, so that is to join plans, "
    "not to keep the budget."
)
EXACT = (
    "Without constrained execution the same prompt, with the rest of the path in it, is answered freely, and nothing "
    "else differs. Without replanning the path is followed to its end whatever is observed, and there the episode "
    "ends: no new plan is made after a mismatch nor after the path."
)


def sections(measured: Measured) -> list[Section]:
    models = measured.models()
    bases = [(model, whole) for model in models for whole in WHOLES]
    rows = [
        (
            *("on" if keep else "-" for keep in kept),
            *(share(measured.success(HARD, model, combination(kept, whole).label)) for model, whole in bases),
        )
        for kept in COMBINATIONS
    ]
    single = (share(measured.success(HARD, model, ALONE[whole.label].label)) for model, whole in bases)
    rows.append(("best single plan", "on", "on", *single))
    head = (*(name for name, _ in PARTS), *(f"{whole.label}, `{model}`" for model, whole in bases))
    parts = _differences(measured, "what is isolated", contributions(), (PAPER.label, TAPE.label))
    added = _differences(measured, "addition", additions(), (f"added to {PAPER.label}", f"part of {TAPE.label}"))
    caption = "Success with and without the parts of TAPE, 95 % intervals."
    drawn = [*(combination(kept, whole).label for whole in WHOLES for kept in COMBINATIONS)]
    figure = Figure("ablation", caption, success_bars(measured, by_model=True, methods=drawn))
    return [
        Section(
            "Table 2 with the bundled models", (Table(head, tuple(rows), "Success."), SAME_GRAPH, EXACT, figure), 3
        ),
        Section("What each part contributes, isolated", (parts,), level=3),
        Section("What each addition contributes", (added,), level=3),
    ]


def pairs(measured: Measured) -> list[Pair]:
    """Every pair of the two tables of contributions."""
    both = [pair for _, found in [*contributions(), *additions()] for pair in found]
    return list(
        dict.fromkeys((HARD, model, one.label, other.label) for model in measured.models() for one, other in both)
    )


EXPERIMENT = Experiment(
    name="ablation",
    module="experiments.studies.tape.ablation",
    title="TAPE without its parts",
    source="table 2 (easy levels there, hard levels here)",
    about="The eight on/off combinations of solver, constrained execution and replanning, for the paper's algorithm "
    "and for TAPE+; the best single plan in the place of the solver; and each addition of TAPE+ left out of it and "
    "added to the paper's algorithm.",
    models=("bundled:nano-1500", "bundled:nano"),
    configurations=configurations,
    sections=sections,
    pairs=pairs,
    paper=(
        PaperValue("all three on", "46.0 % (standard error 5.0)", HARD, PAPER.label),
        PaperValue("no solver", "42.0 % (4.9)", HARD, combination((False, True, True), PAPER).label),
        PaperValue("no constrained execution", "36.0 % (4.8)", HARD, combination((True, False, True), PAPER).label),
        PaperValue("no replanning", "38.0 % (4.8)", HARD, combination((True, True, False), PAPER).label),
        PaperValue("two of the three off, the three ways in the paper's order", "30.0 %, 19.0 %, 37.0 %"),
        PaperValue("none of the three", "11.0 % (3.1)", HARD, combination((False, False, False), PAPER).label),
    ),
    differs=(
        OTHER_LM,
        OTHER_LEVELS,
        "The bundled models were trained on prompts with a plan in them, whose next step they write more often than a "
        "general model would; the chapter on errors counts how often they do not.",
        "The paper does not say what its LM is shown when it selects, nor what its agent without replanning does once "
        "its path has ended with steps left.",
    ),
    batch=BATCH,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
