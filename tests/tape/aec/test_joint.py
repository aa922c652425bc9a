from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.base import Solver
from solvers.problem import PathProblem
from solvers.solution import PathSolution
from tape.aec.joint import Candidate, JointDecision, JointError, JointSettings, decide
from tape.aec.joint_worlds import Beliefs
from tape.errors import ConfigError
from tape.protocols.predicates import Predicate
from tests.profiles import examples

NAMES = tuple(Predicate("in", ("key", f"c{i}")) for i in range(10))
PRICE = 0.01
BELIEF = JointSettings(grounded=False)

Worlds = Sequence[tuple[float, Mapping[Predicate, bool]]]


def worlds_of(mu: Mapping[Predicate, float], groups: Sequence[Sequence[Predicate]]) -> Worlds:
    """All assignments with their probabilities, spelt out."""
    blocks = [list(group) for group in groups]
    blocks += [[predicate] for predicate in mu if not any(predicate in group for group in groups)]
    found: list[tuple[float, dict[Predicate, bool]]] = [(1.0, {})]
    for block in blocks:
        outcomes = [(mu[true], {p: p == true for p in block}) for true in block]
        outcomes.append((1.0 - sum(mu[p] for p in block), dict.fromkeys(block, False)))
        found = [(p * q, {**done, **more}) for p, done in found for q, more in outcomes if q > 1e-15]
    return found


def best_of_all(
    candidates: Sequence[Candidate],
    worlds: Worlds,
    queries: Mapping[Predicate, Mapping[str, int]],
    left: Mapping[str, int],
    grounded: bool = True,
) -> float:
    """The best policy of all, by trying every query and every commitment after every answer."""

    def fits(spent: int, tokens: int) -> bool:
        return spent <= left.get("steps", 10**9) and tokens <= left.get("tokens", 10**9)

    @cache
    def value(known: frozenset[tuple[Predicate, bool]]) -> float:
        """The probability is that of the worlds in which what is known holds."""
        answers = dict(known)
        mine = [(p, world) for p, world in worlds if all(world[q] == v for q, v in known)]
        steps = sum(queries[q].get("steps", 0) for q in answers)
        tokens = sum(queries[q].get("tokens", 0) for q in answers)
        best = 0.0
        for candidate in candidates:
            if grounded and any(answers.get(q) != v for q, v in candidate.needs.items()):
                continue
            total = steps + candidate.cost.get("steps", 0)
            if fits(total, tokens + candidate.cost.get("tokens", 0)):
                holds = sum(p for p, world in mine if all(world[q] == v for q, v in candidate.needs.items()))
                best = max(best, holds * (candidate.value - PRICE * total))
        for query, cost in queries.items():
            if query not in answers and fits(steps + cost.get("steps", 0), tokens + cost.get("tokens", 0)):
                best = max(best, sum(value(known | {(query, answer)}) for answer in (True, False)))
        return best

    return value(frozenset())


def judged(
    decision: JointDecision,
    candidates: Sequence[Candidate],
    worlds: Worlds,
    queries: Mapping[Predicate, Mapping[str, int]],
    left: Mapping[str, int],
) -> tuple[float, float, float]:
    """Play a chain in every world: what it earns, how often it succeeds, and its steps; every cost must fit."""
    earned = succeeded = spent = 0.0
    for p, world in worlds:
        asked: set[Predicate] = set()
        for index, verified in decision.chain:
            candidate = candidates[index]
            holds = all(world[q] == v for q, v in candidate.needs.items())
            if verified:
                for query in sorted(candidate.needs):
                    if query in queries:
                        asked.add(query)
                    if world[query] != candidate.needs[query]:
                        break
            if holds or not verified:
                rows = [*(queries[q] for q in asked), candidate.cost]
                for kind, cap in left.items():
                    assert sum(row.get(kind, 0) for row in rows) <= cap
                steps = sum(row.get("steps", 0) for row in rows)
                spent += p * steps
                if holds:
                    succeeded += p
                    earned += p * (candidate.value - PRICE * steps)
                break
        else:
            spent += p * sum(queries[q].get("steps", 0) for q in asked)
        for kind, cap in left.items():
            assert sum(queries[q].get(kind, 0) for q in asked) <= cap
    return earned, succeeded, spent


@st.composite
def chances(draw: st.DrawFn, n: int, total: float | None) -> list[float]:
    raw = [draw(st.integers(0, 10)) for _ in range(n)]
    if total is None:
        return [x / 10 for x in raw]
    rest = draw(st.integers(0, 10))
    return [x / max(1, sum(raw) + rest) for x in raw]


