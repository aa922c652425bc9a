"""Whether `select` and `PlanGraph.path_problem` agree with brute force on one instance."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import solvers
from solvers import Status
from tape import Choice, select, select_in
from tape.choice.graph import PlanGraph
from tape.errors import GraphError
from tests.tape.choice import brute
from tests.tape.choice.brute import Found
from tests.tape.choice.instances import KINDS, Graph, Lists, apart, graph, lists

K = 4


def same_plans(choice: Choice, expected: list[Found], caps: dict[str, Decimal]) -> None:
    """The choice and its alternatives are the first of what is expected, in order."""
    assert bool(choice) == bool(expected)
    got = [choice, *choice.alternatives] if choice else []
    assert [entry.plan for entry in got] == [entry.steps for entry in expected[:K]]
    for item, right in zip(got, expected, strict=False):
        assert item.value == float(-right.loss)
        assert {kind: amount for kind, amount in item.spent.items() if amount} == {
            kind: amount for kind, amount in right.spent.items() if amount
        }
        assert item.left == {kind: cap - item.spent[kind] for kind, cap in caps.items()}
        assert all(left >= 0 for left in item.left.values())


def same_reasons(choice: Choice, every: list[dict[str, Decimal]], caps: dict[str, Decimal]) -> None:
    """Where nothing fits: the least of each budget that would do, and one way to raise them together."""
    assert not choice
    assert str(choice.why).startswith("No plan fits. ")
    if not every:
        assert dict(choice.why.least) == {}
        return
    assert dict(choice.why.least) == {kind: brute.least(every, caps, kind) for kind in caps}
    alone = tuple(kind for kind, amount in choice.why.least.items() if amount is not None)
    together = dict(choice.why.together)
    assert choice.why.short == (alone or tuple(together))
    if not alone:
        assert len(together) > 1
    if together:
        raised = {**caps, **together}
        assert any(brute.fits(spent, raised) for spent in every)
        for kind, amount in together.items():
            assert amount > caps[kind]
            assert brute.least(every, raised, kind) == amount


def what_stood_in_the_way(choice: Choice, chosen: Fraction, best_free: Fraction) -> None:
    """Where something fits: whether a budget is named, which is where more would be worth having."""
    better = best_free > chosen
    assert bool(choice.why.short) == better, str(choice.why)
    if better:
        digits = 12 if f"{float(best_free):.12g}" != f"{float(chosen):.12g}" else 17
        assert f"worth {float(best_free):.{digits}g} instead of {float(chosen):.{digits}g}" in str(choice.why)


def check_lists(given: Lists) -> str:
    """Check one instance; returns what it was."""
    choice = select(
        given.plans, cost=given.cost, value=given.value, variants=given.variants or None, budget=given.caps, k=K
    )
    expected = brute.ranked_lists(given, given.caps)
    same_plans(choice, expected, given.caps)
    every = brute.ranked_lists(given, {})
    if not choice:
        same_reasons(choice, [item.spent for item in every], given.caps)
        return "lists: nothing fits"
    if given.caps and any(item.loss for item in every):
        what_stood_in_the_way(choice, -expected[0].loss, -every[0].loss)
    return "lists"


def check_graph(given: Graph, *, magnitudes: bool = False) -> str:
    """Check one instance in all forms; returns what it was."""
    ends = brute.ends_of(given)
    forms: list[Any] = [given.plan_graph()]
    if given.goals or ends is None:
        forms.append(given.networkx())
    if ends is None:
        for form in forms:
            with pytest.raises(GraphError, match="no path can end anywhere"):
                select_in(form, start=given.start, budget=given.caps)
        return "graph: no end"
    if brute.endless(given, ends, given.caps):
        for form in forms:
            with pytest.raises(GraphError, match=r"the circle .* has no end"):
                select_in(form, start=given.start, budget=given.caps)
        with pytest.raises(GraphError, match=r"the circle .* has no end"):
            given.plan_graph().path_problem(given.start, counts(given.caps))
        return "graph: endless"
    expected = brute.ranked_graph(given, ends, given.caps)
    for form in forms:
        choice = select_in(form, start=given.start, budget=given.caps, k=K)
        same_plans(choice, expected, given.caps)
    by_problem(given, forms[0], expected, magnitudes=magnitudes)
    if not choice:
        simple = [brute.total([edge.cost for edge in path]) for path in brute.walks(given, ends, {}, simple=True)]
        same_reasons(choice, simple, given.caps)
        return "graph: nothing fits"
    if given.caps and any(brute.earned(given, edge) for edge in given.edges):
        if brute.endless(given, ends, {}):
            assert "for ever" in str(choice.why)
        else:
            free = brute.ranked_graph(given, ends, {})
            what_stood_in_the_way(choice, -expected[0].loss, -free[0].loss)
    circles = len(set(expected[0].steps)) < len(expected[0].steps)
    return "graph: goes round" if circles else "graph"


def counts(caps: dict[str, Decimal]) -> dict[str, int]:
    """Budgets as counts."""
    return {kind: int(amount.scaleb(KINDS[kind])) for kind, amount in caps.items()}


def by_problem(given: Graph, form: PlanGraph, expected: list[Found], *, magnitudes: bool) -> None:
    """`path_problem` with its defaults, and with goals= in the place of declared ones.

    `solvers.solve` rounds to a grid, and calls no path OPTIMAL that may be worse for that.
    """
    caps = counts(given.caps)
    problem, ids = form.path_problem(given.start, caps)
    solution = solvers.solve(problem)
    assert solution.has_path == bool(expected)
    if expected and magnitudes:
        best, bound = float(-expected[0].loss), solution.bound
        assert bound is not None
        assert bound >= best - 1e-6 * max(1.0, abs(best))
        assert solution.status is Status.FEASIBLE or solution.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    elif expected:
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(float(-expected[0].loss), abs=1e-9)
        plan = [form.edge(ids[edge]).action for edge in solution.edges]
        assert any(plan == item.steps for item in expected if item.loss == expected[0].loss)
        assert list(problem.named(solution.consumption)) == sorted(caps)
    if given.goals:
        bare = given.plan_graph()
        for goal in given.goals:
            bare.set_goal(goal, goal=False)
        assert bare.path_problem(given.start, caps, goals=given.goals) == (problem, ids)


def sweep(seeds: range, *, magnitudes: bool = False) -> Counter[str]:
    """Check two instances a seed, a graph and lists; counts what they were."""
    kinds: Counter[str] = Counter()
    for seed in seeds:
        try:
            given = graph(seed)
            kinds[check_graph(apart(given, seed) if magnitudes else given, magnitudes=magnitudes)] += 1
        except brute.TooManyError:
            kinds["graph: too many paths to try"] += 1
        except BaseException as error:
            raise AssertionError(f"the graph of seed {seed}") from error
        try:
            plans = lists(seed)
            kinds[check_lists(apart(plans, seed) if magnitudes else plans)] += 1
        except BaseException as error:
            raise AssertionError(f"the lists of seed {seed}") from error
    return kinds
