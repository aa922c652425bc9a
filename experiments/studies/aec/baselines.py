"""Reflexion, WKM and WALL-E as baselines (AEC section 4.3), as far as they can be had without fine-tuning.

All have the model, the sampling and the budgets of the other agents. They are played with ``--baselines``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.harness.matrix import Options, configuration
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import GUARD, PAPER, Method
from experiments.harness.standard import mean, share
from experiments.studies.aec.methods import BLIND
from experiments.studies.aec.refinement import Refined
from experiments.studies.aec.tables import digits
from tape.budget import Budget
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.show.document import Section, Table

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


def believers(refined: Refined | None) -> tuple[Method, ...]:
    """The baselines that believe predictions; the second one needs learned rules."""
    wkm = Method(WKM, "tape", {**GUARD, "aec": BLIND}).on(PAPER.changes)
    if refined is None:
        return (wkm,)
    rules = {"aec": {"learned_rules": refined.rules.to_json()}}
    return wkm, replace(Method(WALL_E, "tape", rules).on(wkm.changes), label=WALL_E)


def configurations(
    model: str,
    options: Options,
    refined: Refined | None,
    *,
    environment: str,
    own: Mapping[str, Any],
    setting: str,
    tasks: Sequence[Task],
) -> list[Configuration]:
    """All baselines on some tasks; all trials of a task together have the task's budget, or one budget each."""
    steps = max(task.budget["steps"] for task in tasks)
    longer = [replace(task, budget=Budget({**task.budget, "steps": TRIALS * steps})) for task in tasks]
    shared = Method(REFLEXION, "reflexion", {**GUARD, "horizon": int(FIRST_TRIAL * steps)})
    each = Method(REFLEXION_TRIALS, "reflexion", {**GUARD, "horizon": steps})
    played = [(shared, tasks), (each, longer), *((method, tasks) for method in believers(refined))]
    return [
        configuration(method, model, options, environment=environment, own=own, setting=setting, tasks=chosen)
        for method, chosen in played
    ]


def sections(measured: Measured) -> list[Section]:
    """What these rows are, and what each trial has added; nothing where none was played."""
    if REFLEXION not in measured.methods():
        return []
    head = ("games", "model", "method", "n", "success in trial 1", *(f"by trial {i}" for i in range(2, TRIALS + 1)))
    rows = []
    for setting, model, method, name in measured.played():
        records = measured.records[name]
        if method in (REFLEXION, REFLEXION_TRIALS) and records:
            row = [setting, f"`{model}`", method, str(len(records))]
            row += [share(mean(records, partial(_solved_by, i))) for i in range(1, TRIALS + 1)]
            rows.append((*row, digits(mean(records, lambda one: one["result"]["steps"]))))
    note = "Shares of games with 95 % intervals; steps are of all trials together, means per game."
    return [
        Section("What the further baselines are", (NAMES, BELIEVES), level=3),
        Section("Reflexion by trial", (Table((*head, "steps"), tuple(rows), note),), level=3),
    ]


def _solved_by(trial: int, record: Record) -> float:
    result = record["result"]
    return float(result["success"] and result["measures"]["trials"] <= trial)