COST = st.builds(lambda s, t: {"steps": s, "tokens": t}, st.integers(0, 6), st.integers(0, 3))
LEFT = st.builds(lambda s, t: {"steps": s, "tokens": t}, st.integers(0, 25), st.integers(0, 8))


Problem = tuple[list[Candidate], dict[Predicate, float], dict[Predicate, dict[str, int]], dict[str, int]]


@st.composite
def exclusive_problems(draw: st.DrawFn) -> Problem:
    n = draw(st.integers(1, 4))
    mu = dict(zip(NAMES, draw(chances(n, 1.0)), strict=False))
    values = [draw(st.sampled_from([0.5, 1.0])) for _ in range(n)]
    candidates = [Candidate({p: True}, draw(COST), v) for p, v in zip(mu, values, strict=True)]
    return candidates, mu, {p: draw(COST) for p in mu}, draw(LEFT)


def check_exact(
    problem: Problem, groups: Sequence[Sequence[Predicate]], grounded: bool, settings: JointSettings
) -> None:
    """The choice is that of the best policy of all, and its chain earns what it promises."""
    candidates, mu, queries, left = problem
    found = decide(candidates, mu, queries, left, exclusive=groups, settings=settings)
    worlds = worlds_of(mu, groups)
    assert found.exact
    assert found.objective == pytest.approx(best_of_all(candidates, worlds, queries, left, grounded), abs=1e-9)
    expected = found.objective, found.success, found.cost.get("steps", 0.0)
    assert judged(found, candidates, worlds, queries, left) == pytest.approx(expected)


@examples(150)
@given(exclusive_problems(), st.booleans())
def test_exclusive_paths_are_chosen_as_by_the_best_of_all_policies(problem: Problem, grounded: bool) -> None:
    check_exact(problem, [list(problem[1])], grounded, JointSettings(grounded=grounded))


@examples(60)
@given(exclusive_problems())
def test_one_good_order_is_as_good_as_all_orders_where_execution_costs_the_same(problem: Problem) -> None:
    candidates, *more = problem
    equal = [replace(candidate, cost={"steps": 2}) for candidate in candidates]
    check_exact((equal, *more), [list(problem[1])], True, JointSettings(every_order_up_to=1))


@examples(150)
@given(st.data(), st.booleans())
def test_independent_paths_of_equal_value_are_chosen_as_by_the_best_of_all_policies(
    data: st.DataObject, grounded: bool
) -> None:
    mu = dict(zip(NAMES, data.draw(chances(data.draw(st.integers(1, 4)), None)), strict=False))
    costs = [(data.draw(st.integers(0, 4)), data.draw(st.integers(0, 3))) for _ in mu]
    candidates = [
        Candidate({p: data.draw(st.booleans())}, {"steps": s, "tokens": t}, 0.9 + PRICE * s)
        for p, (s, t) in zip(mu, costs, strict=True)
    ]
    problem = candidates, mu, {p: data.draw(COST) for p in mu}, data.draw(LEFT)
    check_exact(problem, [], grounded, JointSettings(grounded=grounded))


@examples(150)
@given(st.data(), st.booleans(), st.sampled_from([1, 7]))
def test_whatever_the_candidates_no_more_is_promised_than_the_policy_earns(
    data: st.DataObject, grounded: bool, every_order_up_to: int
) -> None:
    names = NAMES[:4]
    grouped = data.draw(st.booleans())
    mu = dict(zip(names, data.draw(chances(4, 1.0 if grouped else None)), strict=True))
    groups = [list(names)] if grouped else []
    needs = st.dictionaries(st.sampled_from(names), st.booleans(), max_size=2)
    candidates = [Candidate(data.draw(needs), data.draw(COST)) for _ in range(data.draw(st.integers(1, 4)))]
    queries, left = {p: data.draw(COST) for p in mu if data.draw(st.integers(0, 3))}, data.draw(LEFT)
    chosen = JointSettings(grounded=grounded, every_order_up_to=every_order_up_to)
    found = decide(candidates, mu, queries, left, exclusive=groups, settings=chosen)
    worlds = worlds_of(mu, groups)
    best = best_of_all(candidates, worlds, queries, left, grounded)
    if grounded:
        earned, succeeded, _ = judged(found, candidates, worlds, queries, left)
        assert succeeded == pytest.approx(found.success)
        assert found.objective <= earned + 1e-9 <= best + 2e-9
    assert found.objective <= best + 1e-9
    if found.exact:
        assert found.objective == pytest.approx(best, abs=1e-9)
    if found.kind == "query":
        assert all(amount <= left[kind] for kind, amount in queries[found.predicate].items())


