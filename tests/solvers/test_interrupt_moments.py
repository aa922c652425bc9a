"""Ctrl-C at every moment at which Python hands one over, and at random moments of real searches: no worker is lost."""

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
from solvers import Status, available, solve
from solvers.compiled import AVAILABLE
from solvers.worker import _workers, stop_workers
from tests.places import ROOT
from tests.solvers.misbehaving import OBEY, Misbehaving, problem
from tests.solvers.processes import running, until

FILES = {solvers.worker.__file__, solvers.worker_process.__file__}
NAMES = ("labelling", "cp-sat", "mathopt:scip", "mathopt:highs", "pulp:cbc", "pulp:highs", "networkx")


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
def test_an_interrupt_at_any_moment_loses_no_worker(tmp_path: Path, fresh: bool) -> None:
    notes = tmp_path / "notes"
    assert sweep(Misbehaving(str(notes)), notes, fresh, every=1 if not fresh else 2) > 20


def session(name: str, seed: int, count: int, folder: Path) -> dict[str, Any]:
    """Solves of a process of their own that are interrupted at random moments (:mod:`tests.solvers.interrupted`)."""
    reason = next(info.reason for info in available() if info.name == name)
    if reason or (name == "labelling" and not AVAILABLE):
        pytest.skip(reason or "the extension was not built")
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.solvers.interrupted", name, str(seed), str(count)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        timeout=60 + 10 * count,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    until(lambda: not running(found["workers"]))
    until(lambda: not list(folder.iterdir()))
    assert Counter(found["outcomes"])["interrupted"] or count < 10
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_interrupts_at_random_moments(tmp_path: Path, name: str) -> None:
    session(name, seed=0, count=3, folder=tmp_path / "temporary")


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_many_interrupts_at_random_moments(tmp_path: Path, name: str) -> None:
    found = session(name, seed=1, count=40, folder=tmp_path / "temporary")
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        file = Path(folder) / "solver_interrupts.json"
        held = json.loads(file.read_text()) if file.exists() else {}
        held[name] = {"solves": 40, "workers": len(found["workers"]), "outcomes": found["outcomes"]}
        file.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
