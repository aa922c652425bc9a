"""Horizons beyond what the best paths need: the same paths as enumeration finds, at no cost, on the exact grid."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from solvers import PathProblem, Status, check, k_best, solve
from solvers.check import objective_of
from solvers.errors import TooLargeError
from solvers.grid import score_grid, tail_weight
from solvers.horizon import useful_moves
from solvers.testing import risky, small, tight
from solvers.testing.brute_force import paths, ranking
from tests.solvers.reference import Reference, same_path_as_brute_force
from tests.solvers.test_agreement import needs

BACKENDS = ["cp-sat", "pulp:cbc", "pulp:highs"]
ENUMERATED = 6
"""Paths of up to so many moves are enumerated."""


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are left out however short the horizon is."""
    monkeypatch.setattr("solvers.horizon.WORTH", 0)


def drawn(seed: int, *, costly: bool) -> PathProblem:
    """A problem of at most 5 nodes with a horizon up to 10**18; with `costly` all its paths can be enumerated."""
    rng = random.Random(f"horizon-{seed}-{costly}")
    n = rng.randint(2, 5)
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(1, 6))]
    resources = rng.randint(1, 3) if costly else rng.randint(0, 2)
    style = rng.choice(["tenths", "coarse", "goals", "fine"])
    rewards = {
        "tenths": lambda: rng.randint(-10, 10) / 10,
        "coarse": lambda: float(rng.randint(0, 1)),
        "goals": lambda: 0.0,
        "fine": lambda: rng.uniform(-1, 1),
    }[style]
    terminals = [node for node in range(n) if rng.random() < 0.4]
    values = [rewards() for _ in range(n)]
    if style == "goals":
        values = [1.0 if node in terminals[:1] else 0.2 if node in terminals else 0.0 for node in range(n)]
    least = 1 if costly else 0
    return PathProblem(
        n_nodes=n,
        edges=edges,
        rewards=values,
        costs=[[least if k == 0 else 0 for k in range(resources)] for _ in edges]
        if rng.random() < 0.2
        else [[rng.randint(least if k == 0 else 0, 3) for k in range(resources)] for _ in edges],
        budgets=[rng.randint(0, ENUMERATED) for _ in range(resources)],
        start=rng.randrange(n),
        terminals=terminals,
        horizon=rng.choice([1_001, 5_000, 10**6, 10**9, 10**15, 10**18]),
        discount=rng.choice([1.0, 1.0, 1.0, 0.99, 0.5]),
    )


def worth(problem: PathProblem, edges: tuple[int, ...]) -> Fraction:
    """The exact objective, in the decimals that the rewards are written as, stays by their closed form."""
    discount, horizon = Fraction(repr(problem.discount)), problem.horizon
    rewards = [Fraction(repr(reward)) for reward in problem.rewards]
    nodes = [problem.edges[edge][1] for edge in edges]
    total = sum((discount**step * rewards[node] for step, node in enumerate(nodes)), Fraction(0))
    end = rewards[nodes[-1] if nodes else problem.start]
    if discount == 1:
        return total + (horizon - len(edges)) * end
    with localcontext(prec=60):  # to sixty places, which is enough
        last = Fraction(int((Decimal(repr(problem.discount)) ** Decimal(horizon)).scaleb(60)), 10**60)
    return total + (discount ** len(edges) - last) / (1 - discount) * end


def ranked(problem: PathProblem) -> list[tuple[Fraction, int, tuple[int, ...]]]:
    """All paths of up to `ENUMERATED` moves, best first: loss, moves, edges."""
    enumerated = paths(replace(problem, horizon=min(problem.horizon, ENUMERATED)))
    return sorted((-worth(problem, edges), len(edges), edges) for edges in enumerated)