def test_many_places_are_searched_likeliest_for_their_price_first() -> None:
    rng = random.Random("places")
    names = [Predicate("in", ("key", f"p{i:02}")) for i in range(24)]
    raw = [rng.randint(1, 9) for _ in names]
    mu = {p: x / sum(raw) for p, x in zip(names, raw, strict=True)}
    queries = {p: {"steps": rng.randint(1, 6)} for p in names}
    found = decide([Candidate({p: True}, {"steps": 3}) for p in names], mu, queries, {"steps": 40}, exclusive=[names])
    ratios = [mu[names[i]] / queries[names[i]]["steps"] for i, _ in found.chain]
    assert ratios == sorted(ratios, reverse=True)
    assert sum(queries[names[i]]["steps"] for i, _ in found.chain) <= 37
    assert (found.exact, found.kind, found.predicate) == (True, "query", names[found.chain[0][0]])


def test_an_unaffordable_query_is_never_chosen() -> None:
    likely, other = Candidate({NAMES[0]: True}, {"steps": 4}), Candidate({NAMES[1]: True}, {"steps": 1})
    mu, queries = {NAMES[0]: 0.9, NAMES[1]: 0.1}, {NAMES[0]: {"steps": 3}, NAMES[1]: {"steps": 3}}
    rich, poor, broke, below = (decide([likely, other], mu, queries, {"steps": left}) for left in (7, 6, 3, -1))
    assert rich.predicate == NAMES[0]
    assert (poor.predicate, poor.success) == (NAMES[1], pytest.approx(0.1))  # the first could not be executed any more
    assert [value.affordable for value in (*poor.values, *broke.values)] == [True, True, False, False]
    unable, empty = decide([likely, other], mu, {}, {"steps": 9}), decide([], {}, {}, {"steps": 9})
    assert {found.kind for found in (broke, below, unable, empty)} == {"nothing"}


@examples(60)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4), st.data())
def test_what_is_certain_is_asked_only_where_commitment_needs_evidence(mus: list[float], data: st.DataObject) -> None:
    names = NAMES[: len(mus)]
    mu, queries = dict(zip(names, mus, strict=True)), {p: {"steps": 1} for p in names}
    candidates = [Candidate({p: data.draw(st.booleans())}, {"steps": 2}) for p in names]
    holds = [all(mu[q] == v for q, v in c.needs.items()) for c in candidates]
    free, strict = (decide(candidates, mu, queries, {"steps": 9}, settings=one) for one in (BELIEF, None))
    assert (free.kind, strict.kind) == (("commit", "query") if any(holds) else ("nothing", "nothing"))
    assert free.candidate is None or holds[free.candidate]
    assert all(value.changes == 0.0 for value in strict.values)


def test_a_shared_query_is_paid_once() -> None:
    door, a, b = NAMES[:3]
    candidates = [Candidate({door: True, a: True}, {"steps": 1}), Candidate({door: True, b: True}, {"steps": 1})]
    queries = {door: {"steps": 4}, a: {"steps": 2}, b: {"steps": 2}}
    mu = {door: 0.9, a: 0.5, b: 0.5}
    for limit in (1, 7):
        found = decide(candidates, mu, queries, {"steps": 9}, settings=JointSettings(every_order_up_to=limit))
        assert len(found.chain) == 2
        assert found.success == pytest.approx(0.9 * 0.75)
    assert len(decide(candidates, mu, queries, {"steps": 8}).chain) == 1


def test_the_value_of_a_query_is_the_chance_of_a_change_times_what_it_saves() -> None:
    short, safe = Candidate({NAMES[0]: True}, {"steps": 5}), Candidate({}, {"steps": 20})
    [value] = decide([short, safe], {NAMES[0]: 0.3}, {NAMES[0]: {"steps": 2}}, {"steps": 50}).values
    assert (value.changes, value.saves, value.price) == pytest.approx((0.3, 0.15, 0.02))
    assert (value.cost, value.net) == ({"steps": 2}, pytest.approx(0.3 * 0.15 - 0.02))
    # With little left the safe path is lost by looking, and the value says so.
    [poor] = decide([short, safe], {NAMES[0]: 0.3}, {NAMES[0]: {"steps": 2}}, {"steps": 21}).values
    assert (poor.net < 0, poor.changes) == (True, pytest.approx(1.0))


