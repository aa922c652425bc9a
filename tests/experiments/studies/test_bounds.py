"""The success bounds: range, limits, monotonicity, precision, and what docs/evidence/theory.md corrects."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from experiments.studies.toy.bounds import (
    ErrorRates,
    effective_sampling_error,
    path_bound,
    plan_and_act_bound,
    react_bound,
    tape_bound,
)
from tape.errors import ConfigError

share = st.floats(0.0, 1.0)
horizons = st.integers(0, 10_000)
rates = st.builds(ErrorRates, share, share, share, share)
SLIP = 1e-12


@given(horizons, rates, share, share, st.integers(1, 64))
def test_every_bound_is_a_probability(horizon: int, some: ErrorRates, alpha: float, follow: float, m: int) -> None:
    for bound in (
        react_bound(horizon, some),
        plan_and_act_bound(horizon, some, alpha=alpha, p_follow=follow),
        tape_bound(horizon, some.epsilon_p, m),
        path_bound([some.step_failure] * min(horizon, 50)),
    ):
        assert 0.0 <= bound <= 1.0


@given(st.integers(0, 60), rates)
def test_react_is_the_papers_formula(horizon: int, some: ErrorRates) -> None:
    p, s, b, r = (Fraction(x) for x in (some.epsilon_p, some.epsilon_s, some.delta_b, some.delta_r))
    exact = ((1 - p) * (1 - s * b) + p * s * r) ** horizon
    assert react_bound(horizon, some) == pytest.approx(float(exact), rel=1e-9, abs=1e-13)


@given(st.lists(share, max_size=20), st.lists(st.integers(1, 9), min_size=1, max_size=12), share)
def test_bounds_of_rates_that_vary_are_products(failures: list[float], draws: list[int], epsilon: float) -> None:
    assert path_bound(failures) == pytest.approx(math.prod(1.0 - f for f in failures), rel=1e-9, abs=1e-13)
    expected = math.prod(1 - epsilon**d for d in draws)
    assert tape_bound(len(draws), epsilon, draws) == pytest.approx(expected, rel=1e-9, abs=1e-13)
    same = tape_bound(len(draws), epsilon, [draws[0]] * len(draws))
    assert tape_bound(len(draws), epsilon, draws[0]) == pytest.approx(same, rel=1e-9, abs=1e-13)


@given(rates, st.integers(1, 5))
def test_nothing_to_do_always_succeeds_and_sure_errors_never(some: ErrorRates, m: int) -> None:
    assert react_bound(0, some) == tape_bound(0, 1.0, m) == 1.0
    assert react_bound(0, some, log=True) == 0.0
    assert tape_bound(3, 1.0, m) == react_bound(3, ErrorRates(1.0)) == path_bound([0.5, 1.0]) == 0.0
    assert tape_bound(3, 1.0, m, log=True) == path_bound([1.0], log=True) == -math.inf


@pytest.mark.parametrize("error", ["epsilon_s", "epsilon_p"])
@given(st.integers(0, 50), rates, share)
def test_an_error_moves_the_bound_as_the_rates_say(error: str, horizon: int, some: ErrorRates, other: float) -> None:
    low, high = sorted((getattr(some, error), other))
    few, many = (react_bound(horizon, replace(some, **{error: rate})) for rate in (low, high))
    lowers = some.deviation_harm >= 0 if error == "epsilon_s" else some.falls_with_planning_error
    assert few >= many - SLIP if lowers else few <= many + SLIP


def test_the_papers_condition_does_not_make_planning_errors_harmful() -> None:
    better, worse = ErrorRates(0.1, 1.0, 1.0, 1.0), ErrorRates(0.2, 1.0, 1.0, 1.0)
    assert min(better.deviation_harm, worse.deviation_harm) > 0
    assert react_bound(5, worse) > react_bound(5, better)


@given(st.integers(0, 50), rates, share, share, share)
def test_frameworks_are_ordered_where_deviations_harm(
    horizon: int, some: ErrorRates, alpha: float, other: float, follow: float
) -> None:
    assume(some.deviation_harm >= 0)
    low, high = sorted((alpha, other))
    seldom, often = (plan_and_act_bound(horizon, some, alpha=alpha, p_follow=follow) for alpha in (low, high))
    ordered = [react_bound(horizon, some), seldom, often, tape_bound(horizon, some.epsilon_p, 1)]
    assert all(lower <= higher + SLIP for lower, higher in pairwise(ordered))


def test_the_order_turns_round_where_deviations_help() -> None:
    lucky = ErrorRates(0.6, 0.5, 0.1, 1.0)
    assert lucky.deviation_harm < 0
    react, follow = react_bound(4, lucky), plan_and_act_bound(4, lucky, alpha=1.0, p_follow=1.0)
    assert react > follow == tape_bound(4, 0.6, 1)


@given(st.integers(0, 50), rates, share)
def test_a_plan_that_is_never_followed_is_react(horizon: int, some: ErrorRates, value: float) -> None:
    assert plan_and_act_bound(horizon, some, alpha=0.0, p_follow=value) == react_bound(horizon, some)
    assert plan_and_act_bound(horizon, some, alpha=value, p_follow=0.0) == react_bound(horizon, some)
    assert effective_sampling_error(0.5, 1.0, 1.0) == 0.0


def test_tiny_errors_and_long_horizons_keep_their_digits() -> None:
    assert tape_bound(10**9, 1e-3, 4) == pytest.approx(math.exp(-1e-3), rel=1e-9)
    assert react_bound(10**18, ErrorRates(1e-18)) == pytest.approx(math.exp(-1.0), rel=1e-12)
    assert react_bound(10**6, ErrorRates(0.5)) == 0.0
    assert react_bound(10**6, ErrorRates(0.5), log=True) == pytest.approx(-(10**6) * math.log(2), rel=1e-12)


def test_independent_draws_reach_the_bound_with_m_and_exceed_the_one_with_distinct_actions() -> None:
    # One right action, two wrong ones: the chance of a right one among M draws, by counting.
    chances, m = {0: Fraction(3, 4), 1: Fraction(1, 8), 2: Fraction(1, 8)}, 3
    right, literal = Fraction(0), Fraction(0)
    for draws in product(chances, repeat=m):
        chance = math.prod((chances[d] for d in draws), start=Fraction(1))
        right += chance if 0 in draws else 0
        literal += chance * (1 - Fraction(1, 4) ** len(set(draws)))
    assert tape_bound(1, 0.25, m) == pytest.approx(float(right))
    assert right > literal


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: ErrorRates(1.5), "ErrorRates.epsilon_p"),
        (lambda: ErrorRates(0.5, delta_r=math.nan), "ErrorRates.delta_r"),
        (lambda: ErrorRates("0.5"), "ErrorRates.epsilon_p"), (lambda: react_bound(-1, ErrorRates(0.1)), "horizon"),
        (lambda: react_bound(2.5, ErrorRates(0.1)), "horizon"),
        (lambda: plan_and_act_bound(2, ErrorRates(0.1), alpha=-0.1, p_follow=1.0), "alpha"),
        (lambda: plan_and_act_bound(2, ErrorRates(0.1), alpha=0.1, p_follow=2), "p_follow"),
        (lambda: effective_sampling_error(7, 0.5, 0.5), "epsilon_s"), (lambda: tape_bound(2, 0.1, 0), "draws"),
        (lambda: tape_bound(2, 0.1, True), "draws"), (lambda: tape_bound(2, 0.1, [1]), "one per step"),
        (lambda: tape_bound(2, 0.1, [1, 0]), r"draws\[1\]"), (lambda: path_bound([0.1, -0.1]), r"failures\[1\]"),
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_named(call, names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        call()
