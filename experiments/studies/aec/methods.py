"""What the experiments on active epistemic control compare."""

from __future__ import annotations

from collections.abc import Collection

from experiments.harness import methods as harness
from experiments.harness.methods import GUARD, OPEN_LOOP, REACT, REPLANNING, Method
from experiments.studies.aec.refinement import Refined

CAP = 50
"""Replanning rounds that a failed episode is counted with: the commands of ALFWorld's customary budget."""


def _tape(label: str, **changes: object) -> Method:
    return Method(label, "tape", changes).on(GUARD)


BLIND = {"gate": "simulate_all", "commit": "belief"}

DIRECT = OPEN_LOOP.on(GUARD, "direct (open-loop plan)")
PAPER = harness.PAPER.on(GUARD, f"{harness.PAPER.label} (no verifier)")
TAPE = harness.TAPE.on(GUARD, f"{harness.TAPE.label} (no verifier)")
BELIEF = _tape("belief only (no verifier)", aec=BLIND)
QUERY_ALL = _tape("query all", aec={"gate": "query_all"})
NO_GATING = _tape("AEC, no gating", aec={"gate": "simulate_all"})
AEC = _tape("AEC", aec=True)

BASELINES = (DIRECT, REACT.on(GUARD), REPLANNING.on(GUARD), PAPER, TAPE, BELIEF)
VERIFIED = (QUERY_ALL, NO_GATING, AEC)
OFFICIAL = (REACT.on(GUARD), PAPER, TAPE, AEC)
"""What plays all official games that are given."""
BACKBONES = (PAPER, TAPE, BELIEF, QUERY_ALL, AEC)
"""What other backbones are played with."""

NAMES = (
    f"{harness.TAPE_PLUS} Neither verifies; all that do, and those that believe, plan as {harness.TAPE.label} does. "
    f"**{AEC.label}** has the paper's uncertainty, the standard error of the model's votes."
)
"""Stands beside every table of these."""
REMOVED = {
    "AEC, wordings": "took how far the model's probabilities differ between wordings of a question for its uncertainty",
    "AEC-joint": "chose queries and path together",
}
"""Methods that are no longer played, because no measurement showed that they matter; published rows name them."""

RULES_LABEL = "belief only, learned rules"
CALIBRATED_LABEL = "AEC, calibrated"


def with_rules(rules: str) -> Method:
    """Belief-only with rules learned from failures (the WALL-E-like case)."""
    return _tape(RULES_LABEL, aec={**BLIND, "learned_rules": rules})


def calibrated(calibration: str) -> Method:
    """AEC with calibrated predictions."""
    return _tape(CALIBRATED_LABEL, aec={"calibration": calibration})


def named(played: Collection[str]) -> str:
    """What the rows of these methods are, for the text beside a table."""
    removed = "; ".join(f"**{label}** {what}" for label, what in REMOVED.items() if label in played)
    return f"{NAMES} Measured, and removed since (docs/evidence/aec.md): {removed}." if removed else NAMES


def methods(refined: Refined | None) -> tuple[Method, ...]:
    """All methods; those that need what was learned are left out without it."""
    found = [*BASELINES, *VERIFIED]
    if refined is not None:
        found.insert(found.index(QUERY_ALL), with_rules(refined.rules.to_json()))
        found.insert(found.index(AEC) + 1, calibrated(refined.calibration.to_json()))
    return tuple(found)
