"""Error rates from judged decisions: hand examples, intervals by level, bounds."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.tape.error_rates import (
    RATES,
    Decision,
    JudgedEpisode,
    Rate,
    bounds,
    clustered_ratio,
    error_rates,
    ratio_interval,
)
from experiments.studies.toy.bounds import ErrorRates, react_bound, tape_bound
from tape.errors import ConfigError
from tape.statistics import wilson


def decision(intended: str, executed: str, *, viable: str = "", step: int = 0, planned: str | None = None) -> Decision:
    """A decision in a state where the actions ``viable`` are; the state is viable if any is. ``intended`` may be ''."""
    return Decision(
        step=step, remaining=5, state_viable=bool(viable), executed=executed, executed_viable=executed in viable,
        intended=intended or None, intended_viable=intended in viable if intended else None, planned=planned,
    )  # fmt: skip


HAND = (
    decision("U", "U", viable="UR"),
    decision("U", "R", viable="UR"),  # a deviation that does no harm
    decision("U", "L", viable="UR"),  # one that breaks viability
    decision("D", "R", viable="UR"),  # one that recovers it
    decision("D", "L", viable="UR"),  # one that does not
    decision("D", "D", viable="UR", planned="U"),
    decision("", "U", viable="UR", planned="U"),  # a thought that names nothing
    decision("", "D", viable="UR"),
    decision("U", "U"),  # in a lost state
    decision("U", "R"),
)


def episode(*decisions: Decision, level: str = "a", success: bool = False, **more) -> JudgedEpisode:  # type: ignore[no-untyped-def]
    return JudgedEpisode(level, more.pop("horizon", 3), success, decisions, **more)


def test_rates_of_a_hand_example() -> None:
    rates = error_rates([episode(*HAND, draws=(True, False, True))])
    counted = {name: (rate.count, rate.n) for name, rate in rates.items()}
    assert counted == {
        "planning_error": (5, 8), "planning_error_viable": (3, 6), "sampling_error": (5, 8),
        "sampling_error_viable": (4, 6), "delta_b": (1, 2), "delta_r": (1, 3), "delta_r_viable": (1, 2),
        "nonviable_executed": (6, 10), "nonviable_executed_viable": (4, 8), "unparsed": (2, 10),
        "off_plan": (1, 2), "draw_error": (1, 3),
    }  # fmt: skip
    for rate in rates.values():
        assert (rate.value, rate.levels) == (rate.count / rate.n, 1)
        assert rate.low <= rate.value <= rate.high


def test_the_measured_rates_make_up_the_measured_step_failure() -> None:
    """Equation 21 is an identity of the measured rates where deviating does not depend on the plan's viability."""
    parsed = [d for d in HAND if d.intended and d.state_viable]
    # Two of three viable intentions and two of three non-viable ones were left: es = 2/3 for both.
    rates = error_rates([episode(*parsed)])
    names = ("planning_error_viable", "sampling_error_viable", "delta_b", "delta_r_viable")
    failure = ErrorRates(*(rates[name].value for name in names)).step_failure  # type: ignore[arg-type]
    assert failure == pytest.approx(rates["nonviable_executed_viable"].value)


def test_what_was_never_met_has_no_rate() -> None:
    rates = error_rates([episode(decision("U", "U", viable="U"))])
    for name in ("delta_b", "delta_r", "delta_r_viable", "off_plan", "draw_error"):
        assert rates[name] == Rate(None, 0, 0, 0, 0.0, 1.0, "none")
    assert {rate.n for rate in error_rates([]).values()} == {0}


@pytest.mark.parametrize(
    "changes",
    [
        {"intended": None}, {"intended_viable": None}, {"executed_viable": False}, {"state_viable": False},
        {"state_viable": False, "intended": "D", "intended_viable": True, "executed_viable": False},
    ],
)  # fmt: skip
def test_judgements_that_contradict_each_other_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="step 0"):
        replace(decision("U", "U", viable="U"), **changes)  # type: ignore[arg-type]


def test_repeating_every_episode_does_not_narrow_an_interval() -> None:
    rng = random.Random(0)
    levels = [str(level) for level in range(12) for _ in range(2)]
    episodes = [episode(*rng.choices(HAND, k=rng.randint(1, 9)), level=level) for level in levels]
    once, thrice = error_rates(episodes), error_rates(episodes * 3)
    for name in RATES:
        assert thrice[name].n == 3 * once[name].n
        assert (thrice[name].low, thrice[name].high) == (once[name].low, once[name].high)
    assert once["planning_error"].method == "clustered"
    assert once["planning_error"].high - once["planning_error"].low < 0.5
    assert error_rates(episodes[::-1]) == once


