"""Ctrl-C and time limits with the real backends, on a problem that none of them solves soon."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from solvers import PathProblem, Status, available, check, solve
from solvers.compiled import AVAILABLE
from solvers.testing import CASES, endless, layered
from tests.places import ROOT
from tests.solvers.processes import running, until

HANG_GUARD = 120.0

BACKENDS = ["cp-sat", "mathopt:scip", "mathopt:highs", "pulp:cbc", "pulp:highs", "networkx"]

# The worker is warm and, half a second later, deep in its search. What is tested is what comes after the signal: it
# does not wait for the search, so no answer arrives after those to the easy problem.
SESSION = """
import os, signal, sys, threading
from solvers import PathProblem, solve
from solvers.worker import _workers
from solvers.worker_process import WorkerProcess

name, hard = sys.argv[1], PathProblem.from_json(sys.stdin.read())
easy = PathProblem(1, [], [1.0], [], [], start=0, terminals=[0], horizon=1)
solve(easy, name)
answers, receive = [], WorkerProcess._receive
WorkerProcess._receive = lambda *arguments: answers.append(receive(*arguments)) or answers[-1]
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)  # to the process, as a terminal does, not to this thread
groups = [worker.pid for worker in _workers._all]
threading.Timer(0.5, interrupt).start()
try:
    print("returned", solve(hard, name))
except KeyboardInterrupt:
    print("interrupted", len(answers), *groups)
"""


def hard(solver: str) -> PathProblem:
    problem = layered(1)
    if solver == "networkx":  # which is hard to keep busy
        return replace(layered(1, n=3000, horizon=300), costs=[], budgets=[], resources=[])
    return problem


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    reason = next(info.reason for info in available() if info.name == name)
    if reason:
        pytest.skip(reason)
    return name


def run(session: str, name: str, problem: PathProblem, temporary: Path | None = None) -> tuple[int, list[str]]:
    """The exit code of a session and the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", session, name], input=problem.to_json(), capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)} if temporary else None, timeout=HANG_GUARD, check=False,
    )  # fmt: skip
    assert done.returncode in (0, -9), done.stderr
    return done.returncode, done.stdout.split()


def test_ctrl_c_returns_at_once_and_leaves_no_process(backend: str) -> None:
    code, (outcome, answers, *groups) = run(SESSION, backend, hard(backend))
    assert (code, outcome, answers) == (0, "interrupted", "0")
    assert groups
    assert running(map(int, groups)) == []


@pytest.mark.parametrize("call", ["solve(hard, name)", "k_best(hard, 1000)"])
@pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")
def test_ctrl_c_stops_the_compiled_search(call: str) -> None:
    session = SESSION.replace("solve(hard, name)", call).replace("import PathProblem", "import PathProblem, k_best")
    # No process group is printed: it searches in its caller's process.
    assert run(session, "labelling", endless(0)) == (0, ["interrupted", "0"])


def test_a_time_limit_ends_a_hard_search_without_a_proof(backend: str) -> None:
    problem = hard(backend)
    assert solve(CASES[0].problem, backend).status is Status.OPTIMAL  # so that the worker has started
    solution = solve(problem, backend, time_limit=0.5)
    assert solution.status in (Status.FEASIBLE, Status.TIMEOUT), solution.message
    assert check(problem, solution) == []


@pytest.mark.slow
def test_a_kill_of_the_parent_leaves_no_process_and_no_file(backend: str, tmp_path: Path) -> None:
    session = SESSION.replace("signal.SIGINT", "signal.SIGKILL")
    session = session.replace("threading.Timer", "print(*groups, flush=True); threading.Timer")
    code, words = run(session, backend, hard(backend), tmp_path)
    assert code == -9
    groups = [int(group) for group in words]
    assert groups
    until(lambda: not running(groups))
    assert list(tmp_path.iterdir()) == []
