"""How much an amount may be: moments, probabilities and intervals, against draws."""

from __future__ import annotations

import math
import random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Spread, Total
from tape.budget.spread import beta_below, total
from tape.errors import ConfigError
from tests.profiles import examples


@examples(100)
@given(st.integers(1, 30), st.integers(1, 30), st.floats(0.001, 0.999))
def test_the_beta_function_is_the_binomial_tail(a: int, b: int, x: float) -> None:
    n = a + b - 1
    tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert beta_below(x, a, b) == pytest.approx(tail, abs=1e-9)


@examples(100)
@given(st.lists(st.integers(0, 100), max_size=30))
def test_what_was_seen_is_summed_up_by_its_mean_and_deviation(amounts: list[int]) -> None:
    spread = Spread.unknown(100)
    for amount in amounts:
        spread = spread.after(amount)
    assert spread.seen == len(amounts)
    if amounts:
        assert spread.mean == pytest.approx(fmean(amounts))
        assert spread.deviation == pytest.approx(pstdev(amounts), abs=1e-6)


def test_before_the_first_call_an_unknown_amount_is_uniform_and_after_many_it_is_what_was_seen() -> None:
    spread = Spread.unknown(120)
    assert spread.total(1) == (60, pytest.approx(120**2 / 12))
    for _ in range(500):
        spread = spread.after(30).after(50)
    mean, variance = spread.total(1)
    assert mean == pytest.approx(40, abs=0.1)
    assert variance == pytest.approx(100, rel=0.05)


@examples(100)
@given(st.integers(0, 50), st.integers(1, 6))
def test_more_calls_are_more_uncertain_than_independent_ones_while_their_mean_is_learned(seen: int, calls: int) -> None:
    spread = Spread(0, 100, 40.0, 10.0, seen) if seen else Spread.unknown(100)
    mean, variance = spread.total(1)
    assert spread.total(calls)[0] == pytest.approx(calls * mean)
    assert spread.total(calls)[1] >= calls * variance - 1e-9


def test_what_is_declared_does_not_change_by_what_is_seen() -> None:
    spread = Spread(0, 100, 40.0, 10.0)
    assert spread.after(99) is spread
    assert spread.total(3) == (120, 300)


@pytest.mark.parametrize(
    ("ends", "mean", "deviation"), [((5, 3), 4, 0), ((0, 9), 10, 1), ((0, 9), 5, 10), ((-1, 1), 0, 0)]
)
def test_what_cannot_be_is_refused(ends: tuple[int, int], mean: float, deviation: float) -> None:
    with pytest.raises(ConfigError):
        Spread(*ends, mean, deviation)


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 100)), min_size=1, max_size=6), st.floats(0, 1))
def test_a_probability_is_that_of_drawing(ends: list[tuple[int, int]], where: float) -> None:
    spreads = [Spread(low, low + width, low + width / 2, width / math.sqrt(12)) for low, width in ends]
    whole = total((spread, 1) for spread in spreads)
    limit = whole.least + where * (whole.most - whole.least)
    rng = random.Random(7)
    draws = [sum(rng.uniform(low, low + width) for low, width in ends) for _ in range(4000)]
    share = sum(draw <= limit for draw in draws) / len(draws)
    assert whole.below(limit) == pytest.approx(share, abs=0.035)  # four standard errors, and the approximation


@examples(40)
@given(st.floats(0.01, 0.99), st.floats(0.001, 0.4), st.floats(0.01, 0.99))
def test_a_quantile_is_where_the_probability_is_reached(mean: float, deviation: float, share: float) -> None:
    whole = Total(1000 * mean, 1000 * min(deviation, math.sqrt(mean * (1 - mean)) * 0.5), 0, 1000)
    assert whole.below(whole.quantile(share)) == pytest.approx(share, abs=1e-6)


def test_the_ends_are_certain_and_a_point_is_a_point() -> None:
    whole = Total(50, 10, 20, 100)
    assert (whole.below(19), whole.below(100)) == (0, 1)
    point = Total(50, 0, 50, 50)
    assert (point.below(49), point.below(50), point.interval(0.8)) == (0, 1, (50, 50))
    assert (Total(50, 0, 0, 90).below(49), Total(50, 0, 0, 90).below(51)) == (0, 1)


@pytest.mark.parametrize(("seen", "least_cover"), [(2, 0.74), (5, 0.74), (50, 0.76)])
def test_intervals_of_learned_amounts_hold_what_they_promise(seen: int, least_cover: float) -> None:
    """Truncated normal costs far below their worst case, three calls ahead; nominal 80 %."""
    rng, inside, trials = random.Random(3), 0, 200
    for _ in range(trials):
        centre = rng.uniform(200, 700)  # what is learned is another thing each time

        def draw(centre: float = centre) -> int:
            return round(min(max(rng.gauss(centre, 80), 0), 1000))

        spread = Spread.unknown(1000)
        for _ in range(seen):
            spread = spread.after(draw())
        low, high = total([(spread, 3)]).interval(0.8)
        inside += low <= sum(draw() for _ in range(3)) <= high
    assert inside / trials >= least_cover