def agrees(problem: PathProblem, solver: object = "labelling") -> str:
    """The answer is the first path of all; the return value names the outcome."""
    answer = solve(problem, solver)  # type: ignore[arg-type]
    assert check(problem, answer) == [], problem
    expected = ranked(problem)
    complete = all(row[0] for row in problem.costs) if problem.budgets else False
    if answer.status is Status.ERROR:
        assert TooLargeError.__name__ in answer.message, (answer, problem)
        assert not complete, problem
        return "refused"
    if not expected:
        assert answer.status is Status.INFEASIBLE, (answer, problem)
        return "infeasible"
    assert answer.status is Status.OPTIMAL, (answer, problem)
    moves = useful_moves(problem)
    if complete or moves <= ENUMERATED:
        best = expected[0]
        if problem.discount == 1.0:
            assert answer.edges == best[2], problem
        else:
            assert -worth(problem, answer.edges) - best[0] <= Fraction(1, 10**11) * abs(best[0]), problem
        return f"complete, {'discounted' if problem.discount < 1 else 'plain'}"
    assert (-worth(problem, answer.edges), len(answer.edges)) <= expected[0][:2], problem
    return "no shorter path is better"


def sweep(first: int, count: int, solver: object = "labelling") -> Counter[str]:
    """How `count` problems of each kind came out."""
    ends: Counter[str] = Counter()
    for seed in range(first, first + count):
        ends[agrees(drawn(seed, costly=True), solver)] += 1
        if not isinstance(solver, Reference):  # which takes minutes over a million steps where a circle pays
            ends[agrees(drawn(seed, costly=False), solver)] += 1
    return ends


def test_long_horizons_give_the_paths_of_enumeration() -> None:
    ends = sweep(0, 60)
    assert ends["complete, plain"] >= 20, ends
    assert ends["complete, discounted"] >= 8, ends
    assert 0 < ends["refused"] < 30, ends


