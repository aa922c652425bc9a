"""kill -9 at any moment, then the same command again: every episode once, the same results as without a kill."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tape.runner.derived import TIMES
from tape.runner.directory import RunDirectory
from tape.runner.run_ledger import spent_in
from tape.trace import read_trace
from tests.envs.alfworld.helpers import given_folder
from tests.tape.helpers import without_times
from tests.tape.runner.killed import EXHAUSTED, KINDS, STOPPED

pytestmark = pytest.mark.slow

FAULTS = ("model_error", "env_error", "solver_error")
PATIENCE = 60
"""Seconds within which the children of a killed process must have ended."""


class Game:
    """A run directory, and processes that work on it.

    Args:
        folder: Everything is in here, the processes' temporary files included.
        kind: What is played.
        workers: Worker processes.
        calls: The run's budget: model calls.
    """

    def __init__(self, folder: Path, kind: str, workers: int, calls: int) -> None:
        self.kind, self.workers, self.calls = kind, workers, calls
        self.out, self._count, self._temporary = folder / "run", folder / "count", folder / "tmp"
        self._temporary.mkdir(parents=True)

    def start(self) -> "subprocess.Popen[str]":
        """A process with a group of its own."""
        arguments = [self.kind, str(self.out), str(self.workers), str(self.calls), str(self._count)]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.tape.runner.killed", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(self._temporary)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def end(self, process: "subprocess.Popen[str]") -> str:
        """Wait until a process and all that it has started are gone; return their output."""
        output, _ = process.communicate(timeout=PATIENCE)  # until no process holds the pipe
        until = time.monotonic() + PATIENCE
        while group_lives(process.pid):  # the solvers' workers do not hold the pipe
            assert time.monotonic() < until, "a process is left"
            time.sleep(0.02)
        return output

    def finish(self) -> None:
        """Play what is missing, with as large a budget as it takes."""
        while True:
            process = self.start()
            output = self.end(process)
            self.check_budget()
            if process.returncode == 0:
                return
            assert process.returncode == EXHAUSTED, output
            self.calls *= 2

    def strike(self, process: "subprocess.Popen[str]", rng: random.Random) -> str:
        """Kill one process of the run, or all of them at once; with one worker the process itself.

        Returns:
            What was killed.
        """
        below = [] if self.workers == 1 else children(process.pid)
        victim = rng.choice(("run", "all", "child", "child")) if below else "run"
        with suppress(ProcessLookupError):
            if victim == "all":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                os.kill(process.pid if victim == "run" else rng.choice(below), signal.SIGKILL)
        return victim

    def committed(self) -> bytes:
        """The whole lines of ``episodes.jsonl``."""
        file = self.out / "episodes.jsonl"
        return file.read_bytes().rpartition(b"\n")[0] if file.exists() else b""

    def traces(self) -> int:
        return len(list(self.out.glob("traces/*.jsonl")))

    def made(self) -> int:
        """Calls that were really made."""
        return self._count.stat().st_size if self._count.exists() else 0

    def kill(self, rng: random.Random, most: float) -> str | None:
        """Start, kill the process, its children or one of these (:meth:`strike`), and check what is left behind.

        The moment is any of the first ``most`` seconds, or, one time in four, when the next trace is there.

        Returns:
            What it was about; None if it ended before.
        """
        before, traces = self.committed(), self.traces()
        process = self.start()
        if rng.random() < 0.25:
            while self.traces() == traces and process.poll() is None:
                wait(process, 0.002)
        else:
            wait(process, rng.uniform(0, most))
        ended = process.poll() is not None
        victim = self.strike(process, rng)
        output = self.end(process)
        after = self.committed()
        assert after.startswith(before), "what is committed stays"
        self.check_budget()
        if ended or process.returncode != -signal.SIGKILL:
            # Who loses a worker stops with one sentence; who loses a helper may well go on to the end.
            assert process.returncode in (0, EXHAUSTED) or (victim == "child" and process.returncode == STOPPED), output
            assert "Traceback" not in output, output
            if process.returncode == EXHAUSTED:
                self.calls *= 2
            if ended or victim != "child":
                return None
            return "a worker died" if process.returncode == STOPPED else "a helper died"
        keys = {line["key"] for line in map(json.loads, filter(None, after.split(b"\n")))}
        if self.traces() > len(keys):
            return "between traces and their lines"
        if after != before:
            return "after a commit"
        return "before the first commit" if (self.out / "config.json").exists() else "before there is a run"

    def check_budget(self) -> None:
        """No more was spent than the cap, and all of it is remembered; episodes are there once."""
        file = self.out / "run-ledger.jsonl"
        if file.exists():
            copy = self._temporary.with_name("ledger")
            copy.write_bytes(file.read_bytes())  # opening it would write it anew
            assert self.made() <= (spent_in(copy)["calls"] or 0) <= self.calls
        else:
            assert self.made() == 0
        if self.out.exists():
            RunDirectory(self.out).episodes()  # refuses what is there twice

    def check_like(self, whole: "Game") -> None:
        """Every episode once, the same results to the byte, and nothing left over."""
        lines, wanted = (sorted(without_times(game.out), key=place) for game in (self, whole))
        assert lines == wanted
        assert not [line for line in lines if line["result"]["end_state"] in FAULTS]
        for game in (self, whole):
            assert len({place(line) for line in lines}) == len(lines), game
        assert derived(self.out) == derived(whole.out)
        assert {path.name for path in self.out.glob("traces/*")} == {f"{line['key']}.jsonl" for line in lines}
        for line in lines:
            traces = (RunDirectory(game.out).trace_file(line["key"]) for game in (self, whole))
            ours, theirs = ([event for event in map(timeless, read_trace(path)) if event] for path in traces)
            assert ours == theirs
        assert {path.name for path in self.out.iterdir()} == {path.name for path in whole.out.iterdir()}
        # The planner of ALFWorld's games copies its library to a folder for the moment in which it is loaded.
        left = {file.name for file in self._temporary.rglob("*") if not file.is_dir()}
        spared = {name for name in left if self.kind == "alfworld" and "downward" in name}
        assert left == spared, "a temporary file is left"
        assert {path.name for path in self.out.parent.iterdir()} <= {"run", "tmp", "count", "ledger"}


def place(line: dict[str, Any]) -> tuple[str, str]:
    return line["cell"], line["key"]


def derived(out: Path) -> tuple[Any, ...]:
    """The summary and the results, but for what a clock measured and what was paid."""
    summary = json.loads((out / "summary.json").read_text())
    for group in summary["groups"]:
        group.pop("solver_seconds")
    with (out / "results.csv").open(newline="") as file:
        rows = [{name: row[name] for name in row if name not in TIMES} for row in csv.DictReader(file)]
    return summary, rows


def timeless(event: Any) -> Any:
    """An event without what a clock measured; None for the last, whose result is in ``episodes.jsonl``."""
    record = event.model_dump()
    record.pop("seconds", None)
    return None if event.type == "finished" else record


def group_lives(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def children(number: int) -> list[int]:
    """The processes that a process has started, in order; none where the system does not tell."""
    with suppress(OSError):
        return sorted(map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split()))
    return []


def wait(process: "subprocess.Popen[str]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def sweep(folder: Path, kind: str, workers: int, kills: int) -> dict[str, Any]:
    """Kill a run again and again; one that is complete is compared and makes room for another."""
    if kind == "alfworld" and given_folder() is None:
        pytest.skip("TAPE_TEST_DATA has no alfworld")
    rng = random.Random(f"{kind} {workers}")
    whole = Game(folder / "whole", kind, workers, 100_000)
    began = time.monotonic()
    whole.finish()
    most = time.monotonic() - began  # how long a start takes here and now; nothing is asserted of it
    lines, few = whole.committed().count(b"\n") + 1, whole.made() * 3 // 4
    moments: Counter[str] = Counter()
    runs, ended, game = 1, 0, Game(folder / "1", kind, workers, few)
    while sum(moments.values()) < kills:
        hit = game.kill(rng, most)
        if hit is None:
            ended += 1
        else:
            moments[hit] += 1
        if game.committed().count(b"\n") > lines * 2 // 3:
            game.finish()
            game.check_like(whole)
            runs += 1
            game = Game(folder / str(runs), kind, workers, few)
    if game.out.exists():
        game.finish()
        game.check_like(whole)
    return {
        "kind": kind, "workers": workers, "kills": sum(moments.values()), "moments": dict(sorted(moments.items())),
        "runs": runs, "starts_that_ended_first": ended, "seconds_of_a_start": round(most, 1),
    }  # fmt: skip


def test_a_killed_run_ends_like_one_that_was_not(tmp_path: Path) -> None:
    assert sweep(tmp_path, "tools", 1, kills=1)["kills"] == 1


def record(figures: dict[str, Any]) -> None:
    """Keep a sweep's figures beside those of the others, which may have been made by another command."""
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        file = Path(folder) / "kills.json"
        held = json.loads(file.read_text())["sweeps"] if file.exists() else []
        sweeps = {(item["kind"], item["workers"]): item for item in [*held, figures]}
        kills = sum(item["kills"] for item in sweeps.values())
        mapping = {"kills": kills, "sweeps": [sweeps[key] for key in sorted(sweeps)]}
        file.write_text(json.dumps(mapping, indent=1) + "\n")


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2])
def test_kills(tmp_path: Path, kind: str, workers: int) -> None:
    """90 in all; with two workers the run itself, one of its workers or helpers, or all of them at once."""
    record(sweep(tmp_path, kind, workers, kills=15))
