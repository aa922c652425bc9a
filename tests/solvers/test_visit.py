"""The objective "visit": every solver, `k_best` and `explain` against enumeration; and how many moves are enough."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

import solvers
from solvers import (
    EndlessError,
    PathProblem,
    ProblemError,
    check,
    consumption_of,
    enough_moves,
    explain,
    k_best,
    solve,
)
from solvers import visit as visit_module
from solvers.testing import Enumeration, risky, small
from solvers.testing.brute_force import ranking


def visiting(seed: int, problem: PathProblem | None = None) -> PathProblem:
    """A random small problem with rewards on nodes, and mostly on edges."""
    rng = random.Random(seed)
    problem = problem or small(seed)
    grid = rng.choice([[0.0, 1.0], [0.1, 0.2, 0.3, -0.3], [x / 100 for x in range(-100, 100)]])
    rewards = [rng.choice(grid) for _ in problem.edges] if rng.random() < 0.7 else ()
    return replace(problem, objective="visit", edge_rewards=rewards)


def agree(problem: PathProblem) -> None:
    """The four best paths are those of enumeration, in order."""
    expected = ranking(problem)[:4]
    best_paths = k_best(problem, 4)
    assert [solution.edges for solution in best_paths] == [edges for _, edges in expected]
    assert all(check(problem, solution) == [] for solution in best_paths)
    best = solve(problem)
    assert best.edges == (expected[0][1] if expected else ())
    assert best.has_path == bool(expected)
    if expected:
        assert best.objective == pytest.approx(float(expected[0][0]), abs=1e-9)


@pytest.mark.parametrize("block", range(2))
def test_enumeration_agrees(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        agree(visiting(seed))
    for seed in range(block * 15, block * 15 + 15):
        agree(visiting(seed, risky(seed)))


def dense(seed: int) -> PathProblem:
    """Many edges into and out of few nodes, each with a reward of its own: moves are split in two."""
    rng = random.Random(seed)
    edges = [(rng.randrange(3), rng.randrange(3)) for _ in range(24)]
    return PathProblem(
        n_nodes=3, edges=edges, rewards=[rng.choice([0.0, -0.1, 0.2]) for _ in range(3)],
        costs=[[rng.randint(0, 3)] for _ in edges], budgets=[rng.randint(1, 6)], start=0, terminals=[2], horizon=3,
        objective="visit", edge_rewards=[round(rng.uniform(-1, 1), 3) for _ in edges],
    )  # fmt: skip


def test_dense_graphs_are_compiled_in_two_moves_with_the_same_answers() -> None:
    for seed in range(100):
        problem = dense(seed)
        compiled = visit_module.compiled(problem)
        assert compiled.problem.horizon == 7
        agree(problem)
        discounted = replace(problem, discount=0.5)
        assert visit_module.compiled(discounted).problem.horizon == 4
        agree(discounted)


@pytest.mark.parametrize("solver", ["cp-sat", "pulp:cbc"])
def test_other_solvers_agree(solver: str) -> None:
    if solver not in {info.name for info in solvers.available() if info.available}:
        pytest.skip(f"{solver} cannot run here")
    for seed in range(25):
        problem = visiting(seed)
        expected = ranking(problem)
        answer = solve(problem, solver)
        assert answer.has_path == bool(expected)
        if expected:
            assert answer.objective == pytest.approx(float(expected[0][0]), abs=1e-5)


def test_explanations_are_in_the_nodes_and_edges_of_the_problem() -> None:
    for seed in range(60):
        problem = replace(visiting(seed), budgets=[0] * len(small(seed).budgets))
        stays = replace(problem, objective="stay", edge_rewards=())
        mine, theirs = explain(problem), explain(stays)
        assert str(mine) == str(theirs)
        assert mine.causes == explain(problem, solver=Enumeration()).causes
        for need in mine.budgets:
            if need.path is not None:
                budgets = problem.named(problem.budgets) | {need.limit: need.least}
                assert check(replace(problem, budgets=list(budgets.values())), need.path) == []


def test_the_objective_of_a_path() -> None:
    problem = PathProblem(
        n_nodes=3, edges=[(0, 1), (1, 2), (1, 0)], rewards=[4.0, 1.0, 2.0], costs=[], budgets=[], start=0,
        terminals=[2], horizon=5, objective="visit", edge_rewards=[0.25, 0.5, 0.0],
    )  # fmt: skip
    assert solvers.objective_of(problem, (0, 1)) == 3.75
    assert solvers.objective_of(problem, (0, 2, 0, 1)) == 9.0  # the start's reward is earned on coming back
    assert solve(problem).edges == (0, 2, 0, 1)
    assert solve(replace(problem, horizon=3)).edges == (0, 1)
    assert solvers.objective_of(replace(problem, discount=0.5), (0, 1)) == 2.5
    stays = replace(problem, objective="stay", edge_rewards=())
    assert solvers.objective_of(stays, (0, 1)) == 9.0


def test_files_keep_the_objective_and_old_ones_have_none() -> None:
    problem = visiting(3)
    assert PathProblem.from_json(problem.to_json()) == problem
    assert '"objective"' not in small(3).to_json()
    assert PathProblem.from_json(small(3).to_json()).objective == "stay"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"objective": "leave"}, "objective = 'leave': expected one of 'stay', 'visit'"),
        ({"edge_rewards": [1.0]}, "edges earn only with objective"),
        ({"objective": "visit", "edge_rewards": [1.0]}, "'1 values': expected one for each of the 2 edges"),
        ({"objective": "visit", "edge_rewards": [1.0, float("nan")]}, r"edge_rewards\[1\] = nan: must be finite"),
        ({"objective": "visit", "edge_rewards": [1.0, "2"]}, r"edge_rewards\[1\] = '2': expected a number"),
    ],
)
def test_what_is_malformed_is_named(changes: dict[str, object], says: str) -> None:
    fields = {"n_nodes": 2, "edges": [(0, 1), (1, 0)], "rewards": [0, 1], "costs": [], "budgets": []}
    with pytest.raises(ProblemError, match=says):
        PathProblem(**fields, start=0, terminals=[1], horizon=2, **changes)  # type: ignore[arg-type]


# --- how many moves are enough --------------------------------------------------------------------


def straight(problem: PathProblem, longest: int) -> int:
    """The moves of the longest path to a terminal that keeps the budgets and goes round no circle for nothing."""
    most, waiting = 0, [((), problem.start)]
    while waiting:
        edges, node = waiting.pop()
        if node in problem.terminals:
            most = max(most, len(edges))
        for edge, (tail, head) in enumerate(problem.edges):
            longer = (*edges, edge)
            fits = all(used <= b for used, b in zip(consumption_of(problem, longer), problem.budgets, strict=True))
            if tail == node and fits and len(longer) <= longest and not in_vain(problem, longer):
                waiting.append((longer, head))
    return most


def in_vain(problem: PathProblem, edges: Sequence[int]) -> bool:
    nodes = [problem.start, *(problem.edges[edge][1] for edge in edges)]
    gains = [Fraction(repr(problem.rewards[node])) for node in nodes[1:]]
    if problem.edge_rewards:
        gains = [gain + Fraction(repr(problem.edge_rewards[edge])) for gain, edge in zip(gains, edges, strict=True)]
    return any(node == nodes[-1] and sum(gains[i:]) <= 0 for i, node in enumerate(nodes[:-1]))


def test_no_straight_path_is_longer_than_enough() -> None:
    derived = 0
    for seed in range(400):
        problem = replace(visiting(seed), discount=1.0)
        problem = replace(problem, budgets=[min(budget, 4) for budget in problem.budgets])
        try:
            moves = enough_moves(problem)
        except EndlessError as error:
            circle = [problem.edges[edge] for edge in error.circle]
            assert all(a[1] == b[0] for a, b in zip(circle, [*circle[1:], circle[0]], strict=True))
            continue
        derived += 1
        assert straight(problem, min(moves + 2, 7)) <= moves
        better = replace(problem, horizon=min(moves + 2, 9))
        if moves <= 7:
            assert solve(replace(problem, horizon=moves)).objective == solve(better).objective
    assert derived > 200


CIRCLE = PathProblem(
    n_nodes=3, edges=[(0, 1), (1, 0), (1, 2)], rewards=[0.0, 1.0, 0.0], costs=[[1], [0], [2]], budgets=[7], start=0,
    terminals=[2], horizon=1, objective="visit",
)  # fmt: skip


def test_the_moves_that_the_budget_leaves_on_a_circle() -> None:
    assert enough_moves(CIRCLE) == 10  # five times there, four times back, and on to the end
    assert len(solve(replace(CIRCLE, horizon=10)).edges) == 10
    assert enough_moves(replace(CIRCLE, budgets=[2])) == 2  # none can be paid, but more than that might be
    assert enough_moves(replace(CIRCLE, rewards=[0, 0, 1])) == 2


def test_a_circle_that_is_free_and_earns_has_no_end() -> None:
    free = replace(CIRCLE, costs=[[0], [0], [2]])
    with pytest.raises(EndlessError, match=r"the circle of edges (0, 1|1, 0) has no end: it earns and takes nothing"):
        enough_moves(free)
    for harmless in ({"rewards": [-1.0, 1.0, 0.0]}, {"edge_rewards": [0.0, -1.0, 0.0]}, {"start": 2}):
        assert enough_moves(replace(free, **harmless)) <= 2  # type: ignore[arg-type]
    with pytest.raises(EndlessError):
        enough_moves(replace(free, rewards=[0.0, -1.0, 0.0], discount=0.9))  # going round puts off a loss
    with pytest.raises(EndlessError, match="the budgets allow for more than 10000 moves"):
        enough_moves(replace(CIRCLE, budgets=[10**6]))


def test_moves_that_take_too_long_to_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.moves._WORTH", -1)
    monkeypatch.setattr("solvers.moves.paid_moves", lambda *_: None)
    assert enough_moves(CIRCLE) == 10
    monkeypatch.setattr("solvers.moves._MOST_STEPS", 5)
    with pytest.raises(EndlessError, match="counting the moves that the budgets allow for takes too long"):
        enough_moves(CIRCLE)


@pytest.mark.parametrize("solver", ["labelling", "cp-sat"])
def test_paths_may_be_left_out_by_their_beginnings(solver: str) -> None:
    met = 0
    for seed in range(60):
        problem = visiting(seed)
        unwanted = {edge for edge in range(len(problem.edges)) if edge % 3 == 0}
        ranked = [edges for _, edges in ranking(problem)]
        expected = [edges for edges in ranked if not unwanted & set(edges)]
        best_paths = k_best(problem, 4, solver, skip=lambda edges, unwanted=unwanted: bool(unwanted & set(edges)))  # type: ignore[misc]
        objectives = [solvers.objective_of(problem, edges) for edges in expected[:4]]
        assert [solution.objective for solution in best_paths] == pytest.approx(objectives)
        assert all(not unwanted & set(solution.edges) for solution in best_paths)
        if solver == "labelling":
            assert [solution.edges for solution in best_paths] == expected[:4]
        met += expected[:4] != ranked[:4]
    assert met > 20
