"""Problems in whole numbers mean the same: exactly for integers and decimals, on the safe side for other floats."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers import ProblemError, RcspProblem
from solvers.rcsp.folded import fold
from tests.solvers.rcsp.brute_force import exact

WHOLE = st.integers(0, 1000)
DECIMALS = st.integers(0, 12).flatmap(lambda places: WHOLE.map(lambda units: units / 10**places))
FLOATS = st.floats(0, 1000, allow_subnormal=False)


def line(amounts: list[float], **others: object) -> RcspProblem:
    """Nodes in a row, each edge with its amount as its use and its cost."""
    m = len(amounts)
    return RcspProblem(m + 1, list(range(m)), list(range(1, m + 1)), amounts, amounts, **others)  # type: ignore[arg-type]


def test_what_the_source_takes_comes_off_the_limits() -> None:
    problem = RcspProblem(
        n_nodes=3, tails=[0, 1], heads=[1, 2], cost=[10, 20], use=[[1, 5], [2, 5]], node_cost=[100, 200, 300],
        node_use=[[7, 0], [8, 0], [9, 0]], lower=[10, 0], upper=[50, None], resources=["time", "money"],
    )  # fmt: skip
    folded = fold(problem)
    assert (folded.lower, folded.upper) == ((3, 0), (43, None))
    assert (fold(problem, maximise=True).cost + fold(problem).cost).tolist() == [0, 0]
    assert (fold(problem, maximise=True).node_cost + fold(problem).node_cost).tolist() == [0, 0, 0]
    assert folded.hopeless is None


@pytest.mark.parametrize("kind", [int, float])
def test_what_the_source_alone_breaks_is_hopeless(kind: type) -> None:
    problem = RcspProblem(1, [], [], [], np.zeros((0, 2)), node_use=np.array([[1, 3]], dtype=kind), upper=[5, 2])
    assert fold(problem).hopeless == 1
    assert fold(problem.with_limits([0, 0], [5, 3])).hopeless is None
    assert fold(problem.with_limits([0, 9], [5, 8])).hopeless == 1
    assert fold(problem.with_limits([0, 0], [-1, None])).hopeless == 0


@given(st.lists(DECIMALS, min_size=1, max_size=100), DECIMALS)
def test_decimals_are_counted_exactly(amounts: list[float], limit: float) -> None:
    problem = line(amounts, upper=[limit])
    folded = fold(problem)
    assert folded.cost_places is not None
    assert [unit / folded.cost_unit for unit in folded.cost.tolist()] == list(map(exact, amounts))
    within = sum(folded.use[:, 0].tolist()) <= folded.upper[0]  # type: ignore[operator]
    assert within == (sum(map(exact, amounts)) <= exact(limit))


@given(st.lists(st.one_of(FLOATS, DECIMALS), min_size=1, max_size=20), FLOATS)
def test_other_floats_are_rounded_to_the_safe_side(amounts: list[float], limit: float) -> None:
    used = sum(map(Fraction, amounts))
    for kind, sign in (("upper", 1), ("lower", -1)):
        folded = fold(line(amounts, **{kind: [limit]}))
        if kind == "lower" and limit == 0:
            continue
        kept = sign * folded.use.sum() <= sign * getattr(folded, kind)[0]
        assert folded.use_places[0] is not None or not kept or sign * used <= sign * exact(limit)
        assert kept or sign * used > sign * exact(limit) * (1 - sign * Fraction(1, 10**10))


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_the_order_of_other_floats_as_costs_is_kept(costs: list[float]) -> None:
    folded = fold(line(costs))
    exactly = folded.cost_places is not None
    for cost, unit in zip(costs, folded.cost.tolist(), strict=True):
        error = abs(unit / folded.cost_unit - (exact(cost) if exactly else Fraction(cost)))
        assert error <= (0 if exactly else Fraction(max(costs)) / 2**38)


def test_numbers_of_any_size_fit() -> None:
    huge = fold(RcspProblem(4, [0, 1, 2], [1, 2, 3], [1e300, 2e300, 1e-300]))
    assert huge.cost[1] == 2 * huge.cost[0] <= 2**54
    assert huge.cost[2] <= 1  # rounded up, unless it is nothing beside the others
    assert fold(RcspProblem(3, [0, 1], [1, 2], [1e300, 1e299])).cost[0] > 2**44
    assert fold(RcspProblem(3, [0, 1], [1, 2], [2**48, 1])).cost.tolist() == [2**48, 1]


def test_limits_may_be_decimals_where_amounts_are_integers() -> None:
    folded = fold(line([1, 2], lower=[1.5], upper=[2.5]))
    assert (folded.lower, folded.upper) == ((2,), (2,))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"n_nodes": 0}, "n_nodes = 0"), ({"n_nodes": True}, "n_nodes = True"),
        ({"tails": [0, 3]}, r"tails\[1\] = 3: no such node; the nodes are 0..2"), ({"tails": [0.0, 1.0]}, "tails"),
        ({"heads": [1]}, "heads"), ({"heads": [1, -1]}, r"heads\[1\] = -1"),
        ({"cost": [1, float("nan")]}, r"cost\[1\] = nan: must be finite"), ({"cost": [1, "2"]}, r"cost\[0\]|cost\[1\]"),
        ({"cost": [1, True, 3]}, "cost = 'shape"), ({"cost": [1, None]}, r"cost\[1\] = None: expected a number"),
        ({"cost": [1, 2**62]}, r"cost\[1\] = \d+: must be within"), ({"cost": [1, 10**400]}, r"cost\[1\]"),
        ({"use": [[1], [-1]]}, r"use\[1\]\[0\] = -1: must not be negative"),
        ({"use": [[1], [2**61]]}, r"use\[1\]\[0\] = \d+: must be at most 2\*\*60"), ({"use": [[1], [1, 2]]}, "use"),
        ({"use": [[1]]}, "use = 'shape"), ({"node_use": [[1, 1]] * 3}, "node_use = '2 columns': expected 1"),
        ({"node_cost": [1, 2]}, "node_cost"), ({"upper": [1, 2]}, "upper = '2 values': expected 1"),
        ({"upper": [float("nan")]}, r"upper\[0\] = nan"), ({"upper": [2**60]}, r"upper\[0\]"),
        ({"lower": [float("inf")]}, r"lower\[0\]"), ({"source": 3}, "source = 3"), ({"target": 1.0}, "target = 1.0"),
        ({"resources": ["a", "b"]}, "resources"), ({"resources": [""]}, r"resources\[0\]"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_named(changes: dict[str, object], text: str) -> None:
    fields = {"n_nodes": 3, "tails": [0, 1], "heads": [1, 2], "cost": [1, 2], "use": [[1], [2]]} | changes
    with pytest.raises(ProblemError, match=text):
        RcspProblem(**fields)  # type: ignore[arg-type]


def test_nothing_is_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fold(RcspProblem(3, [0, 1], [1, 2], [1.7e308, -1e300], [[1e18], [0.3]], upper=[1e-300]))
