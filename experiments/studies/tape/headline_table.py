"""The headline table of docs/results.md, from the committed results of ``experiments.studies.tape.headline``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.harness.matrix import split
from experiments.harness.methods import BASELINES, BEST_PLAN_AND_ACT, PAPER, SIMULATOR, TAPE, TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.harness.standard import SIMULATED
from tape.errors import RunDirectoryError
from tape.reading import read_json
from tape.show.document import table

HEADLINE_RESULTS = RESULTS / "headline.json"
STUDY = "experiments.studies.tape.headline"
SCHEMA = 2


def headline_text(path: Path = HEADLINE_RESULTS) -> str:
    """The table and its note; empty if the comparison has not been run yet.

    All baselines are shown, and every target that is missed is counted.

    Args:
        path: What ``experiments.studies.tape.headline --publish`` wrote.

    Raises:
        RunDirectoryError: An earlier version wrote it.
    """
    if not path.exists():
        return ""
    record = read_json(path, dict[str, Any])
    if record["schema"] != SCHEMA:
        raise RunDirectoryError(f"{path} is of an earlier version; play {STUDY} anew with --publish")
    groups = {split(group["cell"])[1:]: group for group in record["groups"]}
    models = list(dict.fromkeys(model for model, _ in groups))
    methods = [PAPER.label, TAPE.label, *(method.label for method in BASELINES), SIMULATOR.label]
    mine = [{method: groups.get((model, method)) for method in methods} for model in models]
    rows = [[method, *(_success(found[method]) for found in mine)] for method in methods]
    for ours in (PAPER.label, TAPE.label):
        rows.append([f"{ours} minus the best baseline", *(_best(record, model, ours, groups) for model in models)])
    between = [_difference(record, model, TAPE.label, PAPER.label) for model in models]
    rows.append([f"{TAPE.label} minus {PAPER.label}", *between])
    for method in (PAPER.label, TAPE.label, BEST_PLAN_AND_ACT.label):
        rows.append([f"LM tokens per solved episode: {method}", *(_per_solved(found[method]) for found in mine)])
    head = ["", *(f"`{model}`" for model in models)]
    levels = max((group["levels"] for group in groups.values()), default=0)
    seeds = "" if record["seeds"] == 1 else f" x {record['seeds']} seeds"
    asked = [target for target in record["targets"] if target["met"] is not None]
    note = (
        f"{TAPE_PLUS} Success on {levels} fresh hard levels (`{record['setting']}`; at most the shortest solution plus "
        f"2 moves){seeds}, with 95 % intervals over levels; M = {record['num_plans']}, temperature "
        f"{record['temperature']}. "
        "The same levels, model, budget and seeds for all; differences are paired. "
        f"{SIMULATED} "
        f"Episodes over budget: {sum(group['budget_violations'] for group in record['groups'])}. "
        f"Targets met: {sum(target['met'] for target in asked)} of {len(asked)}. Made by `{record['made_by']}`."
    )
    if not record["complete"]:
        note += " **Incomplete.**"
    return "\n".join([table(head, rows), "", note, ""])


def _success(group: Mapping[str, Any] | None) -> str:
    if group is None:
        return "-"
    low, high = group["ci95"]
    return f"{group['success_rate']:.2f} ({low:.2f} to {high:.2f})"


def _per_solved(group: Mapping[str, Any] | None) -> str:
    if group is None or not group["successes"]:
        return "-"
    return f"{group['lm_tokens'] / group['successes']:.0f}"


def _best(record: Mapping[str, Any], model: str, ours: str, groups: Mapping[tuple[str, str], Any]) -> str:
    """One of ours minus the baseline with the highest success."""
    known = [method.label for method in BASELINES if (model, method.label) in groups]
    if not known:
        return "-"
    best = max(known, key=lambda label: groups[model, label]["success_rate"])
    found = _difference(record, model, ours, best)
    return found if found == "-" else f"{found} {best}"


def _difference(record: Mapping[str, Any], model: str, ours: str, other: str) -> str:
    for one in record["differences"]:
        if (one["model"], one["method"], one["minus"]) == (model, ours, other):
            return f"{one['difference']:+.2f} ({one['low']:+.2f} to {one['high']:+.2f})"
    return "-"
