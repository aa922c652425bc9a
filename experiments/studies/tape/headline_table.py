"""The headline table of docs/results.md, from the committed results of ``experiments.studies.tape.headline``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.harness.matrix import split
from experiments.harness.methods import BASELINES, BEST_PLAN_AND_ACT, SIMULATOR, TAPE
from experiments.harness.places import RESULTS
from experiments.harness.register import TEST_SET
from experiments.harness.standard import SIMULATED
from tape.reading import read_json
from tape.show.document import table

HEADLINE_RESULTS = RESULTS / "headline.json"


def headline_text(path: Path = HEADLINE_RESULTS) -> str:
    """The table and its note; empty if the comparison has not been run yet.

    All baselines are shown, and every target that is missed is counted.

    Args:
        path: What ``experiments.studies.tape.headline --publish`` wrote.
    """
    if not path.exists():
        return ""
    record = read_json(path, dict[str, Any])
    groups = {split(group["cell"]): group for group in record["groups"]}
    models = list(dict.fromkeys(model for setting, model, _ in groups if setting == TEST_SET))
    methods = [TAPE.label, *(method.label for method in BASELINES), SIMULATOR.label]
    mine = [{method: groups.get((TEST_SET, model, method)) for method in methods} for model in models]
    rows = [[method, *(_success(found[method]) for found in mine)] for method in methods]
    rows.append([f"{TAPE.label} minus the best baseline", *(_difference(record, model, groups) for model in models)])
    for method in (TAPE.label, BEST_PLAN_AND_ACT.label):
        rows.append([f"LM tokens per solved episode: {method}", *(_per_solved(found[method]) for found in mine)])
    head = ["", *(f"`{model}`" for model in models)]
    levels = max((g["levels"] for (setting, _, _), g in groups.items() if setting == TEST_SET), default=0)
    asked = [target for target in record["targets"] if target["met"] is not None and target["setting"] == TEST_SET]
    note = (
        f"Success on {levels} fresh hard levels (at most the shortest solution plus 2 moves) x {record['seeds']} "
        f"seeds, with 95 % intervals over levels; M = {record['num_plans']}, temperature "
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


def _difference(record: Mapping[str, Any], model: str, groups: Mapping[tuple[str, str, str], Any]) -> str:
    """TAPE minus the baseline with the highest success."""
    known = [method.label for method in BASELINES if (TEST_SET, model, method.label) in groups]
    if not known:
        return "-"
    best = max(known, key=lambda label: groups[TEST_SET, model, label]["success_rate"])
    for one in record["differences"]:
        if (one["setting"], one["model"], one["minus"]) == (TEST_SET, model, best):
            return f"{one['difference']:+.2f} ({one['low']:+.2f} to {one['high']:+.2f}) {best}"
    return "-"
