"""The search without the extension: hand-made problems, limits of time and memory, and numbers of any size.

What does not depend on how it searches holds for the compiled search as well.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from solvers.deadline import SolveDeadline
from solvers.found import Ending
from solvers.rcsp import plain
from solvers.rcsp.folded import fold
from solvers.rcsp.problem import RcspProblem
from tests.places import ROOT
from tests.solvers.rcsp.agreement import SEARCHES, agrees, asked, cost_of, is_honest
from tests.solvers.rcsp.brute_force import Task, Truth
from tests.solvers.rcsp.instances import medium_task, small_task
from tests.solvers.reference import Countdown

both = pytest.mark.parametrize("search", SEARCHES)
HANG_GUARD = 120.0


def problem(
    *edges: tuple[int, int, int, int], upper: int | None = None, lower: int = 0, target: int = 2
) -> RcspProblem:
    """Edges are tail, head, cost, use; from node 0."""
    columns = [list(column) for column in zip(*edges, strict=True)]
    n = 1 + max(columns[0] + columns[1] + [target])
    use = [[amount] for amount in columns[3]]
    return RcspProblem(n, columns[0], columns[1], columns[2], use, lower=[lower], upper=[upper], target=target)


ROUND = [(0, 1, 1, 1), (1, 0, 1, 1), (1, 2, 1, 1)]


@both
class TestLargeNumbers:
    @pytest.mark.parametrize("factor", [10**6, 2**44 + 1])
    def test_scaled_amounts_change_nothing(self, search: ModuleType, factor: int) -> None:
        for seed in range(60):
            task, truth = small_task(seed)
            problem = task.problem
            if problem.use.dtype.kind == "f" or any(isinstance(limit, float) for limit in problem.lower):
                continue
            raised = RcspProblem(
                problem.n_nodes,
                problem.tails,
                problem.heads,
                problem.cost,
                problem.use * factor,
                problem.node_cost,
                problem.node_use * factor,
                [low * factor for low in problem.lower],
                [None if high is None else high * factor + factor // 2 for high in problem.upper],
                problem.source,
                problem.target,
            )
            agrees(search, Task(raised, task.wanted, task.elementary), truth)

    def test_the_largest_costs(self, search: ModuleType) -> None:
        most = 2**60 // 2048
        edges = [(v, v + 1, most, 1) for v in range(9)] + [(v, v + 1, most - 1, 2) for v in range(9)]
        task = Task(problem(*edges, upper=13, target=9), 1, elementary=False)
        result = asked(search, task)
        assert [cost_of(task.problem, path) for path in result.paths] == [9 * most - 4]
        assert result.bound == 9 * most - 4

    def test_a_limit_of_which_a_turn_takes_a_trillionth(
        self, search: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("solvers.memory.MEMORY_CAP", 2**23)
        task = Task(problem((0, 0, -1, 1), (0, 2, 1, 1), upper=10**12), 1, elementary=False)
        result = asked(search, task, deadline=SolveDeadline(1.0))
        if result.ending is Ending.PROVED:  # by an argument, not by going round
            assert cost_of(task.problem, result.paths[0]) == 2 - 10**12
        else:
            assert result.ending in {Ending.TOO_LARGE, Ending.OUT_OF_TIME}
            assert result.bound is None or result.bound <= 2 - 10**12


class TestTimeLimit:
    def test_a_stopped_search_claims_no_more_than_it_knows(self) -> None:
        ends = set()
        for seed in range(150):
            task, truth = small_task(seed)
            for looks in (0, 3, 10, 40, 10**6):
                result = asked(plain, task, deadline=Countdown(looks))
                ends.add(result.ending)
                if result.ending is Ending.OUT_OF_TIME:
                    is_honest(task, result, truth)
                elif fold(task.problem).hopeless is None:
                    assert result.ending is truth.ending
        assert ends >= {Ending.OUT_OF_TIME, Ending.PROVED, Ending.INFEASIBLE, Ending.UNBOUNDED}

    def test_being_stopped_on_the_way_leaves_paths_and_a_bound(self) -> None:
        known, task = set(), replace(medium_task(81), wanted=3)
        best = Truth(Ending.PROVED, tuple(cost_of(task.problem, path) for path in asked(plain, task).paths))
        for looks in (0, 60, *range(110, 140, 2), 200, 300, 10**6):
            result = asked(plain, task, deadline=Countdown(looks))
            known.add((result.ending, bool(result.paths), result.bound is not None))
            is_honest(task, result, best)
        assert known == {
            (Ending.OUT_OF_TIME, False, False),
            (Ending.OUT_OF_TIME, False, True),
            (Ending.OUT_OF_TIME, True, True),
            (Ending.PROVED, True, True),
        }

    @both
    @pytest.mark.parametrize("seconds", [1e-300, 1e-5, 1e-4, 1e-3])
    def test_a_tiny_limit_is_no_proof_of_anything(self, search: ModuleType, seconds: float) -> None:
        for seed in range(20):
            task, truth = small_task(seed)
            result = asked(search, task, deadline=SolveDeadline(seconds))
            if result.ending in {Ending.OUT_OF_TIME, Ending.PROVED}:
                is_honest(task, result, truth)
            elif fold(task.problem).hopeless is None:
                assert result.ending is truth.ending


# Half a second after it began, the search is deep in it; the signal goes to the process, as a terminal's does.
SESSION = """
import importlib, os, signal, sys, threading
from solvers.deadline import NEVER
from tests.solvers.rcsp.agreement import asked, endless

search = importlib.import_module(sys.argv[1])
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    print("returned", asked(search, endless(), threads=int(sys.argv[2])))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("search", "threads"),
    [pytest.param(*SEARCHES[case].values, threads, marks=SEARCHES[case].marks) for case, threads in ((0, 1), (1, 2))],
)
def test_ctrl_c_ends_a_long_search(search: ModuleType, threads: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION, search.__name__, str(threads)], capture_output=True, text=True, cwd=ROOT,
        timeout=HANG_GUARD, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["interrupted"]
