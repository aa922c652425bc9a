import importlib.util
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers.scheduling.api as api
from solvers import Schedule, ScheduleProblem, Status, Variant, check_schedule, schedule
from solvers.deadline import NEVER
from solvers.errors import ProblemError, SolverUnavailableError
from solvers.scheduling.cp_sat import solve_by_cp_sat
from solvers.scheduling.objective import objective_of_schedule
from tests.profiles import examples
from tests.solvers.scheduling.brute import best, key, random_problem

ortools = pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="OR-Tools is not installed")


def agrees(problem: ScheduleProblem) -> bool:
    """Whether there is a plan; fails if it is not as good as the best of all."""
    result, expected = schedule(problem), best(problem)
    assert not check_schedule(problem, result)
    if expected is None:
        assert result.status is Status.INFEASIBLE, (problem, result)
        return False
    assert result.status is Status.OPTIMAL, (problem, result)
    assert result.gap == 0
    assert result.end is not None
    assert key(problem, result.chosen, result.end) == expected, (problem, result)
    return True


def sweep(seeds: range, *, limits: bool = False) -> dict[str, int]:
    plans = sum(agrees(random_problem(random.Random(seed), limits=limits)) for seed in seeds)
    return {"problems": len(seeds), "with a plan": plans, "without": len(seeds) - plans, "disagreements": 0}


def test_like_brute_force() -> None:
    assert sweep(range(300))["with a plan"] > 100


@ortools
def test_like_brute_force_with_limits_on_calls_at_once() -> None:
    assert sweep(range(120, 170), limits=True)["with a plan"] > 15


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_like_brute_force_on_100_000_graphs(part: int) -> None:
    first = 100_000 + 5000 * part
    numbers = {
        "without limits on calls at once": sweep(range(first, first + 4500)),
        "with limits on calls at once": sweep(range(first + 4500, first + 5000), limits=True),
    }
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        file = Path(folder, "schedules.json")
        held = json.loads(file.read_text()) if part and file.exists() else {}
        for name, counts in held.items():  # the parts before
            for what, count in counts.items():
                numbers[name][what] += count
        file.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n")


@ortools
@examples(200)
@given(st.integers(0, 10**9))
def test_cp_sat_agrees_with_our_search(seed: int) -> None:
    problem = random_problem(random.Random(seed), steps=8)
    result = schedule(problem)
    other = solve_by_cp_sat(problem, objective_of_schedule(problem), NEVER)
    assert (result.status, result.objective) == (other.status, other.objective)
    assert not check_schedule(problem, other)


CHAIN = ScheduleProblem(
    [[Variant(5, (1,), 6), Variant(20, (4,), 9)], [Variant(10, (2,), 5)], [Variant(30, (3,), 7), Variant(3, (3,), 2)]],
    [[], [0], [0]],
    [9],
    50,
)


def test_what_comes_back() -> None:
    result = schedule(CHAIN)
    assert (result.status, result.chosen, result.starts, result.end) == (Status.OPTIMAL, (1, 0, 0), (0, 20, 20), 50)
    assert (result.value, result.used, bool(result)) == (21, (9,), True)
    assert schedule(replace(CHAIN, aim="time")).end == 15
    assert schedule(replace(CHAIN, aim=0)).used == (6,)
    assert schedule(replace(CHAIN, deadline=14)).status is Status.INFEASIBLE
    assert schedule(replace(CHAIN, budgets=[5])).status is Status.INFEASIBLE


@ortools
def test_limits_on_calls_at_once() -> None:
    steps = [[Variant(10, (), 1, "a")] for _ in range(4)]
    free = ScheduleProblem(steps, [[]] * 4)
    assert schedule(free).end == 10
    assert schedule(replace(free, parallel=3)).end == 20
    assert sorted(schedule(replace(free, at_once={"a": 1})).starts) == [0, 10, 20, 30]
    assert schedule(replace(free, at_once={"b": 1})).end == 10
    assert schedule(replace(free, at_once={"a": 1}, deadline=39)).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    "wrong",
    [
        {"chosen": (0, 0, 0)}, {"chosen": (2, 0, 0)}, {"chosen": (1, 0)}, {"starts": (0, 19, 20)}, {"end": 49},
        {"starts": (1, 21, 21), "end": 51}, {"starts": (-1, 20, 20)}, {"value": 22}, {"used": (8,)}, {"objective": 3},
        {"bound": 0.0}, {"status": Status.INFEASIBLE}, {"end": None},
    ],
)  # fmt: skip
def test_the_check_sees_what_is_wrong(wrong: dict[str, object]) -> None:
    result = schedule(CHAIN)
    assert check_schedule(CHAIN, result) == []
    assert check_schedule(CHAIN, replace(result, **wrong))  # type: ignore[arg-type]


def test_the_check_counts_calls_at_once() -> None:
    problem = ScheduleProblem([[Variant(2, (), 0, "a")]] * 3, [[]] * 3, parallel=2, at_once={"a": 1})
    objective = objective_of_schedule(problem).of((0, 0, 0), 2)
    together = Schedule(Status.FEASIBLE, (0, 0, 0), (0, 0, 0), 2, 0, (), objective)
    assert check_schedule(problem, together) == [
        "3 steps run at once, and 2 may",
        "3 steps of a run at once, and 1 may",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"after": [[1], [0], []]}, r"after\[0\] = \[1\]: steps wait for each other in a circle; break it"),
        ({"after": [[3], [], []]}, r"after\[0\] = 3: is no number of a step \(0 to 2\)"),
        ({"after": [[]]}, "expected a list for each of 3 steps"),
        ({"deadline": -1}, "deadline = -1: expected a whole number of at least 0, or None for no limit"),
        ({"steps": [], "after": []}, "there is nothing to schedule; give at least one step"),
        ({"parallel": 0}, "parallel = 0: expected a whole number of at least 1"),
        ({"at_once": {"a": 0}}, "at_once"),
        ({"budgets": [1.5]}, r"budgets\[0\] = 1.5"),
        ({"aim": 1}, 'expected "value", "time", or the number of a resource'),
        ({"steps": [[], [], []]}, "a step needs at least one variant"),
        ({"steps": [[Variant(1, (0.5,))]] * 3}, "whole numbers of at least 0"),
        ({"steps": [[Variant(1, ())]] * 3}, "expected an amount for each of 1 budgets"),
    ],
)
def test_bad_input(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        replace(CHAIN, **wrong)  # type: ignore[arg-type]


def test_without_ortools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.importlib.util, "find_spec", lambda name: None)
    assert schedule(CHAIN).value == 21
    assert schedule(replace(CHAIN, parallel=2)).value == 21  # no more than two run at once anyway
    with pytest.raises(
        SolverUnavailableError, match=r"limits on calls at once need OR-Tools; install tape-planner\[so"
    ):
        schedule(replace(CHAIN, parallel=1))
