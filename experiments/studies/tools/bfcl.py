"""BFCL's multi-turn conversations: plans that are tried on copies, beside plans that are predicted, and step by step.

``python -m experiments.studies.tools.bfcl --data DIR`` plays it, where DIR has the unpacked wheel of ``bfcl-eval``.
"""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness import tightness
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    BEST_PLAN_SELECTS,
    BEST_REACT,
    PAPER,
    PLAN_AND_ACT,
    REACT,
    REPLANNING,
    TAPE,
    Method,
)
from experiments.harness.standard import against
from experiments.studies.tape.levels import BATCH
from tape.show.document import Section

ENVIRONMENT = "bfcl"
OWN = {"data": None, "kind": "base", "part": "test"}
OTHERS = {"": {}, ", a parameter missing at first": {"kind": "miss_param"}}

COPY = {"world_model": "copy"}
DRY_RUN = Method("TAPE+ (dry run)", "tape", COPY)
METHODS = (
    REACT,
    Method("BATS-like", "experiments.comparators.bats:BatsAgent"),
    PLAN_AND_ACT,
    REPLANNING,
    BEST_REACT,
    Method("INTENT-like", "experiments.comparators.intent:IntentAgent"),
    Method("INTENT-like (dry run)", "experiments.comparators.intent:IntentAgent", COPY),
    Method("VineLM-like", "experiments.comparators.vinelm:VineLmAgent"),
    Method("VineLM-like (dry run)", "experiments.comparators.vinelm:VineLmAgent", COPY),
    PAPER,
    TAPE,
    Method("TAPE (paper) (dry run)", "tape", {**PAPER.changes, **COPY}),
    DRY_RUN,
    Method("TAPE+ (dry run), best single plan", "tape", {**COPY, **BEST_PLAN_SELECTS}),
)


def sections(measured: Measured) -> list[Section]:
    return [tightness.bars(measured, ENVIRONMENT), tightness.spending(measured)]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    module="experiments.studies.tools.bfcl",
    title="Conversations over tools that share a state (BFCL v4, multi-turn)",
    source="none: the paper has no such tasks",
    about=(
        "Conversations of the Berkeley Function-Calling Leaderboard, with prices for calls: the last 100 of `base`, "
        "and all 200 in which the user names a value only later. Success is by the official rules, in the end of all "
        "turns. The planner is **simulated**: it knows the gold calls, and one call in five is struck by an error "
        "(another value, left out, out of order, another function); half of the errors come back, half are drawn for "
        "each sample. As a judge it is wrong one time in ten. The same conversations, caps, seeds and planner for all "
        "agents."
    ),
    models=("simulated:bfcl?errors=0.2&verdicts=0.1",),
    configurations=partial(tightness.configurations, ENVIRONMENT, OWN, others=OTHERS, methods=METHODS),
    sections=sections,
    pairs=against(DRY_RUN.label),
    differs=(
        "No row is the result of a language model. The planner's errors are of the kinds and at the rates that are "
        "stated; what a real model does wrong, and how it words a request, is not in it.",
        "*Dry run*: plans are tried on copies of the APIs before anything is done, so a call that fails is seen "
        "before, and the planner is told before it plans again. Agents that go step by step see it after the call, "
        "and have paid for it.",
        "**BATS-like**: ReAct that reads before each action what is used, what is left, and how sparing to be. The "
        "simulated planner does not read it, so here it is ReAct; the prompts of all agents say what is left anyway. "
        "**INTENT-like**: before each action plans are sampled, and their cost over how likely they succeed has to "
        "fit. **VineLM-like**: sampled plans as a trie, in which only equal beginnings are one; after each action the "
        "rest is chosen anew under what is left. None of the three has its paper's trained or measured parts.",
        "Prices and caps are the project's own: a call that reads costs $0.001, one that writes $0.005.",
    ),
    batch=BATCH,
)

run = partial(tightness.run, EXPERIMENT, ENVIRONMENT, OWN, others=OTHERS, methods=METHODS)
"""The command line: the shared options and the environment's own."""

if __name__ == "__main__":
    sys.exit(run())
