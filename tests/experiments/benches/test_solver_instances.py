"""The benchmark's instances: the same every time, well-formed, and as tight as they claim."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from experiments.benches.solvers.budgets import edge_steps, with_budgets
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

    def test_it_is_what_its_parameters_say(self, spec: Spec) -> None:
        problem = spec.build().problem
        low, high = COSTS[spec.costs]
        assert len(problem.budgets) == spec.resources
        assert all(low <= cost <= high for row in problem.costs for cost in row)
        assert problem.terminals
        assert problem.start not in problem.terminals

    def test_the_same_parameters_give_the_same_problem(self, spec: Spec) -> None:
        assert spec.build().problem == spec.build().problem
        assert replace(spec, seed=spec.seed + 1).build().problem != spec.build().problem


def test_another_budget_changes_nothing_but_the_budgets() -> None:
    one, other = TINY[0].build().problem, replace(TINY[0], budget=0.8).build().problem
    assert replace(one, budgets=other.budgets) == other


def test_instances_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib; from tests.experiments.benches.test_solver_instances import TINY;"
        "print(hashlib.sha256(''.join(spec.build().problem.to_json() for spec in TINY).encode()).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_a_share_that_no_walk_keeps_is_raised_a_little_above_the_least_one() -> None:
    chain = PathProblem(3, [(0, 1), (0, 2)], [0, 0.1, 1.0], [[60], [100]], [0], 0, [1, 2], 1)
    budgeted = with_budgets(chain, 0.1)
    assert budgeted.asked == 0.1
    assert budgeted.use == (100,)
    assert budgeted.share == pytest.approx(0.62)
    assert budgeted.problem.budgets == (62,)
    assert with_budgets(chain, 0.7).problem.budgets == (70,)
    assert with_budgets(chain, 1.5).problem.budgets == (150,)


def test_without_a_terminal_in_reach_there_is_nothing_to_set() -> None:
    with pytest.raises(ValueError, match="INFEASIBLE"):
        with_budgets(PathProblem(2, [], [0, 0], [], [5], 0, [1], 3), 0.5)


def test_edge_steps_counts_what_can_be_part_of_a_walk() -> None:
    # 0 -> 1 at step 0, then either to the terminal 2 or to the dead end 3; 1 -> 1 must leave a step for 1 -> 2.
    problem = PathProblem(4, [(0, 1), (1, 1), (1, 2), (1, 3)], [0] * 4, [], [], 0, [2], 3)
    assert edge_steps(problem) == 1 + 1 + 2


def test_the_catalogue_has_every_family_and_no_name_twice() -> None:
    specs = catalogue()
    assert {spec.family for spec in specs} == {"folded", "grid", "layered", "stress"}
    assert len({spec.name for spec in specs}) == len(specs)
    assert {spec.resources for spec in specs} == {0, 1, 2, 3}
    assert {spec.rewards for spec in specs} == set(REWARDS)
    for spec in specs:
        if spec.family == "folded":
            assert dict(spec.shape)["M"] <= 64
            assert dict(spec.shape)["L"] <= 50
    assert set(catalogue(quick=True)) <= set(specs)
