"""What the experiments on active epistemic control compare."""

from __future__ import annotations

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
# On the development games predictions hardly ever differ by more than 0.2 between wordings: tau is one that decides.
WORDINGS = _tape("AEC, wordings", aec={"sigma": "wordings", "uncertainty": 0.03})
JOINT = _tape("AEC-joint", aec={"gate": "joint"})

BASELINES = (DIRECT, REACT.on(GUARD), REPLANNING.on(GUARD), PAPER, TAPE, BELIEF)
VERIFIED = (QUERY_ALL, NO_GATING, AEC, WORDINGS, JOINT)
OFFICIAL = (REACT.on(GUARD), PAPER, TAPE, AEC)
"""What plays all official games that are given."""
BACKBONES = (PAPER, TAPE, BELIEF, QUERY_ALL, AEC)
"""What other backbones are played with."""

NAMES = (
    f"{harness.TAPE_PLUS} Neither verifies; all that do, and those that believe, plan as {harness.TAPE.label} does. "
    f"**{AEC.label}** has the paper's uncertainty, the standard error of the model's votes."
)
"""Stands beside every table of these."""
NAMED_WORDINGS = (
    f"**{WORDINGS.label}** has ours: how far the model's probabilities differ between wordings of a question "
    "(docs/aec.md)."
)
"""Stands beside every table with that row."""

RULES_LABEL = "belief only, learned rules"
CALIBRATED_LABEL = "AEC, calibrated"


def with_rules(rules: str) -> Method:
    """Belief-only with rules learned from failures (the WALL-E-like case)."""
    return _tape(RULES_LABEL, aec={**BLIND, "learned_rules": rules})


def calibrated(calibration: str) -> Method:
    """AEC with calibrated predictions."""
    return _tape(CALIBRATED_LABEL, aec={"calibration": calibration})


def methods(refined: Refined | None, *, wordings: bool = True) -> tuple[Method, ...]:
    """All methods.

    Args:
        refined: What was learned; without it the methods that need it are left out.
        wordings: Whether the environment's prompts can ask the same in other words.
    """
    found = [*BASELINES, *(method for method in VERIFIED if wordings or method is not WORDINGS)]
    if refined is not None:
        found.insert(found.index(QUERY_ALL), with_rules(refined.rules.to_json()))
        found.insert(found.index(AEC) + 1, calibrated(refined.calibration.to_json()))
    return tuple(found)
