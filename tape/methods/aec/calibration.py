"""A correction of predicted probabilities, fitted on held-out pairs (AEC appendix B.2)."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tape.errors import ConfigError
from tape.reading import parse_json, shaped, short

SCHEMA = "tape.isotonic_calibration/1"


@dataclass(frozen=True)
class _File:
    schema: str
    n: Annotated[int, Field(ge=0)]
    blocks: tuple[tuple[float, float, float], ...]


def _no_calibration(problem: str) -> ConfigError:
    return ConfigError(f"{problem}; so it is not a calibration as this version writes it ({SCHEMA})")


@dataclass(frozen=True)
class IsotonicCalibration:
    """A monotone correction: level on each block of predictions, linear between blocks.

    Attributes:
        blocks: (least prediction, greatest prediction, share that was true), ascending; empty: no change.
        n: Number of pairs it was fitted on.
    """

    blocks: tuple[tuple[float, float, float], ...] = ()
    n: int = 0

    def __post_init__(self) -> None:
        numbers = [x for low, high, _ in self.blocks for x in (low, high)]
        shares = [share for *_, share in self.blocks]
        if numbers != sorted(numbers) or shares != sorted(shares) or any(not 0 <= x <= 1 for x in numbers + shares):
            raise ConfigError("a calibration's blocks ascend within [0, 1], predictions and shares alike")

    def __call__(self, mu: float) -> float:
        """The corrected probability."""
        if not self.blocks:
            return mu
        at = bisect_right([low for low, *_ in self.blocks], mu) - 1
        if at < 0:
            return self.blocks[0][2]
        _, high, share = self.blocks[at]
        if mu <= high or at + 1 == len(self.blocks):
            return share
        low, _, above = self.blocks[at + 1]
        return min(above, share + (above - share) * (mu - high) / (low - high))

    def to_json(self) -> str:
        """One JSON object with a ``schema``."""
        return json.dumps({"schema": SCHEMA, "n": self.n, "blocks": self.blocks})

    @classmethod
    def from_json(cls, text: str, where: str = "calibration") -> IsotonicCalibration:
        """Read what :meth:`to_json` wrote.

        Args:
            text: JSON.
            where: The source, for messages.

        Raises:
            ConfigError: The text is not a calibration.
        """
        data = shaped(parse_json(text, where, error=_no_calibration), _File, where, error=_no_calibration)
        if data.schema != SCHEMA:
            raise ConfigError(f"{where}: a calibration: expected schema {SCHEMA!r}, found {short(data.schema)}")
        try:
            return cls(data.blocks, data.n)
        except ConfigError as error:
            raise ConfigError(f"{where}: field blocks: {error}") from error
