"""The frontier and the next budget against enumeration; what is proven when they are cut short; malformed questions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    Frontier,
    PathProblem,
    ProblemError,
    Risk,
    Status,
    check,
    consumption_of,
    frontier,
    next_budget,
    solve,
)
from solvers.answer import without_path
from solvers.criteria import exact_objective
from solvers.testing import Enumeration, ranking, small, tight
from solvers.testing.brute_force import paths
from tests.profiles import examples
from tests.solvers.reference import Reference, Scripted
from tests.solvers.test_visit import CIRCLE, visiting

Vector = tuple[Fraction | int, ...]

LADDER = PathProblem(
    n_nodes=3,
    edges=[(0, 1)] * 3 + [(1, 2)] * 3,
    rewards=[0, 0, 0],
    costs=[[0, 9], [2, 4], [5, 1], [0, 9], [3, 3], [7, 0]],
    budgets=[12, 18],
    start=0,
    terminals=[2],
    horizon=2,
    resources=["usd", "seconds"],
    objective="visit",
    edge_rewards=[0.1, 0.2, 0.4, 0, 0.3, 0.7],
)


def question(seed: int) -> tuple[PathProblem, tuple[str, ...]]:
    """A small problem, and two or more criteria of it in any order."""
    rng = random.Random(seed)
    problem = rng.choice([small, tight, visiting, lambda item: visiting(item, tight(item))])(seed)
    names = [*problem.resources, "objective"]
    if len(names) == 1:
        problem = replace(problem, costs=[[rng.randint(0, 3)] for _ in problem.edges], budgets=[6], resources=["r0"])
        names = ["r0", "objective"]
    problem = replace(problem, horizon=min(problem.steps, 4))
    return problem, tuple(rng.sample(names, rng.randint(2, min(3, len(names)))))


def vectors(problem: PathProblem, criteria: tuple[str, ...]) -> list[Vector]:
    """Of every path that keeps the budgets what it has of the criteria, so that less is better."""
    return [vector(problem, criteria, objective, edges) for objective, edges in ranking(problem)]


def vector(problem: PathProblem, criteria: tuple[str, ...], objective: Fraction, edges: tuple[int, ...]) -> Vector:
    amounts = {"objective": -objective, **problem.named(consumption_of(problem, edges))}
    return tuple(amounts[name] for name in criteria)


def dominates(item: Vector, other: Vector) -> bool:
    return item != other and all(a <= b for a, b in zip(item, other, strict=True))


def non_dominated(every: list[Vector]) -> list[Vector]:
    distinct = sorted(set(every))
    return [fractions for fractions in distinct if not any(dominates(other, fractions) for other in distinct)]


def of_solutions(problem: PathProblem, result: Frontier) -> list[Vector]:
    """The same of what was found, exactly."""
    assert all(check(problem, solution) == [] for solution in result)
    exact = exact_objective(problem)
    return [vector(problem, result.criteria, exact(solution.edges), solution.edges) for solution in result]


def same_as_brute_force(seed: int) -> str:
    """Check both answers for one question; returns what it was."""
    problem, criteria = question(seed)
    resource = random.Random(seed).choice(problem.resources)
    k, exact = problem.resources.index(resource), exact_objective(problem)
    ample = max(problem.budgets[k], problem.steps * max((row[k] for row in problem.costs), default=0))
    lifted = replace(problem, budgets=[ample if i == k else b for i, b in enumerate(problem.budgets)])
    every = [(exact(edges), edges, consumption_of(problem, edges)[k]) for edges in paths(lifted)]
    fitting = [pair for pair in every if pair[2] <= problem.budgets[k]]

    result = frontier(problem, criteria)
    expected = non_dominated([vector(problem, criteria, objective, edges) for objective, edges, _ in fitting])
    assert of_solutions(problem, result) == expected, (problem, criteria)
    assert result.status == (Status.OPTIMAL if expected else Status.INFEASIBLE)
    assert result.bound is None

    now = max((objective for objective, _, _ in fitting), default=None)
    better = [(amount, objective) for objective, _, amount in every if now is None or objective > now]
    need = next_budget(problem, resource)
    assert (need.given, need.proven) == (problem.budgets[k], True)
    assert need.least == min((amount for amount, _ in better), default=None), (problem, resource)
    if need.least is not None:
        assert need.path is not None
        best = max(objective for amount, objective in better if amount == need.least)
        assert exact(need.path.edges) == best
        raised = replace(problem, budgets=[need.least if i == k else b for i, b in enumerate(problem.budgets)])
        assert exact(solve(raised).edges) == best
    return f"{len(criteria)} criteria, {'nothing fits' if not expected else 'one' if len(expected) == 1 else 'several'}"


def sweep(seeds: range, record: Callable[[str, object], None]) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        try:
            kinds[same_as_brute_force(seed)] += 1
        except BaseException as error:
            raise AssertionError(f"the question of seed {seed}") from error
    for name, count in sorted(kinds.items()):
        record(name, count)
    return kinds


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(50, 250), id="200"),
        *(
            pytest.param(range(first, first + 5000), marks=pytest.mark.soak, id=f"5,000 of 50,000 from {first}")
            for first in range(100_000, 150_000, 5000)
        ),
    ],
)
def test_brute_force_agrees(seeds: range, record_property: Callable[[str, object], None]) -> None:
    kinds = sweep(seeds, record_property)
    assert set(kinds) == {f"{n} criteria, {what}" for n in (2, 3) for what in ("nothing fits", "one", "several")}


@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 2.0]))
@examples(400)
def test_with_an_epsilon_every_path_is_nearly_covered(seed: int, epsilon: float) -> None:
    problem, criteria = question(seed)
    every, stretch = vectors(problem, criteria), 1 + Fraction(repr(epsilon))
    solutions = of_solutions(problem, frontier(problem, criteria, epsilon))
    lead = "objective" if "objective" in criteria else criteria[0]
    factors = [1 if name == lead else stretch for name in criteria]
    for fractions in every:
        assert any(all(a <= f * b for a, b, f in zip(kept, fractions, factors, strict=True)) for kept in solutions)
    assert len(solutions) <= len(non_dominated(every))
    assert not any(dominates(item, other) for item in solutions for other in solutions)


@given(st.integers(0, 10**6), st.integers(1, 4))
@examples(400)
def test_what_is_cut_short_says_what_is_proven(seed: int, most: int) -> None:
    problem, criteria = question(seed)
    whole, result = non_dominated(vectors(problem, criteria)), frontier(problem, criteria, most=most)
    got = of_solutions(problem, result)
    if result.status is not Status.FEASIBLE:
        assert got == whole
        return
    assert result.bound is not None
    assert "there are more" in result.message
    lead = criteria.index("objective") if "objective" in criteria else 0
    bound = -result.bound if "objective" in criteria else result.bound
    assert [fractions for fractions in got if fractions[lead] < bound - 1e-9] == [
        fractions for fractions in whole if fractions[lead] < bound - 1e-9
    ]
    assert all(fractions[lead] <= bound + 1e-9 for fractions in got)


@pytest.mark.parametrize("solver", [Enumeration(), Reference(), "cp-sat"])
def test_any_solver_will_do(solver: object) -> None:
    if solver == "cp-sat":
        pytest.importorskip("ortools")
    for criteria in (("usd", "objective"), ("usd", "seconds"), ("usd", "seconds", "objective")):
        result, same = frontier(LADDER, criteria, solver=solver), frontier(LADDER, criteria)  # type: ignore[arg-type]
        assert [solution.consumption for solution in result] == [solution.consumption for solution in same]
    assert next_budget(replace(LADDER, budgets=[6, 18]), "usd", solver).least == 7  # type: ignore[arg-type]


def test_circles_that_earn() -> None:
    free = replace(CIRCLE, horizon=None)
    limited = frontier(free, (free.resources[0], "objective"))
    assert limited.status is Status.OPTIMAL
    assert len(limited) > 1
    need = next_budget(free, free.resources[0])
    assert need.proven
    assert need.least is not None
    assert need.path.objective > (solve(free).objective or 0)  # type: ignore[operator]


def test_a_failing_solver() -> None:
    late = Scripted(2, without_path(Status.TIMEOUT))
    result = frontier(LADDER, ("usd", "objective"), solver=late)
    assert (result.status, len(result), result.bound) == (Status.FEASIBLE, 2, pytest.approx(0.9))
    assert frontier(LADDER, ("usd", "objective"), solver=Scripted(0, without_path(Status.TIMEOUT))).status == "TIMEOUT"
    broken = frontier(LADDER, ("usd", "objective"), solver=Scripted(1, RuntimeError("broken")))
    assert (broken.status, len(broken)) == (Status.ERROR, 0)
    assert "broken" in broken.message
    need = next_budget(replace(LADDER, budgets=[6, 18]), "usd", Scripted(1, without_path(Status.TIMEOUT)))
    assert (need.least, need.proven) == (None, False)


@pytest.mark.parametrize(
    ("criteria", "options", "message"),
    [
        ("usd", {}, "expected names"),
        (("usd",), {}, "one criterion has no frontier"),
        (("usd", "tokens"), {}, "no such criterion; there is usd, seconds, objective"),
        (("usd", "usd"), {}, "given twice"),
        (("usd", "seconds"), {"epsilon": -1}, "at least 0"),
        (("usd", "seconds"), {"epsilon": float("nan")}, "at least 0"),
        (("usd", "seconds"), {"most": 0}, "at least 1"),
        (("usd", "seconds"), {"time_limit": 0}, "positive number of seconds"),
    ],
)
def test_malformed_questions(criteria: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        frontier(LADDER, criteria, **options)  # type: ignore[arg-type]


def test_what_has_no_frontier() -> None:
    risky = replace(LADDER, spreads=[[1, 1]] * 6, risk=Risk(0.1))
    with pytest.raises(ProblemError, match="leave the risk out"):
        frontier(risky, ("usd", "objective"))
    with pytest.raises(ProblemError, match="leave the risk out"):
        next_budget(risky, "usd")
    with pytest.raises(ProblemError, match="no such resource; there is usd, seconds"):
        next_budget(LADDER, "objective")
    with pytest.raises(ProblemError, match="name of a criterion"):
        frontier(replace(LADDER, resources=["usd", "objective"]), ("usd", "objective"))
    long = replace(LADDER, costs=[[10**20 + 1, 1]] + [[10**20, 1]] * 5, budgets=[10**22, 9])
    with pytest.raises(ProblemError, match="coarser unit"):
        frontier(long, ("usd", "seconds"))
    assert frontier(long, ("usd", "objective")).status is Status.OPTIMAL
