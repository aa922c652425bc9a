"""`explain` describes infeasible problems as enumeration does, and claims nothing that a time limit cut off."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from solvers import Cause, Explanation, PathProblem, PathSolution, Risk, RiskUnsupportedError, Status, check, explain
from solvers.answer import without_path
from solvers.testing import Enumeration, paths, risky, small
from tests.solvers.reference import Scripted


def feasible(problem: PathProblem, **changes: Any) -> bool:
    return next(paths(replace(problem, **changes)), None) is not None


def short(seed: int, *, with_risk: bool) -> PathProblem:
    """A small problem with a horizon and budgets that are often too small."""
    rng = random.Random(seed)
    problem = risky(seed) if with_risk else small(seed)
    return replace(
        problem,
        horizon=rng.choice([1, 1, 2, problem.horizon]),
        budgets=[rng.choice([budget // 4, budget // 2, budget, budget, -1]) for budget in problem.budgets],
    )


def simple_paths(problem: PathProblem) -> Iterator[tuple[int, ...]]:
    """Every path to a terminal within n - 1 moves, whatever it costs."""
    ample = [10**9] * len(problem.budgets)
    yield from paths(replace(problem, horizon=max(1, problem.n_nodes - 1), budgets=ample, risk=None))


def least_horizon(problem: PathProblem) -> int | None:
    longest = max(problem.horizon, problem.n_nodes - 1)
    return next((steps for steps in range(1, longest + 1) if feasible(problem, horizon=steps)), None)


def least_budget(problem: PathProblem, k: int) -> int | None:
    """By counting up from what is there, if raising it without limit does any good."""

    def does(budget: int) -> bool:
        return feasible(problem, budgets=[*problem.budgets[:k], budget, *problem.budgets[k + 1 :]])

    return next(filter(does, range(problem.budgets[k], 10**6)), None) if does(10**9) else None


def agrees_with_enumeration(problem: PathProblem, explanation: Explanation) -> None:
    """Every claim, by brute force."""
    assert explanation.proven
    if feasible(problem):
        assert explanation.status is Status.FEASIBLE
        assert explanation.path is not None
        assert check(problem, explanation.path) == []
        return
    assert explanation.status is Status.INFEASIBLE
    lengths = [len(edges) for edges in simple_paths(problem)]
    assert explanation.nearest == min(lengths, default=None)
    if not lengths:
        assert explanation.causes in [(Cause.UNREACHABLE,), (Cause.NO_TERMINAL,)]
        return
    horizon = explanation.horizon
    assert horizon.least == least_horizon(problem)
    assert [need.least for need in explanation.budgets] == [
        least_budget(problem, k) for k in range(len(problem.budgets))
    ]
    for need, changes in _relaxed(problem, explanation):
        assert (need.path is None) == (need.least is None)
        if need.path is not None:
            assert check(replace(problem, **changes), need.path) == []
    assert (Cause.HORIZON in explanation.causes) == (explanation.nearest > problem.horizon or horizon.least is not None)
    assert (Cause.BUDGET in explanation.causes) == (explanation.nearest <= problem.horizon or horizon.least is None)
    _joint_is_minimal(problem, explanation)


def _relaxed(problem: PathProblem, explanation: Explanation) -> Iterator[tuple[Any, dict[str, Any]]]:
    for k, need in enumerate(explanation.budgets):
        yield need, {"budgets": [*problem.budgets[:k], need.least, *problem.budgets[k + 1 :]]}
    if explanation.horizon is not None:
        yield explanation.horizon, {"horizon": explanation.horizon.least}


def _joint_is_minimal(problem: PathProblem, explanation: Explanation) -> None:
    joint = explanation.joint
    too_short = explanation.nearest is not None and explanation.nearest > problem.horizon
    wanted = (
        explanation.horizon is not None and explanation.horizon.least is None if too_short else len(problem.budgets) > 1
    )
    assert (joint is not None) == wanted
    if joint is None:
        return
    relaxed = replace(problem, horizon=joint.horizon, budgets=joint.budgets)
    assert check(relaxed, joint.path) == []
    assert joint.horizon == (explanation.nearest if too_short else problem.horizon)
    assert not too_short or not feasible(problem, horizon=joint.horizon - 1, budgets=[10**9] * len(joint.budgets))
    for k, (budget, new) in enumerate(zip(problem.budgets, joint.budgets, strict=True)):
        assert new >= budget
        if new > budget:
            assert not feasible(relaxed, budgets=[*joint.budgets[:k], new - 1, *joint.budgets[k + 1 :]])
    if min(problem.budgets) > 0:

        def raised(percent: int) -> list[int]:
            return [budget + percent * budget // 100 for budget in problem.budgets]

        assert joint.percent is not None
        assert feasible(relaxed, budgets=raised(joint.percent))
        assert not feasible(relaxed, budgets=raised(joint.percent - 1))
        assert all(new <= limit for new, limit in zip(joint.budgets, raised(joint.percent), strict=True))


@pytest.mark.parametrize(
    ("solver", "with_risk", "block"),
    [
        ("labelling", False, 0),
        ("cp-sat", False, 0),
        *(pytest.param("labelling", True, n, marks=pytest.mark.slow) for n in (40,)),
        *(pytest.param(Enumeration(), risk, n, marks=pytest.mark.slow) for risk in (False, True) for n in (0,)),
    ],
)
def test_enumeration_agrees(solver: str | Enumeration, with_risk: bool, block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        problem = short(seed, with_risk=with_risk)
        explanation = explain(problem, solver=solver)
        agrees_with_enumeration(problem, explanation)
        assert str(explanation)
        json.dumps(explanation.to_dict(), allow_nan=False)


def test_the_instances_cover_every_cause() -> None:
    kinds = {explain(short(seed, with_risk=False), solver=Enumeration()).causes for seed in range(150)}
    assert kinds >= {(), (Cause.UNREACHABLE,), (Cause.HORIZON,), (Cause.BUDGET,), (Cause.HORIZON, Cause.BUDGET)}


# A sure way of 2 moves that costs 10 usd and 1 call, and a longer one, of 3 moves, of 4 usd and 6 calls.
TWO_WAYS = PathProblem(
    n_nodes=5, edges=[(0, 1), (1, 4), (0, 2), (2, 3), (3, 4)], rewards=[0.0, 0.0, 0.0, 0.0, 1.0],
    costs=[[5, 1], [5, 0], [2, 2], [1, 2], [1, 2]], budgets=[10, 6], start=0, terminals=[4], horizon=3,
    resources=["usd", "calls"],
)  # fmt: skip


NEAREST = "No path from node 0 reaches a goal within 1 move: the nearest takes 2 (1 more)."
ONE_USD = "usd is short: 9 given, 10 would do (1 more), everything else unchanged."
NO_USD, NO_CALLS = "No amount of usd alone would do.", "No amount of calls alone would do."
NO_HORIZON = "A longer horizon alone would not do."


def text_of(**changes: Any) -> list[str]:
    return explain(replace(TWO_WAYS, **changes), solver=Enumeration()).text().splitlines()


class TestText:
    def test_no_terminal_is_reached(self) -> None:
        assert text_of(terminals=[]) == ["No goal is declared, so no path can end anywhere."]
        assert text_of(start=3, terminals=[0, 1]) == [
            "No goal can be reached from node 3, whatever the horizon and the budgets: it leads to 2 of the 5 "
            "nodes, node 3, node 4, no goal among them.",
            "What is missing is an edge from one of those to one of node 0, node 1.",
        ]

    def test_the_horizon(self) -> None:
        assert text_of(horizon=1, costs=[], budgets=[], resources=[]) == [NEAREST]
        assert text_of(horizon=1) == [NEAREST, "2 moves would do with the budgets as they are."]
        assert text_of(horizon=1, budgets=[9, 6]) == [
            NEAREST,
            "With the budgets as they are it takes 3 moves (2 more).",
        ]
        assert text_of(horizon=1, budgets=[8, 5]) == [
            NEAREST,
            "No horizon is long enough for the budgets as they are.",
            "Together 2 moves and usd at 10 (2 more) would do; none of these can be less while the others stay.",
        ]
        assert text_of(horizon=2, budgets=[9, 6]) == [
            ONE_USD,
            NO_CALLS,
            "A longer horizon would do: 3 moves instead of 2, everything else unchanged.",
        ]

    def test_the_budgets(self) -> None:
        assert text_of(budgets=[9, 1]) == [
            ONE_USD,
            "calls is short: 1 given, 6 would do (5 more), everything else unchanged.",
            NO_HORIZON,
        ]
        assert text_of(budgets=[3, 5]) == [
            "usd is short: 3 given, 10 would do (7 more), everything else unchanged.",
            NO_CALLS,
            NO_HORIZON,
            "Together usd at 4 (1 more) and calls at 6 (1 more) would do; none of these can be less while the others "
            "stay.",
            "No budget rises by more than 34%; 33% more of each would not do.",
        ]
        assert text_of(budgets=[3, 0])[-4:] == [
            NO_USD,
            NO_CALLS,
            NO_HORIZON,
            "Together usd at 10 (7 more) and calls at 1 (1 more) would do; none of these can be less while the others "
            "stay.",
        ]
        assert text_of(terminals=[0], budgets=[-3, 6]) == [
            "usd is short: -3 given, 0 would do (3 more), everything else unchanged.",
            NO_CALLS,
            NO_HORIZON,
        ]

    def test_names_and_units_are_the_callers(self) -> None:
        explanation = explain(replace(TWO_WAYS, horizon=1, budgets=[9, 1]), solver=Enumeration())
        text = explanation.text(lambda name, count: f"{count / 100:.2f} {name}!", lambda node: f"<{node}>")
        assert text.splitlines()[0].startswith("No path from <0> reaches")
        assert "usd at 0.10 usd! (0.01 usd! more)" in text
        barred = explain(replace(TWO_WAYS, horizon=2, budgets=[4, 1])).text(edge=lambda number: f"step {number}")
        assert "  step 0 takes usd: 5 (4 given)" in barred

    def test_to_dict_holds_the_paths(self) -> None:
        data = json.loads(json.dumps(explain(replace(TWO_WAYS, budgets=[9, 1]), solver=Enumeration()).to_dict()))
        assert (data["status"], data["causes"], data["proven"]) == ("INFEASIBLE", ["budget"], True)
        assert data["budgets"][0]["least"] == 10
        path = {"edges": [0, 1], "nodes": [0, 1, 4], "consumption": {"usd": 10, "calls": 1}}
        assert data["budgets"][0]["walk"] == path
        assert data["horizon"]["least"] is None
        assert data["text"].startswith("usd is short")
        assert "problem" not in data
        explanation = explain(replace(TWO_WAYS, budgets=[3, 0]), solver=Enumeration())
        both = explanation.to_dict(lambda name, count: f"{count} {name}")
        assert both["joint"]["budgets"] == {"usd": "10 usd", "calls": "1 calls"}
        assert both["horizon"]["given"] == TWO_WAYS.horizon


def _claims_only_what_is_true(problem: PathProblem, explanation: Explanation) -> None:
    if explanation.status in (Status.FEASIBLE, Status.INFEASIBLE):
        assert feasible(problem) == (explanation.status is Status.FEASIBLE)
    for k, need in enumerate(explanation.budgets):
        _no_false_need(need, least_budget(problem, k))
    if explanation.horizon is not None:
        _no_false_need(explanation.horizon, least_horizon(problem))
    if explanation.joint is not None:
        assert (
            check(
                replace(problem, horizon=explanation.joint.horizon, budgets=explanation.joint.budgets),
                explanation.joint.path,
            )
            == []
        )


def _no_false_need(need: Any, true: int | None) -> None:
    if need.proven:
        assert need.least == true
    elif need.least is not None:
        assert true is not None
        assert need.at_least <= true <= need.least
    elif true is not None:
        assert need.at_least <= true


@pytest.mark.parametrize("then", [without_path(Status.TIMEOUT), RuntimeError("out of luck")], ids=["timeout", "error"])
@pytest.mark.slow
def test_what_is_cut_short_is_never_claimed(then: PathSolution | Exception) -> None:
    open_ends = 0
    for seed in range(25):
        problem = short(seed, with_risk=True)
        for answers in range(12):
            explanation = explain(problem, solver=Scripted(answers, then))
            _claims_only_what_is_true(problem, explanation)
            assert explanation.proven or re.search("is open|decided", explanation.text())
            assert bool(explanation.faults) <= isinstance(then, Exception)
            open_ends += not explanation.proven
    assert open_ends > 30


def test_what_the_solver_reported_is_passed_on() -> None:
    explanation = explain(replace(TWO_WAYS, budgets=[9, 1]), solver=Scripted(1, RuntimeError("out of luck")))
    assert explanation.faults == ("RuntimeError: out of luck",)
    assert "could not be decided: RuntimeError: out of luck" in explanation.text()
    assert not explanation.proven


def test_a_time_limit_that_is_over_at_once_proves_nothing_by_itself() -> None:
    explanation = explain(replace(TWO_WAYS, budgets=[9, 1]), time_limit=1e-9, solver=Enumeration())
    assert (explanation.status, str(explanation)) == (Status.TIMEOUT, "Whether there is a path was not decided.")
    short_found = explain(replace(TWO_WAYS, horizon=1), time_limit=1e-9, solver=Enumeration())
    assert (short_found.status, short_found.causes) == (Status.INFEASIBLE, (Cause.HORIZON,))
    assert str(short_found).splitlines()[1:] == ["Whether a longer horizon alone would do is open."]


def test_a_solver_that_cannot_keep_the_risk_refuses() -> None:
    with pytest.raises(RiskUnsupportedError):
        explain(replace(TWO_WAYS, spreads=[[1, 1]] * 5, risk=Risk(0.1)), solver="cp-sat")


def test_large_amounts_are_exact() -> None:
    big = 10**15
    problem = replace(
        TWO_WAYS, costs=[[cost * big for cost in row] for row in TWO_WAYS.costs], budgets=[10 * big - 1, 6]
    )
    explanation = explain(problem, solver=Enumeration())
    assert [need.least for need in explanation.budgets] == [None, 6 * big]
    problem = replace(problem, budgets=[10 * big - 1, big])
    assert [need.least for need in explain(problem, solver=Enumeration()).budgets] == [10 * big, 6 * big]