def test_so_they_do_in_numpy() -> None:
    assert sweep(5_000, 16, Reference())["complete, plain"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("solver", BACKENDS)
def test_so_they_do_with_every_backend(solver: str) -> None:
    needs(solver)
    ends: Counter[str] = Counter()
    for seed in range(9_000, 9_025):
        for costly in (True, False):
            problem = drawn(seed, costly=costly)
            ours, theirs = solve(problem), solve(problem, solver)
            assert check(problem, theirs) == []
            if theirs.status is Status.ERROR:
                ends["refused"] += 1
                continue
            assert ours.status is theirs.status, (problem, theirs)
            ends[theirs.status.value] += 1
            if ours.objective is not None:  # theirs is exact to 1e-6 of the largest gain, which stays may be
                assert theirs.objective == pytest.approx(ours.objective, rel=1e-6, abs=1e-6), problem
    assert ends["OPTIMAL"] >= 10, ends


@pytest.mark.usefixtures("always")
def test_short_horizons_with_steps_left_out_give_the_same_paths() -> None:
    short_horizons(0, 25)


def short_horizons(first: int, count: int) -> None:
    """The paths of enumeration, by both objectives."""
    for seed in range(first, first + count):
        for make in (small, tight, risky):
            same_path_as_brute_force(make(seed))
            same_path_as_brute_force(replace(make(seed), objective="visit"))


@pytest.mark.usefixtures("always")
def test_the_k_best_paths_keep_their_order() -> None:
    for seed in range(60):
        problem = small(seed)
        expected = [edges for _, edges in ranking(problem)]
        for k in (1, 2, 4, 1000):
            assert [solution.edges for solution in k_best(problem, k)] == expected[:k], (problem, k)


@pytest.mark.soak
@pytest.mark.usefixtures("always")
def test_long_sweep_of_horizons() -> None:
    ends = {"labelling": sweep(100_000, 2_000), "numpy": sweep(100_000, 100, Reference())}
    short_horizons(100_000, 100)
    folder = os.environ.get("TAPE_SOAK_RESULTS")
    if folder:
        (Path(folder) / "horizons.json").write_text(json.dumps(ends, indent=1) + "\n")
    assert ends["labelling"]["complete, plain"] >= 800


def chain(n: int, **changes: object) -> PathProblem:
    """0 -> 1 -> ... -> n - 1 with a way back from each node, the last of which is the goal."""
    edges = [(node, node + 1) for node in range(n - 1)] + [(node + 1, node) for node in range(n - 1)]
    problem = PathProblem(n, edges, [0.0] * (n - 1) + [1.0], [], [], start=0, terminals=[n - 1], horizon=10**18)
    return replace(problem, **({"costs": ()} | changes))  # type: ignore[arg-type]


ONE_WAY = [(node, node + 1) for node in range(49)]
EARNING = {"n": 3, "rewards": [0, 5.0, 1.0]}


@pytest.mark.parametrize(
    ("changes", "wanted", "moves"),
    [
        ({"n": 50, "edges": ONE_WAY}, 1, 49),  # without circles the longest path
        ({"n": 50}, 1, 49),  # no circle pays: each node once
        ({"n": 50}, 3, 149),
        ({**EARNING, "costs": [[2]] * 4, "budgets": [25]}, 1, 12),
        ({**EARNING, "costs": [[2, 0], [0, 3]] * 2, "budgets": [25, 9]}, 1, 15),
        (EARNING, 1, 10**18),  # a free circle earns more than every end
        ({**EARNING, "discount": 0.9}, 1, 360),  # until what is left counts no more
        ({"n": 4, "rewards": [-4.0, 3.0, -4.0, 0.0]}, 1, 3),  # a circle loses more than it earned
        # A circle earns more than the end at 1.
        ({"n": 4, "rewards": [0.0, 0.2, 0.999, 1.0], "terminals": [1, 3], "horizon": 1001}, 1, 1001),
        ({"n": 3, "horizon": 1000}, 1, 1000),  # a short horizon is looked at step by step
    ],
)
def test_useful_moves(changes: dict[str, Any], wanted: int, moves: int) -> None:
    assert useful_moves(chain(**changes), wanted=wanted) == moves


class TestTheGrid:
    def test_a_long_horizon_takes_no_digits_from_the_way(self) -> None:
        problem = chain(4, edges=[(0, 1), (1, 3), (0, 2), (2, 3)], rewards=[0, 0.1, 0.10000001, 1.0])
        assert score_grid(problem).scale >= 1e9
        assert solve(problem).nodes == (0, 2, 3)

    def test_a_richer_end_wins_however_little_richer_and_whatever_the_way(self) -> None:
        problem = chain(
            4, edges=[(0, 1), (0, 2), (2, 3)], rewards=[0, 1.0, -1000.0, 1.000001], terminals=[1, 3], horizon=10**12
        )
        assert solve(problem).nodes == (0, 2, 3)
        assert solve(replace(problem, horizon=10**8)).nodes == (0, 1)

    @pytest.mark.parametrize("horizon", [10_001, 10**9, 10**18])
    def test_the_objective_is_the_correctly_rounded_sum(self, horizon: int) -> None:
        problem = chain(3, rewards=[0.3, 0.1, 0.7], horizon=horizon)
        exact = Fraction(0.1) + Fraction(0.7) * (horizon - 1)
        assert objective_of(problem, (0, 1)) == float(exact)

    @pytest.mark.parametrize("discount", [0.5, 0.9, 0.9999, 1 - 1e-12, 1e-9])
    @pytest.mark.parametrize(("first", "horizon"), [(0, 3), (7, 2_000), (3, 20_000)])
    def test_the_closed_form_of_stays(self, discount: float, first: int, horizon: int) -> None:
        exact = Fraction(discount)
        total = float((exact**first - exact**horizon) / (1 - exact))
        assert tail_weight(discount, first, horizon) == pytest.approx(total, rel=1e-13)


def test_longer_is_never_worse_where_a_visit_earns_once() -> None:
    for seed in range(30):
        problem = replace(drawn(seed, costly=True), objective="visit", discount=1.0)
        objectives = [solve(replace(problem, horizon=horizon)).objective for horizon in (1, 5, 1_001, 10**6, 10**18)]
        known = [objective for objective in objectives if objective is not None]
        assert known == sorted(known)
        assert objectives[-1] == objectives[-2]
