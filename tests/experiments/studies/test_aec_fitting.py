from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.aec.fitting import isotonic, reliability
from tape.aec.calibration import IsotonicCalibration
from tests.profiles import examples

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60)


@examples(100)
@given(PAIRS, st.integers(1, 15))
def test_every_prediction_is_in_the_bin_of_its_value(pairs: list[tuple[float, bool]], bins: int) -> None:
    found = reliability(pairs, bins)
    assert len(found.bins) == bins
    assert sum(b.n for b in found.bins) == len(pairs) == found.n
    for b in found.bins:
        inside = [mu for mu, _ in pairs if b.low <= mu < b.high or (mu == 1.0 and b.high == 1.0)]
        assert b.n == len(inside)
    assert math.isnan(found.ece) if not pairs else 0 <= found.ece <= 1
    assert math.isnan(found.brier) if not pairs else 0 <= found.brier <= 1


@examples(100)
@given(PAIRS.filter(bool))
def test_the_fit_is_monotone_and_the_best_of_all_monotone_functions(pairs: list[tuple[float, bool]]) -> None:
    fitted = isotonic(pairs)
    grid = sorted({mu for mu, _ in pairs} | {i / 20 for i in range(21)})
    values = [fitted(mu) for mu in grid]
    assert values == sorted(values)
    assert all(0 <= value <= 1 for value in values)
    assert IsotonicCalibration.from_json(fitted.to_json()) == fitted
    # The min-max formula of isotonic regression, an independent way to the same function.
    points = sorted({mu for mu, _ in pairs})
    for i, mu in enumerate(points):
        best = max(
            min(_share(pairs, low, high) for high in points[i:]) for low in points[: i + 1]
        )  # fmt: skip
        assert fitted(mu) == pytest.approx(best)


def _share(pairs: list[tuple[float, bool]], low: float, high: float) -> float:
    inside = [truth for mu, truth in pairs if low <= mu <= high]
    return sum(inside) / len(inside)
