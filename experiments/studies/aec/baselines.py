"""Reflexion, WKM and WALL-E as baselines (AEC section 4.3), as far as they can be had without fine-tuning.

All have the model, the sampling and the budgets of the other agents. They are played with ``--baselines``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.harness.matrix import Options, configuration
from experiments.harness.measured import Measured
from experiments.harness.methods import GUARD, PAPER, Method
from experiments.studies.aec.methods import BLIND
from experiments.studies.aec.refinement import Refined
from tape.budget import Budget
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.show.document import Section

TRIALS = 3
REFLEXION = "Reflexion, one budget"
REFLEXION_TRIALS = f"Reflexion, {TRIALS} trials of a full budget"
WKM, WALL_E = "WKM-like", "WALL-E-like"
FIRST_TRIAL = 0.6
"""Of the one budget: Reflexion's 30 of the customary 50 steps of ALFWorld."""

NAMES = (
    f"**{REFLEXION}**: ReAct in trials. A trial ends by itself or after {FIRST_TRIAL:.0%} of the episode's steps; then "
    "the environment is reset, and another trial has the rest of the same budget. "
    f"**{REFLEXION_TRIALS}** has {TRIALS} times the steps of all other rows and a reset after each failure: it is not "
    "the one-episode setting of this table. The steps and tokens of all trials are counted. A general model writes "
    "the reflection; for the bundled and the simulated models it is a *rule-based reflection*, a rule from the trace: "
    "what changed nothing, led back to a state of the trial, or ended it in failure, is left out in that state."
)
BELIEVES = (
    f"**{WKM}**: the model's own knowledge predicts the missing facts of the state, sampled plans that disagree with "
    "it are set aside, and the best one left is followed until an observation contradicts it; nothing is verified. It "
    "is not WKM: it has no fine-tuned knowledge model, no task knowledge from expert trajectories, and retrieves no "
    f"states. **{WALL_E}** is the same with rules learned from predictions that failed in training games; they "
    "override the model's, and it plans again where the world contradicts its prediction. It is not WALL-E: the rules "
    "have one form and are not code that a model writes. Both take their plans by algorithm 1 of TAPE as in the paper."
)


def configurations(
    model: str, options: Options, refined: Refined | None, tasks: Sequence[Task], where: Mapping[str, Any]
) -> list[Configuration]:
    """All baselines on some tasks of an environment; without learned rules there is no WALL-E-like one.

    Args:
        model: The model.
        options: Seeds, and how a model is identified.
        refined: What was learned.
        tasks: The tasks.
        where: The environment, its own options and the name of the setting.
    """
    steps = max(task.budget["steps"] for task in tasks)
    longer = [replace(task, budget=Budget({**task.budget, "steps": TRIALS * steps})) for task in tasks]
    believing = Method(WKM, "tape", PAPER.changes).on({**GUARD, "aec": BLIND})
    played: list[tuple[Method, Sequence[Task]]] = [
        (Method(REFLEXION, "reflexion", {**GUARD, "horizon": int(FIRST_TRIAL * steps)}), tasks),
        (Method(REFLEXION_TRIALS, "reflexion", {**GUARD, "horizon": steps}), longer),
        (believing, tasks),
    ]
    if refined is not None:
        played.append((believing.on({"aec": {"learned_rules": refined.rules.to_json()}}, WALL_E), tasks))
    return [configuration(method, model, options, tasks=chosen, **where) for method, chosen in played]


def sections(measured: Measured) -> list[Section]:
    """What these rows are; nothing where none was played."""
    shown = REFLEXION in measured.methods()
    return [Section("What the further baselines are", (NAMES, BELIEVES), level=3)] if shown else []
