"""Ctrl-C and time limits with the real backends; interrupts at every moment lose no worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import solvers.worker
import solvers.worker_process
from solvers import PathProblem, Status, available, check, solve
from solvers.compiled import AVAILABLE
from solvers.testing import CASES, endless, layered
from solvers.worker import _workers, stop_workers
from tests.places import ROOT
from tests.solvers.misbehaving import OBEY, Misbehaving, problem
from tests.solvers.processes import running, until

HANG_GUARD = 120.0

BACKENDS = ["cp-sat", "pulp:cbc", "pulp:highs"]

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
    code, (outcome, answers, *groups) = run(SESSION, backend, layered(1))
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
    problem = layered(1)
    assert solve(CASES[0].problem, backend).status is Status.OPTIMAL  # so that the worker has started
    solution = solve(problem, backend, time_limit=0.5)
    assert solution.status in (Status.FEASIBLE, Status.TIMEOUT), solution.message
    assert check(problem, solution) == []


@pytest.mark.slow
def test_a_kill_of_the_parent_leaves_no_process_and_no_file(backend: str, tmp_path: Path) -> None:
    session = SESSION.replace("signal.SIGINT", "signal.SIGKILL")
    session = session.replace("threading.Timer", "print(*groups, flush=True); threading.Timer")
    code, words = run(session, backend, layered(1), tmp_path)
    assert code == -9
    groups = [int(group) for group in words]
    assert groups
    until(lambda: not running(groups))
    assert list(tmp_path.iterdir()) == []


FILES = {solvers.worker.__file__, solvers.worker_process.__file__}
NAMES = ("labelling", "cp-sat", "pulp:cbc", "pulp:highs")


def interrupted_at(moment: int, call: Callable[[], object]) -> str:
    """Raise an interrupt where Python could hand a signal over: as a function begins, or after a call of C code.

    Returns:
        Where; empty if the call ended before.
    """
    seen, where = 0, ""

    def watch(frame: Any, event: str, argument: object) -> None:
        nonlocal seen, where
        if where or event not in ("call", "c_return") or frame.f_code.co_filename not in FILES:
            return
        seen += 1
        if seen == moment:
            where = f"{frame.f_code.co_name}:{frame.f_lineno}, {event} {getattr(argument, '__name__', '')}"
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return where


@pytest.fixture(autouse=True)
def none_before() -> Iterator[None]:
    stop_workers()
    yield
    stop_workers()


def idle() -> set[int]:
    return {worker.pid for lot in _workers._idle.values() for worker in lot}


def sweep(solver: Misbehaving, notes: Path, fresh: bool, every: int = 1) -> int:
    """Interrupt a solve with a new or with a kept worker at every n-th moment; returns how many moments there were."""
    moment, where = 1, "somewhere"
    while where:
        if fresh:
            stop_workers()
        else:
            solve(problem(OBEY), solver)
        where = interrupted_at(moment, lambda: solve(problem(OBEY), solver))
        alive = {worker.pid for worker in _workers._all if worker.is_alive()}
        assert alive == idle(), where  # a worker that lives is there for the next solve
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL, where
        moment += every
    stop_workers()
    until(lambda: not running(set(map(int, notes.read_text().split()))))
    return moment


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("every", [15, pytest.param(1, marks=pytest.mark.soak)])
def test_an_interrupt_at_any_moment_loses_no_worker(tmp_path: Path, fresh: bool, every: int) -> None:
    notes = tmp_path / "notes"
    assert sweep(Misbehaving(str(notes)), notes, fresh, every) > 20


def session(name: str, seed: int, count: int, folder: Path) -> dict[str, Any]:
    """Solves of a process of their own that are interrupted at random moments (:mod:`tests.solvers.interrupted`)."""
    reason = next(info.reason for info in available() if info.name == name)
    if reason or (name == "labelling" and not AVAILABLE):
        pytest.skip(reason or "the extension was not built")
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.solvers.interrupted", name, str(seed), str(count)], capture_output=True,
        text=True, cwd=ROOT, env={**os.environ, "TMPDIR": str(folder)}, timeout=60 + 10 * count, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    values: dict[str, Any] = json.loads(done.stdout)
    until(lambda: not running(values["workers"]))
    until(lambda: not list(folder.iterdir()))
    assert Counter(values["outcomes"])["interrupted"] or count < 10
    return values


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_interrupts_at_random_moments(tmp_path: Path, name: str) -> None:
    seed, count = 1, 40
    mapping = session(name, seed, count, tmp_path / "temporary")
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        file = Path(folder) / "solver_interrupts.json"
        held = json.loads(file.read_text()) if file.exists() else {}
        held[name] = {"solves": count, "workers": len(mapping["workers"]), "outcomes": mapping["outcomes"]}
        file.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
