"""The settings of active epistemic control (AEC)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from tape.aec.calibration import IsotonicCalibration
from tape.aec.overrides import Overrides
from tape.engine.settings import MOST, MethodSettings
from tape.errors import ConfigError
from tape.reading import read_text


class AecSettings(MethodSettings):
    """How paths are verified before they are committed to.

    Attributes:
        hypotheses: |H|, how many of the best paths are considered at a time.
        gate: What is unknown is queried where its prediction is ambiguous or uncertain (``thresholds``), always
            (``query_all``), only before a commitment (``simulate_all``, ablation: no gating), or as it pays best
            together with the choice of the path (``joint``, beyond the paper).
        commit: ``grounded``: only what the verifier accepts; ``belief``: the best path that beliefs leave, with no
            verifier (ablation).
        margin: A prediction mu is ambiguous where it is less than this away from 1/2 (AEC eq. 4).
        uncertainty: tau, the most uncertainty with which a prediction is believed.
        query_budget: Most queries of an episode; None lets its budgets decide.
        sigma: Where the uncertainty of a prediction comes from: ``votes``: the standard error of the model's samples;
            ``wordings``: by how much the model's own probabilities differ between wordings of the same question, which
            makes their mean the prediction (beyond the paper).
        ensemble: Samples of the model for one prediction, or wordings of its question.
        calibration: Of predictions (:class:`tape.aec.calibration.IsotonicCalibration`): JSON, or a file of it; empty:
            none.
        learned_rules: That override predictions (:class:`tape.aec.overrides.Overrides`): JSON, or a file of it; empty:
            none. Of these two the content is kept, not the name of a file.
        bridges: Where an action that establishes a precondition is declared and cheaper than asking, it is inserted
            before the step that needs it, in a further hypothesis (SQ-BCP); the verifier decides as ever.
    """

    hypotheses: int = Field(default=4, ge=1, le=4096)
    gate: Literal["thresholds", "query_all", "simulate_all", "joint"] = "thresholds"
    commit: Literal["grounded", "belief"] = "grounded"
    margin: float = Field(default=0.4, ge=0, le=0.5)
    uncertainty: float = Field(default=0.2, ge=0, le=1000)
    sigma: Literal["votes", "wordings"] = "votes"
    query_budget: int | None = Field(default=None, ge=0, le=MOST)
    ensemble: int = Field(default=8, ge=1, le=4096)
    calibration: str = ""
    learned_rules: str = ""
    bridges: bool = False

    @field_validator("calibration")
    @classmethod
    def _calibration_is_readable(cls, given: str) -> str:
        text = _content(given)
        return IsotonicCalibration.from_json(text, _where(given, "calibration")).to_json() if text else ""

    @field_validator("learned_rules")
    @classmethod
    def _rules_are_readable(cls, given: str) -> str:
        text = _content(given)
        return Overrides.from_json(text, _where(given, "rules")).to_json() if text else ""


def _where(given: str, what: str) -> str:
    """Where the JSON stands, for messages: in a file, or in the setting itself."""
    return what if given.lstrip().startswith("{") else given


def _content(given: str) -> str:
    """JSON as it is, of a file's name what the file holds.

    Raises:
        ConfigError: It is neither, or the file cannot be read.
    """
    if not given.strip() or given.lstrip().startswith("{"):
        return given.strip()
    content = read_text(Path(given), error=lambda said: ConfigError(f"neither JSON nor a file: {said}")).strip()
    if not content:
        raise ConfigError(f"{given} is empty; name another file, or leave the setting out")
    return content
