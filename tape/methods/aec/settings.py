"""The settings of active epistemic control (AEC)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from tape.engine.ablations import MOST
from tape.errors import ConfigError
from tape.methods.aec.calibration import IsotonicCalibration
from tape.methods.aec.overrides import Overrides
from tape.protocols.method import MethodSettings
from tape.reading import read_text


class AecSettings(MethodSettings):
    """How paths are verified before they are committed to (AEC section 3); ``aec=`` of an agent.

    A configuration takes an object of this class, a mapping of its fields, or True for the defaults. What is out of
    range is a ``ConfigError`` of the agent that gets a mapping, and here a ``ValueError``.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import AecSettings, TapeAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = TapeAgent("bundled:nano", aec=AecSettings(hypotheses=2, query_budget=3)).run(env)
        >>> print(result.end_state, result.method["commitments"], result.method["queries"])
        success 1 0
    """

    hypotheses: int = Field(
        default=4, ge=1, le=4096, description="|H|, how many of the best paths are considered at a time"
    )
    gate: Literal["thresholds", "query_all", "simulate_all"] = Field(
        default="thresholds",
        description="which unknowns are queried, the others being simulated. thresholds: ambiguous or uncertain "
        "predictions; query_all; simulate_all: none before a commitment (ablation)",
    )
    commit: Literal["grounded", "belief"] = Field(
        default="grounded",
        description="grounded: only to what the verifier accepts; belief: to the best path that beliefs leave "
        "(ablation)",
    )
    margin: float = Field(
        default=0.4, ge=0, le=0.5, description="a prediction nearer to 1/2 than this is ambiguous (eq. 4)"
    )
    uncertainty: float = Field(
        default=0.2, ge=0, le=1000, description="tau, the most uncertainty with which a prediction is believed"
    )
    query_budget: int | None = Field(
        default=None, ge=0, le=MOST, description="most queries of an episode (default: the budget decides)"
    )
    ensemble: int = Field(default=8, ge=1, le=4096, description="samples for one prediction")
    calibration: str = Field(
        default="", description="JSON with the calibration of predictions, or a file of it (default: none)"
    )
    learned_rules: str = Field(
        default="", description="JSON with rules that override predictions, or a file of it (default: none)"
    )
    bridges: bool = Field(
        default=False,
        description="insert an action that establishes a precondition where that is cheaper than asking (SQ-BCP)",
    )

    @field_validator("calibration", "learned_rules")
    @classmethod
    def _is_readable(cls, given: str, info: ValidationInfo) -> str:
        text = _content(given)
        where = info.field_name or "" if given.lstrip().startswith("{") else given
        reader = IsotonicCalibration if info.field_name == "calibration" else Overrides
        return reader.from_json(text, where).to_json() if text else ""


def _content(given: str) -> str:
    """The given JSON, or the content of the given file.

    Raises:
        ConfigError: The text is neither, or the file cannot be read.
    """
    if not given.strip() or given.lstrip().startswith("{"):
        return given.strip()
    content = read_text(Path(given), error=lambda problem: ConfigError(f"neither JSON nor a file: {problem}")).strip()
    if not content:
        raise ConfigError(f"{given} is empty; name another file, or leave the setting out")
    return content