@examples(100)
@given(st.data())
def test_the_value_is_net_of_its_price_in_general(data: st.DataObject) -> None:
    mu = dict(zip(NAMES[:3], data.draw(chances(3, None)), strict=True))
    needs = st.dictionaries(st.sampled_from(NAMES[:3]), st.booleans(), max_size=2)
    candidates = [Candidate(data.draw(needs), {"steps": data.draw(st.integers(0, 9))}) for _ in range(3)]
    queries = {p: {"steps": data.draw(st.integers(0, 5))} for p in mu}
    for value in decide(candidates, mu, queries, {"steps": 99}).values:
        gained = value.changes * value.saves
        assert 0.0 <= value.changes <= 1.0 + 1e-12
        assert value.saves >= -1e-9
        assert gained - value.price - 1e-9 <= value.net <= gained + 1e-9


def test_a_solver_that_fails_is_an_error_that_says_so() -> None:
    class Broken(Solver):
        name = "broken"

        def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
            raise ZeroDivisionError("no luck")

    broken = JointSettings(solver=Broken())  # type: ignore[arg-type]
    with pytest.raises(JointError, match="no luck"):
        decide([Candidate({})], {}, {}, {"steps": 3}, settings=broken)


def test_too_many_joint_sets_leave_out_the_least_likely_candidates() -> None:
    names = [Predicate("p", (str(i),)) for i in range(9)]
    mu = {p: 0.1 + 0.08 * i for i, p in enumerate(names)}
    queries = {p: {"steps": 1} for p in names}
    candidates = [Candidate({p: True}, {"steps": 1}) for p in names]
    found = decide(candidates, mu, queries, {"steps": 30}, settings=JointSettings(worlds=32))
    assert not found.exact
    assert [i for i, _ in found.chain] == [8, 7, 6, 5, 4]


@examples(100)
@given(st.data())
def test_beliefs_agree_with_all_worlds_spelt_out(data: st.DataObject) -> None:
    mu = dict(zip(NAMES[:4], data.draw(chances(4, 1.0)), strict=True))
    mu[NAMES[3]] = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    group = list(NAMES[:3])
    beliefs, worlds = Beliefs(mu, [group]), worlds_of(mu, [group])
    needs = [data.draw(st.dictionaries(st.sampled_from(NAMES[:4]), st.booleans(), max_size=3)) for _ in range(3)]
    expected: dict[int, float] = {}
    for p, world in worlds:
        mask = sum(all(world[q] == v for q, v in need.items()) << i for i, need in enumerate(needs))
        expected[mask] = expected.get(mask, 0.0) + p
    found = beliefs.worlds(needs)
    for mask in expected.keys() | found.keys():
        assert found.get(mask, 0.0) == pytest.approx(expected.get(mask, 0.0), abs=1e-9)
    for i, need in enumerate(needs):
        assert beliefs.chance(need) == pytest.approx(sum(p for m, p in expected.items() if m >> i & 1), abs=1e-9)
    asked, answer = data.draw(st.sampled_from(NAMES[:4])), data.draw(st.booleans())
    seen = [(p, world) for p, world in worlds if world[asked] == answer]
    if (total := sum(p for p, _ in seen)) > 1e-9:
        after = beliefs.given(asked, answer)
        for q in NAMES[:4]:
            assert after.mu[q] == pytest.approx(sum(p for p, world in seen if world[q]) / total, abs=1e-9)


def test_beliefs_that_sum_to_more_than_one_are_scaled() -> None:
    assert Beliefs({NAMES[0]: 0.9, NAMES[1]: 0.9}, [NAMES[:2]]).mu == {NAMES[0]: 0.5, NAMES[1]: 0.5}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beliefs({NAMES[0]: 1.1}), "probability"),
        (lambda: Beliefs(dict.fromkeys(NAMES[:3], 0.1), [NAMES[:2], NAMES[1:3]]), "two exclusive groups"),
        (lambda: Beliefs({}, [NAMES[:2]]), "no belief of in"),
        (lambda: decide([Candidate({NAMES[0]: True})], {}, {}, {}), "no belief of in"),
        (lambda: decide([Candidate({}, {"steps": -1})], {}, {}, {}), "cost in steps"),
        (lambda: JointSettings(prices={"steps": -1.0}), "price of steps"),
        (lambda: JointSettings(width=0), "width"),
    ],
)
def test_malformed_input_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
