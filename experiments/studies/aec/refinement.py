"""The file in which refinement keeps what it has learned, for other experiments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.harness.places import RESULTS
from tape.aec.calibration import IsotonicCalibration
from tape.aec.overrides import Overrides
from tape.errors import ConfigError
from tape.files import replace_file
from tape.reading import read_json

FILE = RESULTS / "aec_refinement.json"
SCHEMA = "experiments.aec_refinement/1"


@dataclass(frozen=True)
class Refined:
    """What was learned of one model's predictions in one environment.

    Attributes:
        environment: Where.
        model: Of which model, as it identifies itself.
        iterations: After how many rounds of failures.
        cases: From how many predictions.
        calibration: Fitted on them.
        rules: In force after the last round.
    """

    environment: str
    model: str
    iterations: int
    cases: int
    calibration: IsotonicCalibration
    rules: Overrides


def write(file: Path, found: Refined) -> None:
    """Put it into a file, in the place of what was learned before of the same model there."""
    held = [one for one in read(file) if (one.environment, one.model) != (found.environment, found.model)]
    entries = sorted([*held, found], key=lambda one: (one.environment, one.model))
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, json.dumps({"schema": SCHEMA, "learned": [_plain(one) for one in entries]}, indent=1) + "\n")


def read(file: Path) -> list[Refined]:
    """All that a file holds; nothing where it is not there.

    Raises:
        ConfigError: It holds something else.
    """
    if not file.is_file():
        return []
    try:
        data = read_json(file, dict[str, Any], error=ConfigError)
        if data["schema"] != SCHEMA:
            raise ConfigError(f"{file}: expected schema {SCHEMA!r}, found {data['schema']!r}")
        return [_refined(one) for one in data["learned"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file} does not hold what experiments.studies.aec.refine writes: {error}") from error


def find(file: Path, environment: str, model: str) -> Refined | None:
    """What was learned of a model, by its identity."""
    return next((one for one in read(file) if (one.environment, one.model) == (environment, model)), None)


def _plain(one: Refined) -> dict[str, Any]:
    return {
        "environment": one.environment,
        "model": one.model,
        "iterations": one.iterations,
        "cases": one.cases,
        "calibration": json.loads(one.calibration.to_json()),
        "rules": json.loads(one.rules.to_json()),
    }


def _refined(data: Mapping[str, Any]) -> Refined:
    return Refined(
        str(data["environment"]),
        str(data["model"]),
        int(data["iterations"]),
        int(data["cases"]),
        IsotonicCalibration.from_json(json.dumps(data["calibration"])),
        Overrides.from_json(json.dumps(data["rules"])),
    )
