"""What the experiments on active epistemic control compare."""

from __future__ import annotations

from experiments.harness.methods import GUARD, OPEN_LOOP, REACT, REPLANNING, Method
from experiments.studies.aec.refinement import Refined

CAP = int(GUARD["max_replans"])
"""Replanning rounds that a failed episode is counted with."""


def _tape(label: str, **changes: object) -> Method:
    return Method(label, "tape", changes).on(GUARD)


_BLIND = {"gate": "simulate_all", "commit": "belief"}

DIRECT = OPEN_LOOP.on(GUARD, "direct (open-loop plan)")
TAPE = _tape("TAPE (no verifier)")
BELIEF = _tape("belief only (no verifier)", aec=_BLIND)
QUERY_ALL = _tape("query all", aec={"gate": "query_all"})
NO_GATING = _tape("AEC, no gating", aec={"gate": "simulate_all"})
AEC = _tape("AEC", aec=True)
JOINT = _tape("AEC-joint", aec={"gate": "joint"})
# More plans, since no model samples them and the world model refuses some; none from inside the graph, which is slow.
SEARCH = _tape("AEC, two-frontier proposer", proposer="two_frontier", num_plans=12, extend=0, aec=True)

BASELINES = (DIRECT, REACT.on(GUARD), REPLANNING.on(GUARD), TAPE, BELIEF)
VERIFIED = (QUERY_ALL, NO_GATING, AEC, JOINT)

RULES_LABEL = "belief only, learned rules"
CALIBRATED_LABEL = "AEC, calibrated"


def with_rules(rules: str) -> Method:
    """Belief-only with rules learned from failures (the WALL-E-like case)."""
    return _tape(RULES_LABEL, aec={**_BLIND, "learned_rules": rules})


def calibrated(calibration: str) -> Method:
    """AEC with calibrated predictions."""
    return _tape(CALIBRATED_LABEL, aec={"calibration": calibration})


def methods(refined: Refined | None, *, search: bool = False) -> tuple[Method, ...]:
    """All methods; those that need what was learned only where it is there, the search from both ends if asked for."""
    if search:
        return (*methods(refined), SEARCH)
    if refined is None:
        return (*BASELINES, *VERIFIED)
    learned, fitted = with_rules(refined.rules.to_json()), calibrated(refined.calibration.to_json())
    at = VERIFIED.index(AEC) + 1
    return (*BASELINES, learned, *VERIFIED[:at], fitted, *VERIFIED[at:])
