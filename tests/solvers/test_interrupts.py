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
from tests.places import ROOT
from tests.solvers.conformance import CASES
from tests.solvers.instances import endless, layered
from tests.solvers.processes import running

HANG_GUARD = 120.0
MOST_SECONDS = 5.0  # to take control back takes milliseconds; more than this would mean that the search was waited for

BACKENDS = ["cp-sat", "mathopt:scip", "mathopt:highs", "pulp:cbc", "pulp:highs", "networkx"]

# The worker is warm and, half a second later, deep in its search. What is tested is what comes after the signal.
SESSION = """
import os, signal, sys, threading, time
from solvers import PathProblem, solve
from solvers.worker import _workers

name, hard = sys.argv[1], PathProblem.from_json(sys.stdin.read())
easy = PathProblem(1, [], [1.0], [], [], start=0, terminals=[0], horizon=1)
solve(easy, name)
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)  # to the process, as a terminal does, not to this thread
groups = [worker.pid for worker in _workers._all]
threading.Timer(0.5, interrupt).start()
try:
    print("returned", solve(hard, name))
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0], *groups)
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


def test_ctrl_c_returns_at_once_and_leaves_no_process(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION, backend], input=hard(backend).to_json(), capture_output=True, text=True,
        cwd=ROOT, timeout=HANG_GUARD, check=True,
    )  # fmt: skip
    outcome, *rest = done.stdout.split()
    assert outcome == "interrupted", done.stdout
    seconds, *groups = map(float, rest)
    assert seconds < MOST_SECONDS
    assert groups
    assert running(map(int, groups)) == []


@pytest.mark.parametrize("call", ["solve(hard, name)", "k_best(hard, 1000)"])
@pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")
def test_ctrl_c_stops_the_compiled_search(call: str) -> None:
    session = SESSION.replace("solve(hard, name)", call).replace("import PathProblem", "import PathProblem, k_best")
    done = subprocess.run(
        [sys.executable, "-c", session, "labelling"], input=endless(0).to_json(), capture_output=True, text=True,
        cwd=ROOT, timeout=HANG_GUARD, check=True,
    )  # fmt: skip
    outcome, *seconds = done.stdout.split()
    assert outcome == "interrupted", done.stdout
    (late,) = map(float, seconds)  # and no process group: it searches in its caller's process
    assert late < MOST_SECONDS


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
    done = subprocess.run(
        [sys.executable, "-c", session, backend],
        input=hard(backend).to_json(),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=HANG_GUARD,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    groups = [int(group) for group in done.stdout.split()]
    assert groups
    while running(groups):  # they notice it by themselves; the runner's own limit ends a test that waits in vain
        pass
    assert list(tmp_path.iterdir()) == []
