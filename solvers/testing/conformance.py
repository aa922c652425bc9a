"""What every solver must get right. A solver's test class inherits `SolverConformance` and sets `name`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from solvers import PathProblem, Risk, RiskUnsupportedError, Status, available, check, get, solve
from solvers.testing.brute_force import best
from solvers.testing.instances import risky, small, tight

AGREE = 1e-6


@dataclass(frozen=True)
class Case:
    """A hand-made problem and what is true of it; `objective` None means that no path is feasible."""

    title: str
    problem: PathProblem
    objective: float | None


def case(title: str, objective: float | None, **changes: Any) -> Case:
    """A variation on a chain 0 -> 1 -> 2 with the terminal 2."""
    base: dict[str, Any] = {
        "n_nodes": 3, "edges": [(0, 1), (1, 2)], "rewards": [0.0, 0.5, 1.0], "costs": [], "budgets": [], "start": 0,
        "terminals": [2], "horizon": 4, **changes,
    }  # fmt: skip
    if not base["costs"]:
        base["costs"] = [[0] * len(base["budgets"]) for _ in base["edges"]]
    return Case(title, PathProblem(**base), objective)


CASES = [
    case("chain, staying at the end", 0.5 + 3 * 1.0),
    case("chain, exactly as long as the horizon", 1.5, horizon=2),
    case("horizon too short", None, horizon=1),
    case("start is the only terminal, nowhere to go", 4 * 2.0, edges=[], rewards=[2.0, 0, 0], terminals=[0]),
    case("start is terminal, moving on is better", 3.5, terminals=[0, 2]),
    case("start is terminal, moving on is worse", 4 * 2.0, rewards=[2.0, 0.5, 1.0], terminals=[0, 2]),
    case("start is a terminal of negative reward", -4.0, edges=[], rewards=[-1.0, 0, 0], terminals=[0]),
    case("all rewards negative", -0.5 - 3.0, rewards=[0, -0.5, -1.0]),
    case("a detour through better nodes puts off a bad stay", -0.2 + -0.1 - 1.0, rewards=[-0.1, -0.2, -1.0],
         edges=[(0, 1), (1, 0), (1, 2), (0, 2)], horizon=3),
    case("all rewards zero", 0.0, rewards=[0, 0, 0]),
    case("parallel edges, the dear one does not fit", 3.5, edges=[(0, 1), (0, 1), (1, 2)], costs=[[9], [2], [1]],
         budgets=[3]),
    case("parallel edges, neither fits with the rest", None, edges=[(0, 1), (0, 1), (1, 2)], costs=[[9], [3], [1]],
         budgets=[3]),
    case("a cycle collects until the last moment", 3 * 2.0 + 0.0, edges=[(0, 1), (1, 1), (1, 2)], rewards=[0, 2.0, 0]),
    case("a self-loop that costs is taken as often as the budget lets it", 2 * 2.0, edges=[(0, 1), (1, 1), (1, 2)],
         rewards=[0, 2.0, 0], costs=[[0], [3], [1]], budgets=[6]),
    case("a cycle of two nodes", 0.5 + 0.0 + 0.5 - 1.0, edges=[(0, 1), (1, 0), (1, 2)], rewards=[0, 0.5, -1.0]),
    case("zero costs keep a zero budget", 3.5, costs=[[0], [0]], budgets=[0]),
    case("discount", 0.5 + 0.5 * 1.0 + 0.25 * 1.0 + 0.125 * 1.0, discount=0.5),
    case("discount makes the near terminal better", 1.0 + 0.1 + 0.01, n_nodes=4, edges=[(0, 1), (0, 2), (2, 3)],
         rewards=[0, 1.0, 0, 5.0], terminals=[1, 3], horizon=3, discount=0.1),
    case("no discount makes the far terminal better", 10.0, n_nodes=4, edges=[(0, 1), (0, 2), (2, 3)],
         rewards=[0, 1.0, 0, 5.0], terminals=[1, 3], horizon=3),
    case("a terminal passed through", 0.5 + 3 * 1.0, terminals=[1, 2]),
    case("a terminal passed through for the one behind it", -3.0 + 9.0 * 2, rewards=[0, -3.0, 9.0], terminals=[1, 2],
         horizon=3),
    case("staying is final: no waiting at a good terminal before moving on", 2 * 3.0, edges=[(0, 1), (1, 2)],
         rewards=[0, 3.0, 1.0], terminals=[1, 2], horizon=2),
    case("staying is final: a late visit elsewhere cannot follow a stay", 4 * 1.0, edges=[(0, 1)],
         rewards=[1.0, -9.0, 0], terminals=[0]),
    case("an unreachable terminal", None, edges=[(0, 1), (2, 1)]),
    case("an unreachable terminal beside a reachable one", 4 * 0.5, edges=[(0, 1), (2, 1)], terminals=[1, 2]),
    case("no terminal at all", None, terminals=[]),
    case("the budget binds: the poorer, cheaper terminal", 4 * 0.25, n_nodes=3, edges=[(0, 1), (0, 2)],
         rewards=[0, 0.25, 1.0], costs=[[1], [5]], budgets=[4], terminals=[1, 2]),
    case("a budget that is met exactly", 4 * 1.0, edges=[(0, 1), (0, 2)], rewards=[0, 0.25, 1.0], costs=[[1], [5]],
         budgets=[5], terminals=[1, 2]),
    case("the budget is infeasible", None, costs=[[2], [2]], budgets=[3]),
    case("each budget alone can be kept, both together cannot", None, edges=[(0, 2), (0, 2)], costs=[[0, 2], [2, 0]],
         budgets=[1, 1]),
    case("three budgets leave the middle way", 4 * 1.0, edges=[(0, 2), (0, 2), (0, 2)],
         costs=[[3, 0, 0], [1, 1, 1], [0, 0, 3]], budgets=[2, 2, 2]),
    case("a negative budget refuses even the empty path", None, edges=[], terminals=[0], budgets=[-1]),
    case("a zero budget allows the empty path", 0.0, edges=[(0, 2)], costs=[[1]], budgets=[0], terminals=[0, 2]),
    case("large costs that differ by one", 4 * 0.25, edges=[(0, 1), (0, 2)], rewards=[0, 0.25, 1.0],
         costs=[[10**11], [10**11 + 1]], budgets=[10**11], terminals=[1, 2]),
    case("tiny rewards", 3.5e-9, rewards=[0, 0.5e-9, 1e-9]),
    case("huge rewards", 3.5e12, rewards=[0, 0.5e12, 1e12]),
]  # fmt: skip


# The mean of the path through 1 is 5 and its spread 5; under "any" the factor is 2 at 0.2, 3 at 0.1.
RISKY_CASES = [
    case("risk: the spread that just fits", 3.5, costs=[[2], [3]], budgets=[15], spreads=[[3], [4]],
         risk=Risk(0.2, "any")),
    case("risk: the spread that just does not fit", None, costs=[[2], [3]], budgets=[14], spreads=[[3], [4]],
         risk=Risk(0.2, "any")),
    case("risk: no spread asks for no more than the budget", 3.5, costs=[[2], [3]], budgets=[5], spreads=[[0], [0]],
         risk=Risk(0.001, "any")),
    case("risk: a cost without spread beside a spread without cost", 3.5, costs=[[5], [0]], budgets=[11],
         spreads=[[0], [2]], risk=Risk(0.1, "any")),
    case("risk: the mean alone exceeds the budget", None, costs=[[2], [3]], budgets=[4], spreads=[[0], [1]],
         risk=Risk(0.1)),
    case("risk: the sure way, though it costs more", 4 * 0.5, edges=[(0, 2), (0, 1)], terminals=[1, 2],
         costs=[[4], [6]], budgets=[8], spreads=[[5], [0]], risk=Risk(0.1)),
    case("risk: variances add, not deviations", 3 * 2.0, edges=[(0, 1), (1, 1), (1, 2)], rewards=[0, 2.0, 0],
         costs=[[0], [1], [0]], budgets=[5], spreads=[[0], [1], [0]], risk=Risk(0.2, "any")),
    case("risk: one budget of two leaves no room", None, costs=[[1, 1], [1, 1]], budgets=[9, 4],
         spreads=[[2, 2], [2, 2]], risk=Risk(0.2, "any")),
    case("risk: it is ignored where there are no budgets", 3.5, spreads=[[], []], risk=Risk(0.1)),
    case("risk: large amounts that differ by one", 4 * 0.5, edges=[(0, 2), (0, 2), (0, 1)], terminals=[1, 2],
         costs=[[10**11], [10**11 + 1], [10**11 - 1]], budgets=[10**11 + 2 * 10**9 - 1],
         spreads=[[10**9], [10**9], [10**9]], risk=Risk(0.2, "any")),
    case("risk: a negative budget refuses even the empty path", None, edges=[(0, 0)], terminals=[0], costs=[[0]],
         budgets=[-1], spreads=[[1]], risk=Risk(0.1)),
]  # fmt: skip


class SolverConformance:
    """The suite, to inherit from.

    Attributes:
        name: The solver's name in the registry.

    Examples:
        >>> from solvers.testing import SolverConformance
        >>> class TestLabelling(SolverConformance):
        ...     name = "labelling"
        >>> TestLabelling().test_the_same_question_gets_the_same_answer()  # pytest calls this and all the others
    """

    name: str

    @pytest.fixture(autouse=True)
    def _needs_the_solver(self) -> None:
        info = {info.name: info for info in available()}[self.name]
        if not info.available:
            pytest.skip(info.reason)

    @pytest.mark.parametrize("example", CASES, ids=lambda example: example.title)
    def test_hand_made_problem(self, example: Case) -> None:
        """The right status, and the objective that was worked out by hand."""
        solution = solve(example.problem, self.name)
        assert check(example.problem, solution) == []
        assert solution.solver.startswith(self.name)
        if example.objective is None:
            assert (solution.status, solution.has_path) == (Status.INFEASIBLE, False)
        else:
            assert solution.status is Status.OPTIMAL, solution.message
            assert solution.objective == pytest.approx(example.objective, rel=AGREE, abs=1e-15)

    @pytest.mark.parametrize("block", range(6))
    def test_brute_force_agrees(self, block: int) -> None:
        """On random problems, half of them with budgets that bind."""
        for seed in range(block * 5, block * 5 + 5):
            for problem in (small(seed), tight(seed)):
                self.agrees_with_brute_force(problem)

    @pytest.mark.parametrize("example", RISKY_CASES, ids=lambda example: example.title)
    def test_hand_made_problem_with_a_risk(self, example: Case) -> None:
        """As without one, or a refusal that names a solver that can."""
        if example.problem.is_risky and not get(self.name).handles_risk:
            with pytest.raises(RiskUnsupportedError, match="labelling"):
                solve(example.problem, self.name)
        else:
            self.test_hand_made_problem(example)

    @pytest.mark.parametrize("block", range(4))
    def test_brute_force_agrees_at_a_risk(self, block: int) -> None:
        """On random problems whose budgets keep the mean of the best path, but not always its spread."""
        if not get(self.name).handles_risk:
            pytest.skip("it refuses problems with a risk")
        for seed in range(block * 10, block * 10 + 10):
            self.agrees_with_brute_force(risky(seed))

    def agrees_with_brute_force(self, problem: PathProblem) -> None:
        """Status and objective are those that enumeration finds."""
        solution, expected = solve(problem, self.name), best(problem)
        assert check(problem, solution) == []
        if expected is None:
            assert solution.status is Status.INFEASIBLE, (solution, problem)
        else:
            assert solution.status is Status.OPTIMAL, (solution, problem)
            assert solution.objective == pytest.approx(float(expected.objective), rel=AGREE, abs=AGREE), problem

    def test_the_same_question_gets_the_same_answer(self) -> None:
        """But for the times."""
        problem = tight(11)
        solution, two = solve(problem, self.name), solve(problem, self.name)
        assert replace(solution, seconds=0.0, solve_seconds=None) == replace(two, seconds=0.0, solve_seconds=None)

    def test_a_hopeless_time_limit_is_never_taken_for_a_proof_of_infeasibility(self) -> None:
        """Whatever the solver has by then, it claims no more than it knows."""
        problem = replace(CASES[0].problem, costs=[[1], [1]], budgets=[2], resources=())
        solution = solve(problem, self.name, time_limit=1e-6)
        assert solution.status in (Status.OPTIMAL, Status.FEASIBLE, Status.TIMEOUT)
        assert check(problem, solution) == []