def test_a_rate_that_is_the_same_in_all_levels_keeps_an_interval() -> None:
    fine = decision("U", "U", viable="U")
    for count in (1, 5, 40):
        rate = error_rates([episode(*[fine] * 10, level=str(level)) for level in range(count)])["sampling_error"]
        assert (rate.value, rate.method) == (0.0, "wilson-levels")
        assert (rate.low, rate.high) == wilson(0, count)
    low, high, method = ratio_interval([1, 2], [2, 4], ["a", "b"])
    assert (low, high, method) == (*wilson(1, 2), "wilson-levels")


COUNT = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 4))
COUNTS = st.lists(COUNT.map(lambda c: (min(c[0], c[1]), c[1], c[2])), min_size=1, max_size=12)


@given(COUNTS, st.randoms(use_true_random=False))
def test_intervals_hold_the_ratio_and_ignore_order_and_names(
    counts: list[tuple[int, int, int]], rng: random.Random
) -> None:
    def interval(items: list[tuple[int, int, int]], name: str) -> tuple[float, float, str]:
        above, below, clusters = zip(*items, strict=True)
        return ratio_interval(above, below, [f"{name}{cluster}" for cluster in clusters], resamples=200)

    low, high, method = interval(counts, "a")
    below = sum(n for _, n, _ in counts)
    assert (method == "none") == (below == 0)
    if below:
        assert 0 <= low <= sum(c for c, _, _ in counts) / below <= high <= 1
    shuffled = rng.sample(counts, len(counts))
    assert interval(shuffled, "b") == (low, high, method)


def test_the_bootstrap_of_a_ratio_weighs_levels_by_what_was_counted_there() -> None:
    # One level with 0 of 100 and one with 1 of 1: resampling gives 0 / 100, 1 / 101 or 1, each often enough.
    assert clustered_ratio([0, 1], [100, 1], ["a", "b"]) == (0.0, 1.0)
    low, high = clustered_ratio([10, 20] * 50, [100, 100] * 50, range(100))
    assert 0.135 < low < 0.15 < high < 0.165
    assert clustered_ratio([3, 1], [6, 2], ["a", "a"]) == (0.5, 0.5)
    with pytest.raises(ConfigError, match="denominator"):
        clustered_ratio([0], [0], ["a"])
    with pytest.raises(ConfigError, match="1 denominators"):
        clustered_ratio([0, 1], [1], ["a", "b"])


def test_bounds_at_the_measured_rates() -> None:
    played = [
        episode(*HAND, level="a", horizon=3, draws=(True, False)),
        episode(*[decision("U", "U", viable="U", step=i) for i in range(2)], level="b", horizon=2, success=True),
    ]
    first, second = bounds(played, draws=4)
    rates = ErrorRates(3 / 8, 4 / 8, 1 / 2, 1 / 2)
    assert (first.level, first.success, first.episodes) == ("a", 0.0, 1)
    assert (second.level, second.success, second.path) == ("b", 1.0, 1.0)
    assert first.path == pytest.approx(4 / 8), "all of the decisions at step 0; nothing is known of later ones"
    assert (first.react, second.react) == (react_bound(3, rates), react_bound(2, rates))
    assert (first.ours, second.ours) == (tape_bound(3, 1 / 2, 4), tape_bound(2, 1 / 2, 4))
    assert bounds(played)[0].ours is None
    assert bounds([episode(decision("", "U", viable="U"))], draws=4)[0].react is None
    with pytest.raises(ConfigError, match="horizons"):
        bounds([episode(), episode(horizon=4)])


def test_a_delta_that_was_never_observed_is_taken_kindly() -> None:
    for delta, decisions in (
        (0.0, [decision("D", "L", viable="U"), decision("U", "U", viable="U")]),
        (1.0, [decision("U", "L", viable="U"), decision("D", "D", viable="U")]),
    ):
        [row] = bounds([episode(*decisions)])
        assert row.react == react_bound(3, ErrorRates(0.5, 0.5, delta, delta))


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 2), st.floats(0.1, 0.9))
def test_success_never_exceeds_the_bound_of_the_path(seed: int, horizon: int, slack: int, error: float) -> None:
    """A corridor: the goal is ``horizon`` steps to the right, L wastes a step, D is fatal."""
    rng = random.Random(seed)
    played = []
    for _ in range(rng.randint(1, 8)):
        left, budget, dead = horizon, horizon + slack, False
        decisions: list[Decision] = []
        while left and budget and rng.random() > 0.02:
            viable = "" if dead or left > budget else "RL" if left < budget else "R"
            action = rng.choice("LD") if rng.random() < error else "R"
            decisions.append(decision(action, action, viable=viable, step=len(decisions)))
            dead |= action == "D"
            left, budget = left - (action == "R"), budget - 1
        played.append(episode(*decisions, horizon=horizon, success=left == 0 and not dead))
    [row] = bounds(played)
    assert row.success <= row.path + 1e-12
