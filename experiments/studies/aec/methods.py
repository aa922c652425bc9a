"""What the experiments on active epistemic control compare."""

from __future__ import annotations

from collections.abc import Collection

from experiments.harness import methods as harness
from experiments.harness.methods import GUARD, OPEN_LOOP, REACT, REPLANNING, Method

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

NAMES = (
    f"{harness.TAPE_PLUS} Neither verifies; all that do, and those that believe, plan as {harness.TAPE.label} does. "
    f"**{AEC.label}** has the paper's uncertainty, the standard error of the model's votes."
)
"""Stands beside every table of these."""
REMOVED = {
    "AEC, wordings": "took how far the model's probabilities differ between wordings of a question for its uncertainty",
    "AEC-joint": "chose queries and path together",
    "belief only, learned rules": "overrode predictions by rules learned from those that failed in training games",
    "AEC, calibrated": "calibrated predictions on training games",
    "Reflexion, one budget": "is ReAct in trials that share the steps of an episode; after a failure the world is "
    "reset, and what changed nothing, led back or ended the trial is left out",
    "Reflexion, 3 trials of a full budget": "has three times the steps of all other rows",
    "WKM-like": "plans as the paper's algorithm, sets plans aside that disagree with the model's predictions, and "
    "verifies nothing; WKM itself has a fine-tuned knowledge model",
    "WALL-E-like": "is WKM-like with learned rules; WALL-E itself has rules as code that a model writes",
}
"""Methods that are no longer played; published rows name them."""

METHODS = (*BASELINES, *VERIFIED)


def named(played: Collection[str]) -> str:
    """What the rows of these methods are, for the text beside a table."""
    removed = "; ".join(f"**{label}** {what}" for label, what in REMOVED.items() if label in played)
    return f"{NAMES} Measured before, and no longer played (docs/evidence/aec.md): {removed}." if removed else NAMES
