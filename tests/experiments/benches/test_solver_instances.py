"""The benchmark's instances: the same every time, well-formed, and as tight as they claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.benches.solvers.catalogue import catalogue, shape
from experiments.benches.solvers.instances import COSTS, REWARDS, Spec
from solvers import PathProblem, Status, consumption_of, solve

TINY = [
    Spec("folded", shape(world="plane", M=4, L=10), resources=2, budget=0.5, seed=3),
    Spec("folded", shape(world="lane", M=8, L=12), resources=3, rewards="coarse", costs="money", budget=0.4),
    Spec("grid", shape(moves="directed", w=4, h=4, L=8), resources=1, rewards="dense-02", budget=0.7),
    Spec("grid", shape(moves="loose", w=4, h=4, L=12), resources=3, costs="hundreds", budget=0.5),
    Spec("layered", shape(layers=5, width=4, degree=2), resources=1, budget=0.2),
    Spec("stress", shape(kind="random", n=60, L=10), resources=2, budget=0.5),
    Spec("stress", shape(kind="loose", n=25, L=14), resources=1, budget=0.5),
]


def unbudgeted(problem: PathProblem) -> PathProblem:
    return replace(problem, costs=(), budgets=(), resources=())


@pytest.mark.parametrize("spec", TINY, ids=lambda spec: spec.name)
class TestInstances:
    def test_the_budgets_bind_and_leave_a_walk(self, spec: Spec) -> None:
        one = spec.build()
        free = solve(unbudgeted(one.problem))
        use = consumption_of(one.problem, free.edges)
        bound = solve(one.problem)
        assert bound.status is Status.OPTIMAL
        assert bound.objective is not None
        assert free.objective is not None
        assert bound.objective <= free.objective
        assert one.share is not None
        assert spec.budget is not None
        assert spec.budget <= one.share < 1
        for budget, amount in zip(one.problem.budgets, use, strict=True):
            assert budget == int(one.share * amount) < amount

    def test_it_is_what_its_parameters_say_every_time(self, spec: Spec) -> None:
        problem = spec.build().problem
        low, high = COSTS[spec.costs]
        assert spec.build().problem == problem
        assert replace(spec, seed=spec.seed + 1).build().problem != problem
        assert len(problem.budgets) == spec.resources
        assert all(low <= cost <= high for row in problem.costs for cost in row)
        assert problem.terminals
        assert problem.start not in problem.terminals


def test_the_catalogue_has_every_family_and_no_name_twice() -> None:
    specs = catalogue()
    assert {spec.family for spec in specs} == {"folded", "grid", "layered", "stress"}
    assert len({spec.name for spec in specs}) == len(specs)
    assert {spec.resources for spec in specs} == {0, 1, 2, 3}
    assert {spec.rewards for spec in specs} == set(REWARDS)
    assert set(catalogue(quick=True)) <= set(specs)
