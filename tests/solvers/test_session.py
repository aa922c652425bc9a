"""A session answers a sequence of related problems as fresh solves do."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers import PathProblem, PathSolution, Risk, Session, Status, check, solve
from solvers.chances import linear_parts
from solvers.compiled import AVAILABLE, search
from solvers.labelling import answer_of
from solvers.testing import layered, risky, small, tight
from tests.profiles import examples


def next_problem(rng: random.Random, problem: PathProblem, path: tuple[int, ...]) -> PathProblem:
    """What may follow: the start moves along the path, and up to three things about the graph change."""
    edges, costs = list(problem.edges), [list(row) for row in problem.costs]
    rewards, terminals = list(problem.rewards), set(problem.terminals)
    nodes, start, horizon, budgets = problem.n_nodes, problem.start, problem.horizon, list(problem.budgets)
    if rng.random() < 0.8:
        for edge in path[: rng.randint(0, 3)]:
            start, horizon = problem.edges[edge][1], horizon - 1
            budgets = [have - cost for have, cost in zip(budgets, problem.costs[edge], strict=True)]
    for _ in range(rng.randint(0, 3)):
        price = [rng.randint(0, 9) for _ in budgets]
        what = rng.choice(["add", "refute", "price", "node", "reward", "terminal", "shuffle"])
        if what == "add":
            edges.append((rng.randrange(nodes), rng.randrange(nodes)))
            costs.append(price)
        elif what == "refute" and edges:
            index = rng.randrange(len(edges))
            edges.pop(index)
            costs.pop(index)
        elif what == "price" and edges:
            costs[rng.randrange(len(edges))] = price
        elif what == "node":
            edges += [(rng.randrange(nodes), nodes), (nodes, rng.randrange(nodes))]
            costs += [price, price]
            rewards.append(rng.choice(rewards))
            nodes += 1
        elif what == "reward":
            rewards[rng.randrange(nodes)] = rng.choice(rewards)
        elif what == "terminal":
            terminals ^= {rng.randrange(nodes)}
        elif what == "shuffle":
            order = rng.sample(range(len(edges)), len(edges))
            edges, costs = [edges[i] for i in order], [costs[i] for i in order]
    return replace(
        problem, n_nodes=nodes, edges=edges, costs=costs, rewards=rewards, terminals=terminals,
        budgets=budgets, start=start, horizon=max(1, horizon),
    )  # fmt: skip


def same(one: PathSolution, other: PathSolution) -> bool:
    a, b = (replace(answer, seconds=0, solve_seconds=None, message="") for answer in (one, other))
    return a == b


def follow(problem: PathProblem, seed: int, steps: int = 6) -> None:
    rng, session = random.Random(seed), Session()
    for _ in range(steps):
        answer = session.solve(problem)
        assert check(problem, answer) == []
        assert same(answer, solve(problem)), problem
        problem = next_problem(rng, problem, answer.edges)


def medium(seed: int) -> PathProblem:
    rng = random.Random(seed)
    return layered(seed, n=rng.choice([20, 60, 150]), horizon=rng.choice([12, 30]), resources=rng.randint(0, 3))


@pytest.mark.parametrize("block", range(4))
def test_answers_are_those_of_fresh_solves(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        follow(small(seed), seed)
        follow(tight(seed), seed)


@given(st.integers(0, 2**32))
@examples(60)
def test_answers_are_those_of_fresh_solves_on_larger_graphs(seed: int) -> None:
    follow(medium(seed), seed)


@pytest.mark.soak
def test_long_sweep() -> None:
    for seed in range(10_000, 11_000):
        follow(tight(seed), seed)
        follow(medium(seed), seed)


def test_a_problem_that_does_not_follow_starts_anew() -> None:
    session = Session()
    for problem in (medium(1), medium(2), tight(3), medium(1), replace(medium(1), horizon=40), small(4)):
        assert same(session.solve(problem), solve(problem))


def test_budgets_may_grow_by_any_factor() -> None:
    for resources in (1, 2, 3):
        for seed in range(3):
            session, base = Session(), layered(seed, n=60, horizon=30, resources=resources)
            for budget in (75, 75, 10**4, 2**30, 2**50, 2**58, 75):
                problem = replace(base, budgets=[budget] * resources)
                assert same(session.solve(problem), solve(problem))


def test_the_last_path_may_no_longer_fit_from_where_the_start_is_now() -> None:
    for seed in (50, 70, 284, *range(295, 300)):
        rng, session, problem = random.Random(seed), Session(), medium(seed)
        for _ in range(5):
            answer = session.solve(problem)
            assert same(answer, solve(problem))
            problem = replace(
                problem,
                budgets=[budget * rng.randint(5, 12) // 10 for budget in problem.budgets],
                start=rng.choice([*answer.nodes, problem.start]),
            )


def test_discount_risk_and_negative_budgets_are_solved_afresh() -> None:
    session = Session()
    base = medium(5)
    for problem in (base, replace(base, discount=0.9), risky(3), replace(base, budgets=[-1] * len(base.budgets)), base):
        assert same(session.solve(problem), solve(problem))
    assert session.solve(replace(risky(3), risk=Risk(0.01))).status in (Status.OPTIMAL, Status.INFEASIBLE)


def test_works_without_the_compiled_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.compiled.AVAILABLE", False)
    session = Session()
    problem = tight(11)
    assert same(session.solve(problem), solve(problem))


@pytest.mark.skipif(not AVAILABLE, reason="the compiled path was not built")
def test_what_a_session_keeps_spares_labels() -> None:
    before = after = 0
    for seed in range(40):
        problem = medium(seed)
        first = search(problem, linear_parts(problem), 1)
        if first.paths:
            nodes = answer_of(problem, first).nodes
            again = search(problem, linear_parts(problem), 1, known=nodes, prices=first.prices)
            assert again.paths == first.paths
            before, after = before + first.labels, after + again.labels
    assert 0 < after < before
