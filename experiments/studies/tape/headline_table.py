"""The headline table of docs/results.md, from the committed episodes of ``experiments.studies.tape.headline``."""

from __future__ import annotations

from pathlib import Path

from experiments.harness import episodes, published
from experiments.harness.measured import Measured
from experiments.harness.methods import BASELINES, BEST_PLAN_AND_ACT, PAPER, SIMULATOR, TAPE, TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.harness.standard import SIMULATED, share, signed
from tape.show.document import table

FILE = RESULTS / "headline" / episodes.FILE


def headline_text(file: Path = FILE) -> str:
    """The table and its note; all baselines are shown.

    Args:
        file: What ``experiments.studies.tape.headline --publish`` wrote.
    """
    experiment, measured = published.of(file)
    [setting] = measured.settings()
    models = measured.models()
    methods = (PAPER, TAPE, *BASELINES, SIMULATOR)
    rows = [
        (method.label, *(share(measured.success(setting, model, method.label)) for model in models))
        for method in methods
    ]
    for ours in (PAPER.label, TAPE.label):
        rows.append((f"{ours} minus the best baseline", *(_best(measured, setting, model, ours) for model in models)))
    between = [_difference(measured, setting, model, TAPE.label, PAPER.label) for model in models]
    rows.append((f"{TAPE.label} minus {PAPER.label}", *between))
    for method in (PAPER, TAPE, BEST_PLAN_AND_ACT):
        spent = [_per_solved(measured, setting, model, method.label) for model in models]
        rows.append((f"LM tokens per solved episode: {method.label}", *spent))
    spec = next(iter(measured.specs.values()))
    levels = max(group["levels"] for group in measured.groups.values())
    seeds = "" if spec.repeats == 1 else f" x {spec.repeats} seeds"
    note = (
        f"{TAPE_PLUS} Success on {levels} fresh hard levels (`{setting}`; at most the shortest solution plus "
        f"2 moves){seeds}, with 95 % intervals over levels; M = {spec.config.num_plans}, temperature "
        f"{spec.config.temperature}. "
        "The same levels, model, budget and seeds for all; differences are paired. "
        f"{SIMULATED} "
        f"Episodes over budget: {sum(group['budget_violations'] for group in measured.groups.values())}. "
        f"Made by `{experiment.command}`."
    )
    if measured.missing():
        note += " **Incomplete.**"
    return "\n".join([table(("", *(f"`{model}`" for model in models)), rows), "", note, ""])


def _per_solved(measured: Measured, setting: str, model: str, method: str) -> str:
    group = measured.group(setting, model, method)
    return f"{group['lm_tokens'] / group['successes']:.0f}" if group and group["successes"] else "-"


def _best(measured: Measured, setting: str, model: str, ours: str) -> str:
    """One of ours minus the baseline with the highest success."""
    rates = {one.label: value.at for one in BASELINES if (value := measured.success(setting, model, one.label))}
    if not rates:
        return "-"
    best = max(rates, key=lambda label: rates[label])
    found = _difference(measured, setting, model, ours, best)
    return found if found == "-" else f"{found} {best}"


def _difference(measured: Measured, setting: str, model: str, ours: str, other: str) -> str:
    pair = measured.difference(setting, model, ours, other)
    return "-" if pair is None else signed(pair)
