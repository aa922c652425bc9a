"""How far predicted probabilities can be trusted, and a correction fitted on held-out pairs (AEC appendix B.2)."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tape.errors import ConfigError
from tape.reading import parse_json, read_text, shaped, short
from tape.statistics import wilson

SCHEMA = "tape.isotonic_calibration/1"

Pair = tuple[float, bool]
"""A predicted probability and what was true."""


@dataclass(frozen=True)
class _File:
    schema: str
    n: Annotated[int, Field(ge=0)]
    blocks: tuple[tuple[float, float, float], ...]


def _no_calibration(said: str) -> ConfigError:
    return ConfigError(f"{said}; so it is not a calibration as this version writes it ({SCHEMA})")


@dataclass(frozen=True)
class Bin:
    """Predictions from ``low`` to below ``high`` (the last bin: to 1).

    Attributes:
        low: Its lower end.
        high: Its upper end.
        n: Predictions in it.
        mean: Their mean; nan where n is 0.
        frequency: The share of them that were true; nan where n is 0.
        frequency_low: Of the share's 95 % Wilson interval.
        frequency_high: Of the share's 95 % Wilson interval.
    """

    low: float
    high: float
    n: int
    mean: float
    frequency: float
    frequency_low: float
    frequency_high: float


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram as data.

    Attributes:
        bins: All bins in order, empty ones too.
        n: Predictions.
        ece: Expected calibration error: ``sum of n_b / n * |frequency_b - mean_b|``; nan where n is 0.
        brier: Mean squared error of the predictions; nan where n is 0.
    """

    bins: tuple[Bin, ...]
    n: int
    ece: float
    brier: float


def reliability(pairs: Sequence[Pair], bins: int = 10) -> Reliability:
    """Sort predictions into bins of equal width and compare them with what was true.

    Args:
        pairs: Predictions and truths.
        bins: How many.

    Raises:
        ConfigError: No bin, or a prediction that is not within [0, 1].
    """
    if bins < 1:
        raise ConfigError(f"bins: expected at least 1, got {bins}")
    _check(pairs)
    edges = [i / bins for i in range(bins + 1)]
    found: list[list[Pair]] = [[] for _ in range(bins)]
    for pair in pairs:
        found[min(bisect_right(edges, pair[0]), bins) - 1].append(pair)
    made = tuple(_bin(edges[i], edges[i + 1], own) for i, own in enumerate(found))
    n = len(pairs)
    if n == 0:
        return Reliability(made, 0, math.nan, math.nan)
    ece = math.fsum(b.n * abs(b.frequency - b.mean) for b in made if b.n) / n
    return Reliability(made, n, ece, math.fsum((mu - truth) ** 2 for mu, truth in pairs) / n)


def _bin(low: float, high: float, pairs: Sequence[Pair]) -> Bin:
    n, true = len(pairs), sum(truth for _, truth in pairs)
    mean, frequency = (math.fsum(mu for mu, _ in pairs) / n, true / n) if n else (math.nan, math.nan)
    return Bin(low, high, n, mean, frequency, *wilson(true, n))


@dataclass(frozen=True)
class IsotonicCalibration:
    """A monotone correction: level on each block of predictions, linear between blocks.

    Attributes:
        blocks: (least prediction, greatest prediction, share that was true), ascending; none changes nothing.
        n: On how many pairs it was fitted.
    """

    blocks: tuple[tuple[float, float, float], ...] = ()
    n: int = 0

    def __post_init__(self) -> None:
        numbers = [x for low, high, _ in self.blocks for x in (low, high)]
        shares = [share for *_, share in self.blocks]
        if numbers != sorted(numbers) or shares != sorted(shares) or any(not 0 <= x <= 1 for x in numbers + shares):
            raise ConfigError("a calibration's blocks ascend within [0, 1], predictions and shares alike")

    @classmethod
    def fit(cls, pairs: Sequence[Pair]) -> IsotonicCalibration:
        """Fit by pooling adjacent violators: the monotone function of least squared error.

        Args:
            pairs: Held-out predictions and truths; equal predictions are taken as one point.

        Raises:
            ConfigError: A prediction is not within [0, 1].
        """
        _check(pairs)
        points: dict[float, tuple[int, int]] = {}
        for mu, truth in pairs:
            true, n = points.get(mu, (0, 0))
            points[mu] = (true + truth, n + 1)
        pooled: list[tuple[float, float, int, int]] = []
        for mu, counts in sorted(points.items()):
            low, (true, n) = mu, counts
            # Integers, so that equal shares are seen as equal: a / b >= c / d.
            while pooled and pooled[-1][2] * n >= true * pooled[-1][3]:
                low, _, more, of = pooled.pop()
                true, n = true + more, n + of
            pooled.append((low, mu, true, n))
        return cls(tuple((low, high, true / n) for low, high, true, n in pooled), len(pairs))

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
            where: Where it stands, for messages.

        Raises:
            ConfigError: It is something else.
        """
        data = shaped(parse_json(text, where, error=_no_calibration), _File, where, error=_no_calibration)
        if data.schema != SCHEMA:
            raise ConfigError(f"{where}: a calibration: expected schema {SCHEMA!r}, found {short(data.schema)}")
        try:
            return cls(data.blocks, data.n)
        except ConfigError as error:
            raise ConfigError(f"{where}: field blocks: {error}") from error

    def save(self, file: Path) -> None:
        """Write it into a file."""
        file.write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> IsotonicCalibration:
        """Read a file that :meth:`save` wrote.

        Raises:
            ConfigError: It holds something else.
        """
        return cls.from_json(read_text(file, error=_no_calibration), str(file))


def _check(pairs: Sequence[Pair]) -> None:
    for i, (mu, _) in enumerate(pairs):
        if not 0.0 <= mu <= 1.0:
            raise ConfigError(f"prediction {i}: expected a probability within [0, 1], got {mu!r}")
