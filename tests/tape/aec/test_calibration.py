from __future__ import annotations

import json

import pytest

from tape.aec.calibration import SCHEMA, IsotonicCalibration
from tape.errors import ConfigError


def test_a_calibration_is_level_on_its_blocks_and_linear_between_them() -> None:
    held = IsotonicCalibration(((0.1, 0.1, 0.0), (0.2, 0.3, 0.5), (0.6, 0.8, 1.0)), 5)
    assert [held(mu) for mu in (0.0, 0.25, 0.45, 1.0)] == pytest.approx([0.0, 0.5, 0.75, 1.0])
    assert IsotonicCalibration()(0.3) == 0.3
    assert IsotonicCalibration.from_json(held.to_json()) == held


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a calibration"),
        ("[]", "not a calibration"),
        ('{"schema": "other/1", "n": 1, "blocks": []}', "expected schema"),
        (json.dumps({"schema": SCHEMA, "blocks": []}), "not a calibration"),
        (json.dumps({"schema": SCHEMA, "n": 1, "blocks": [[0, 1]]}), "not a calibration"),
        (json.dumps({"schema": SCHEMA, "n": 1, "blocks": [[0, 0.5, 0.9], [0.6, 1, 0.1]]}), "ascend"),
        (json.dumps({"schema": SCHEMA, "n": 1, "blocks": [[0, 2, 0.9]]}), "ascend"),
    ],
)
def test_other_files_are_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        IsotonicCalibration.from_json(text)
