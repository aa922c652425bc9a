"""The best plan under a cap on numbers equals an integer program's, on generated problems of deliveries."""

import random
from pathlib import Path

import pytest

pytest.importorskip("unified_planning")
pytest.importorskip("ortools")

from ortools.sat.python import cp_model

from envs.pddl.domain import PddlDomain
from envs.pddl.reading import load_task
from envs.pddl.search import cheapest_plans
from tests.envs.pddl.problems import written

DOMAIN = """(define (domain roads)
(:requirements :typing :action-costs :numeric-fluents)
(:types place)
(:predicates (at ?p - place) (road ?a ?b - place))
(:functions (total-cost) (toll) (price ?a ?b - place) (charge ?a ?b - place))
(:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
 :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (price ?a ?b)) (increase (toll) (charge ?a ?b)))))
"""

Roads = dict[tuple[int, int], tuple[int, int]]


def generated(seed: int) -> tuple[Roads, int]:
    """Roads between six places with a price and a toll each, and a cap on the toll that binds where it can."""
    rng = random.Random(seed)
    pairs = [(a, b) for a in range(6) for b in range(6) if a != b and rng.random() < 0.5]
    roads = {pair: (rng.randint(1, 9), rng.randint(0, 9)) for pair in pairs}
    best = by_ilp(roads, None)
    return roads, max(0, (best[1] if best else 9) - rng.randint(0, 3))


def by_ilp(roads: Roads, cap: int | None) -> tuple[int, int] | None:
    """The least price of a way from 0 to 5 within a cap on the toll, and its toll; by OR-Tools."""
    model = cp_model.CpModel()
    taken = {pair: model.new_bool_var(str(pair)) for pair in roads}
    for place in range(6):
        out = sum(taken[p] for p in roads if p[0] == place)
        into = sum(taken[p] for p in roads if p[1] == place)
        model.add(out - into == (place == 0) - (place == 5))
    toll = sum(taken[p] * roads[p][1] for p in roads)
    if cap is not None:
        model.add(toll <= cap)
    model.minimize(sum(taken[p] * roads[p][0] for p in roads))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return round(solver.objective_value), sum(roads[p][1] for p in roads if solver.value(taken[p]))


def problem_of(roads: Roads) -> str:
    facts = " ".join(
        f"(road p{a} p{b}) (= (price p{a} p{b}) {price}) (= (charge p{a} p{b}) {toll})"
        for (a, b), (price, toll) in roads.items()
    )
    return (
        f"(define (problem way) (:domain roads) (:objects {' '.join(f'p{i}' for i in range(6))} - place) "
        f"(:init (at p0) (= (total-cost) 0) (= (toll) 0) {facts}) (:goal (at p5)) (:metric minimize (total-cost)))"
    )


@pytest.mark.parametrize("part", range(4))
def test_two_hundred_problems_with_a_cap_equal_an_integer_program(part: int, tmp_path: Path) -> None:
    binding = 0
    for seed in range(part * 50, part * 50 + 50):
        roads, cap = generated(seed)
        domain = PddlDomain(load_task(*written(tmp_path, DOMAIN, problem_of(roads))))
        caps = domain.amounts({"toll": cap})
        plans = cheapest_plans(domain, domain.task.start, caps, 1, relaxed=False)
        expected, free = by_ilp(roads, cap), by_ilp(roads, None)
        binding += expected != free
        if not plans:
            assert expected is None
            continue
        assert expected is not None
        used = domain.used([domain.parse(action) for action in plans[0]])
        assert used is not None
        assert used["total_cost"] == expected[0] * 10**6
        assert used.get("toll", 0) <= cap * 10**6
    assert binding > 20
