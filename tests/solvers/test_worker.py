"""A worker process that does not obey is killed with all that it started, whatever ends the parent, and replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest

from solvers import PathSolution, Status, solve
from solvers.worker import WorkerSolver, stop_workers
from tests.places import ROOT
from tests.solvers.misbehaving import CRASH, EXIT, HANG, OBEY, PRINT, RAISE, REFUSE, Misbehaving, Unloadable, problem
from tests.solvers.processes import running, until

HANG_GUARD = 120.0


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def solver(notes: Path) -> WorkerSolver:
    return Misbehaving(str(notes))


def workers(notes: Path) -> list[int]:
    """The ids of the workers, request by request; each is also that of a process group."""
    return [int(line) for line in notes.read_text().split()]


def noted(notes: Path) -> bool:
    """Whether a worker has written its id, as it does before anything else."""
    return notes.exists() and notes.read_text().endswith("\n")


def overrun(solver: WorkerSolver) -> None:
    """Has a worker killed that does not stop; on a busy machine a short limit may be over before it has been asked."""
    limit, message = 0.025, ""
    while "killed" not in message:
        limit *= 2
        solution = solve(problem(HANG), solver, time_limit=limit)
        assert (solution.status, solution.has_path) == (Status.TIMEOUT, False)
        message = solution.message


class TestOneProcess:
    def test_the_worker_is_kept(self, solver: WorkerSolver, notes: Path) -> None:
        assert all(solve(problem(OBEY), solver).status is Status.OPTIMAL for _ in range(3))
        first, *others = workers(notes)
        assert others == [first, first]
        assert first != os.getpid()

    def test_an_overrun_is_a_timeout_and_leaves_nothing(self, solver: WorkerSolver, notes: Path) -> None:
        solve(problem(OBEY), solver)
        overrun(solver)
        until_none_runs([pid for pid in workers(notes) if pid != os.getpid()])
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL

    @pytest.mark.parametrize(
        ("deed", "words", "workers_used"),
        [
            (CRASH, ["SIGSEGV", "-11", "assertion failed: 1 == 2"], 2),
            (EXIT, ["exit code 7"], 2),
            (RAISE, ["ZeroDivisionError: by zero"], 1),
            (REFUSE, ["not this one"], 1),
        ],
    )
    def test_a_crash_is_an_error_and_costs_a_worker_an_exception_does_not(
        self, solver: WorkerSolver, notes: Path, deed: int, words: list[str], workers_used: int
    ) -> None:
        solution = solve(problem(deed), solver)
        assert solution.status is Status.ERROR
        assert all(word in solution.message for word in words)
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL
        first, last = workers(notes)
        assert len({first, last}) == workers_used
        assert first == last or running([first]) == []

    def test_a_worker_that_died_between_two_solves_is_replaced(self, solver: WorkerSolver, notes: Path) -> None:
        solve(problem(OBEY), solver)
        os.kill(workers(notes)[0], 9)
        os.waitid(os.P_PID, workers(notes)[0], os.WEXITED | os.WNOWAIT)
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL

    def test_what_native_code_prints_is_kept_out_of_the_answers(self, solver: WorkerSolver, capfd: object) -> None:
        assert solve(problem(PRINT), solver).status is Status.OPTIMAL
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL
        assert isinstance(capfd, pytest.CaptureFixture)
        assert capfd.readouterr() == ("", "")

    def test_a_library_that_does_not_load_is_an_error(self, notes: Path) -> None:
        solution = solve(problem(OBEY), Unloadable(str(notes)))
        assert solution.status is Status.ERROR
        assert "no such library" in solution.message

    def test_a_limit_that_passes_before_the_worker_has_started_does_not_stop_it(
        self, solver: WorkerSolver, notes: Path
    ) -> None:
        assert solve(problem(OBEY), solver, time_limit=1e-6).status is Status.TIMEOUT
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL
        assert len(workers(notes)) == 1

    def test_a_class_that_a_worker_cannot_import_is_refused(self, notes: Path) -> None:
        class Local(Misbehaving):
            """Not at the top level."""

        solution = solve(problem(OBEY), Local(str(notes)))
        assert solution.status is Status.ERROR
        assert "top level of a module" in solution.message

    def test_threads_get_a_worker_each(self, solver: WorkerSolver, notes: Path) -> None:
        answers: list[PathSolution] = []
        hanging = threading.Thread(target=lambda: answers.append(solve(problem(HANG), solver)))
        hanging.start()
        until(lambda: noted(notes))
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL
        stop_workers()
        hanging.join(HANG_GUARD)
        assert [answer.status for answer in answers] == [Status.ERROR]
        assert "SIGKILL" in answers[0].message
        assert running(workers(notes)) == []

    def test_no_file_is_left(self, solver: WorkerSolver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        folder = tmp_path / "temporary"
        folder.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        solve(problem(OBEY), solver)
        assert len(list(folder.iterdir())) == 1
        overrun(solver)
        until(lambda: not list(folder.iterdir()))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    def test_a_forked_copy_has_workers_of_its_own(self, solver: WorkerSolver, notes: Path) -> None:
        solve(problem(OBEY), solver)
        copy = os.fork()
        if copy == 0:
            well = solve(problem(OBEY), solver).status is Status.OPTIMAL
            stop_workers()
            os._exit(0 if well else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
        assert solve(problem(OBEY), solver).status is Status.OPTIMAL
        original, copied, again = workers(notes)
        assert original == again != copied


def parent(body: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that uses solvers."""
    code = "from solvers import *\nfrom tests.solvers.misbehaving import *\n" + textwrap.dedent(body)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def until_none_runs(groups: list[int]) -> None:
    """Returns when all the processes are gone."""
    until(lambda: not running(groups))


class TestTheEndOfTheParent:
    def test_a_normal_exit_leaves_nothing(self, notes: Path, tmp_path: Path) -> None:
        process = parent("print(solve(problem(OBEY), Misbehaving(sys.argv[1])).status)", str(notes))
        out, err = process.communicate(timeout=HANG_GUARD)
        assert (out.strip(), err) == ("OPTIMAL", "")
        assert running(workers(notes)) == []

    @pytest.mark.parametrize("deed", ["OBEY", "HANG"])
    def test_a_kill_while_a_worker_is_idle_or_searches(self, notes: Path, deed: str) -> None:
        body = f"solve(problem({deed}), Misbehaving(sys.argv[1])); print('idle', flush=True); threading.Event().wait()"
        process = parent(body, str(notes))
        until(lambda: noted(notes))
        assert deed == "HANG" or process.stdout.readline() == "idle\n"
        process.kill()
        process.communicate(timeout=HANG_GUARD)
        until_none_runs(workers(notes))
