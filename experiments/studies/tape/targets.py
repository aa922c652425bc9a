"""The targets of the headline comparison, met or missed, with their numbers. They are hypotheses, not promises."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from experiments.harness.matrix import short
from experiments.harness.measured import Measured
from experiments.harness.methods import (
    BASELINES,
    BEST_PLAN_AND_ACT,
    BEST_REACT,
    PAPER,
    PLAN_AND_ACT,
    REACT,
    SIMULATOR,
    TAPE,
    Method,
)
from experiments.harness.standard import signed
from experiments.studies.tape.levels import LADDER

MARGIN, CLOSE = 0.15, 0.05
WEAKER = tuple(short(model) for model in (*LADDER[:2], *LADDER[3:5]))
"""The weaker models of the second target: the two weakest of all, and the two smaller ones of the finished three."""


@dataclass(frozen=True)
class Verdict:
    """One target with one model on one level set.

    Attributes:
        target: What is asked.
        setting: The level set.
        model: The model.
        met: Whether it is met; None if it is not asked of this model, or was not measured.
        found: The numbers.
    """

    target: str
    setting: str
    model: str
    met: bool | None
    found: str

    def as_data(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


def verdicts(measured: Measured) -> list[Verdict]:
    """All targets for every level set and model, in their order."""
    found = []
    for setting in measured.settings():
        for model in measured.models():
            found += [_above_all(measured, setting, model, method) for method in (TAPE, PAPER)]
            found += [judge(measured, setting, model) for judge in (_margin, _close_to_simulator, _tokens)]
    return found


def _above_all(measured: Measured, setting: str, model: str, ours: Method) -> Verdict:
    target = f"{ours.label} above every baseline (paired interval above 0, sign test)"
    pairs = {b.label: measured.difference(setting, model, ours.label, b.label) for b in BASELINES}
    known = {label: pair for label, pair in pairs.items() if pair is not None}
    if len(known) < len(pairs):
        lacking = ", ".join(label for label in pairs if label not in known)
        return Verdict(target, setting, model, None, f"not measured: {lacking}")
    least = min(known, key=lambda label: known[label].low)
    failing = [f"{label} {signed(pair)}" for label, pair in known.items() if not pair.above]
    said = f"not above {'; '.join(failing)}" if failing else f"least above {least}: {signed(known[least])}"
    return Verdict(target, setting, model, not failing, said)


def _margin(measured: Measured, setting: str, model: str) -> Verdict:
    target = (
        f"{TAPE.label} at least {100 * MARGIN:.0f} points above the best of ReAct, Plan-and-Act and their Best-of-N"
    )
    if model not in WEAKER:
        return Verdict(target, setting, model, None, "not asked of this model")
    rates = {}
    for method in (REACT, PLAN_AND_ACT, BEST_REACT, BEST_PLAN_AND_ACT):
        value = measured.success(setting, model, method.label)
        if value is None:
            return Verdict(target, setting, model, None, f"not measured: {method.label}")
        rates[method.label] = value.at
    best = max(rates, key=lambda label: rates[label])
    pair = measured.difference(setting, model, TAPE.label, best)
    if pair is None:
        return Verdict(target, setting, model, None, f"not measured: {TAPE.label}")
    return Verdict(target, setting, model, pair.difference >= MARGIN, f"above {best} by {signed(pair)}")


def _close_to_simulator(measured: Measured, setting: str, model: str) -> Verdict:
    target = f"{TAPE.label} within {100 * CLOSE:.0f} points of the same with simulator transitions"
    pair = measured.difference(setting, model, SIMULATOR.label, TAPE.label)
    if pair is None:
        return Verdict(target, setting, model, None, "not measured")
    return Verdict(target, setting, model, pair.difference <= CLOSE, f"the simulator adds {signed(pair)}")


def _tokens(measured: Measured, setting: str, model: str) -> Verdict:
    target = f"{TAPE.label} with no more LM tokens per solved episode than {BEST_PLAN_AND_ACT.label}"
    ours = measured.group(setting, model, TAPE.label)
    theirs = measured.group(setting, model, BEST_PLAN_AND_ACT.label)
    if ours is None or theirs is None:
        return Verdict(target, setting, model, None, "not measured")
    costs = [g["lm_tokens"] / g["successes"] if g["successes"] else None for g in (ours, theirs)]
    said = " against ".join("none solved" if cost is None else f"{cost:.0f}" for cost in costs)
    if costs[0] is None:
        return Verdict(target, setting, model, False, said)
    return Verdict(target, setting, model, costs[1] is None or costs[0] <= costs[1], said)
