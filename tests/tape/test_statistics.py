"""Intervals: known values, and what must hold for every sample."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.statistics import clustered, effective_trials, paired, sign_test, success_interval, wilson

VALUES = st.floats(-1e6, 1e6, allow_nan=False)
SAMPLES = st.lists(st.tuples(VALUES, st.integers(0, 5)), min_size=1, max_size=30)
EPISODES = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=30)
CELLS = st.dictionaries(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), st.booleans(), max_size=20)


def unzip(sample: list) -> tuple[list, list]:
    return [value for value, _ in sample], [cluster for _, cluster in sample]


def test_wilson_interval() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert [round(x, 3) for x in wilson(8, 10)] == [0.490, 0.943]
    assert (wilson(0, 10)[0], wilson(10, 10)[1]) == (0.0, 1.0)
    assert [round(x, 4) for x in wilson(81, 263)] == [0.2553, 0.3662], "Newcombe 1998, table I"


def test_the_bootstrap_of_single_values_is_near_the_normal_interval() -> None:
    rng = random.Random(1)
    values = [rng.gauss(3, 2) for _ in range(400)]
    mean = sum(values) / 400
    half = 1.96 * math.sqrt(sum((v - mean) ** 2 for v in values) / 400) / 20
    assert clustered(values, range(400)) == pytest.approx((mean - half, mean + half), abs=0.03)
    # Both, or one of them twice: means 0 (1/4), 0.5 (1/2), 1 (1/4).
    assert clustered([0, 0, 1, 1], ["a", "a", "b", "b"]) == (0.0, 1.0)


def test_repeats_of_a_level_do_not_narrow_the_interval() -> None:
    once = clustered([0, 1] * 10, range(20))
    often = clustered([0, 1] * 100, [i % 20 for i in range(200)])
    assert often == pytest.approx(once)
    low, high = wilson(100, 200)
    assert often[1] - often[0] > 2 * (high - low)


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_bootstrap_holds_the_mean_and_knows_no_order_or_names(sample: list, rng: random.Random) -> None:
    values, clusters = unzip(sample)
    low, high = clustered(values, clusters, resamples=200)
    assert low <= math.fsum(values) / len(values) <= high
    assert min(values) - 1e-6 <= low
    assert high <= max(values) + 1e-6
    rng.shuffle(sample)
    values, clusters = unzip(sample)
    assert clustered(values, [f"level {c}" for c in clusters], resamples=200) == (low, high)


def test_nothing_to_resample_or_to_compare() -> None:
    assert all(map(math.isnan, clustered([], [])))
    with pytest.raises(ValueError, match="2 values but 1 clusters"):
        clustered([1, 2], ["a"])
    result = paired({("a", 0): 1}, {("a", 1): 1})
    assert (result.n, result.levels) == (0, 0)
    assert math.isnan(result.difference)
    assert math.isnan(result.low)


def test_the_method_follows_the_repeats() -> None:
    assert success_interval([True, False, True], "abc") == (*wilson(2, 3), "wilson")
    assert success_interval([True, False, True, True], "aabb")[2] == "clustered"
    # All levels always solved: resampling levels would claim certainty.
    assert success_interval([True] * 20, [i % 4 for i in range(20)]) == (*wilson(4, 4), "wilson-levels")
    assert success_interval([True, False] * 3, [i // 2 for i in range(6)]) == (*wilson(1.5, 3), "wilson-levels")
    assert success_interval([], []) == (0.0, 1.0, "wilson")
    # One failure near the ceiling does not make a rate certain.
    low, high, method = success_interval([i > 0 for i in range(100)], [i // 10 for i in range(100)])
    assert (method, high) == ("clustered", 1.0)
    assert low <= wilson(99, 100)[0] < 0.95


@given(EPISODES)
def test_a_success_interval_holds_the_rate_and_is_never_a_point(sample: list) -> None:
    successes, levels = unzip(sample)
    low, high, method = success_interval(successes, levels)
    assert 0 <= low <= sum(successes) / len(successes) <= high <= 1
    assert low < high
    assert (method == "wilson") == (len(set(levels)) == len(levels))


def test_paired_differences_of_known_pairs() -> None:
    ours = {("a", 0): 1, ("a", 1): 1, ("b", 0): 0, ("c", 0): 1, ("only here", 0): 1}
    theirs = {("a", 0): 0, ("a", 1): 1, ("b", 0): 1, ("c", 0): 0, ("only there", 0): 1}
    result = paired(ours, theirs)
    assert (result.n, result.levels, result.wins, result.losses, result.difference) == (4, 3, 2, 1, 0.25)
    assert (result.low, result.high) == clustered([1, 0, -1, 1], ["a", "a", "b", "c"])


@given(CELLS, CELLS)
def test_a_paired_difference_is_the_negative_of_its_reverse(a: dict, b: dict) -> None:
    item, other = paired(a, b), paired(b, a)
    assert (item.n, item.wins, item.losses) == (other.n, other.losses, other.wins)
    if item.n:
        assert item.difference == -other.difference
        assert -1 <= item.low <= item.difference <= item.high <= 1
        assert item.low == pytest.approx(-other.high, abs=0.05), "but for the resampling"
    same = paired(a, a)
    assert not a or (same.difference, same.wins, same.losses) == (0, 0, 0)
    assert not a or same.low == -same.high < 0, "and is not known to be equal for certain"


def test_paired_without_spread_is_not_certain() -> None:
    # One level that was won twice proves little.
    item = paired({("a", 0): 1, ("a", 1): 1}, {("a", 0): 0, ("a", 1): 0})
    assert (item.difference, item.high) == (1, 1)
    assert item.low == wilson(1, 1)[0] < 0.25
    lost = paired({("a", 0): 0}, {("a", 0): 1})
    assert (lost.low, lost.high) == (-1, -item.low)


def test_the_exact_sign_test() -> None:
    assert [sign_test(wins, 0) for wins in (0, 1, 4, 5, 6)] == [1.0, 1.0, 0.125, 0.0625, 0.03125]
    assert sign_test(3, 3) == 1.0
    assert sign_test(2, 9) == sign_test(9, 2) == pytest.approx(2 * (1 + 11 + 55) / 2**11)


@pytest.mark.parametrize(("better", "shown"), [(4, False), (5, False), (6, True)])
def test_a_handful_of_levels_does_not_show_that_one_is_better(better: int, shown: bool) -> None:
    ours = {(str(level), repeat): 1.0 for level in range(200) for repeat in range(3)}
    theirs = {key: 0.0 if int(key[0]) < better and key[1] == 0 else 1.0 for key in ours}
    result = paired(ours, theirs)
    assert result.low > 0
    assert (result.above, result.below) == (shown, False)
    assert (paired(theirs, ours).above, paired(theirs, ours).below) == (False, shown)


def test_repeats_are_worth_what_they_differ() -> None:
    levels = [i // 10 for i in range(100)]
    assert effective_trials([i // 10 % 2 for i in range(100)], levels) == pytest.approx(10), "all repeats the same"
    assert effective_trials([i % 2 for i in range(100)], levels) == pytest.approx(100), "levels the same"
    assert 10 < effective_trials([float(i % 10 < i // 10) for i in range(100)], levels) < 100
