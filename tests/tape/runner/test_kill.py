"""kill -9 at any moment, then the same command again: every episode once, the same tables as without a kill."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tape.lm.bundled import sizes
from tape.trace import read_trace
from tests.tape.helpers import without_times

pytestmark = pytest.mark.slow

# Three configurations, of which the last has the episodes of the first: commits of every kind.
RUN = """
import sys
from pathlib import Path
from envs.sokoban.plugin import PLUGIN
from tape.engine.settings import TapeConfig
from tape.lm.registry import open_model
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.workers import open_pool
from tape.runner.runner import Runner
from tape.runner.spec import RunSpec

def main(out, workers, model):
    options = {"levels": "easy", "slack": 2}
    tasks = tuple(PLUGIN.tasks(options)[:4])
    shared = dict(environment="sokoban", options=options, config=TapeConfig(), model=model,
                  model_identity=open_model(model).identity, repeats=3, batch=3)
    names = ("tape", "react", "tape again")
    configurations = [Configuration(n, RunSpec(agent=n.split()[0], **shared), tasks) for n in names]
    with open_pool(workers) as pool:
        Runner(configurations, RunDirectory(Path(out)), pool).run()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""
LINES = 36


class Game:
    """A run directory, and processes that work on it."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.out = folder / "run"
        script = folder / "play.py"
        script.write_text(RUN)
        self._command = [sys.executable, str(script), str(self.out), str(workers), f"bundled:{sizes()[0]}"]

    def start(self) -> "subprocess.Popen[str]":
        """A process with a group of its own."""
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            self._command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    def finish(self) -> None:
        process = self.start()
        said, _ = process.communicate()
        assert process.returncode == 0, said

    def kill(self, ready: Callable[[], bool], delay: float) -> None:
        """Start, wait until it is ready and a little longer, then kill the whole group."""
        process = self.start()
        while not ready() and process.poll() is None:
            wait(process, 0.002)
        wait(process, delay)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()  # ends when no process of the group holds the pipe any more

    def lines(self) -> int:
        file = self.out / "episodes.jsonl"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def traces(self) -> int:
        return len(list(self.out.glob("traces/*")))

    def kill_somewhere(self, rng: random.Random) -> str:
        """Kill at a random moment: of the start, of the work, of a commit, or of the end."""
        kind = rng.choice(["start", "lines", "traces", "traces", "config"])
        lines, traces, more = self.lines(), self.traces(), rng.randint(1, 8)
        ready = {
            "start": lambda: True,
            "lines": lambda: self.lines() >= lines + more,
            "traces": lambda: self.traces() >= traces + more,  # their lines may not be there yet
            "config": (self.out / "config.json").exists,
        }[kind]
        self.kill(ready, rng.uniform(0, 2.0) if kind == "start" else rng.choice([0.0, 0.0, rng.uniform(0, 0.2)]))
        return kind


def wait(process: "subprocess.Popen[str]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def lines_of(game: Game) -> list[Any]:
    return sorted(without_times(game.out), key=lambda line: (line["cell"], line["key"]))


def summary(game: Game) -> Any:
    record = json.loads((game.out / "summary.json").read_text())
    for group in record["groups"]:
        group.pop("solver_seconds")
    return record


def check(game: Game, whole: Game) -> None:
    """Every finished episode exactly once, and the same results as without a kill."""
    lines = lines_of(game)
    assert len({(line["cell"], line["key"]) for line in lines}) == len(lines) == LINES
    assert lines == lines_of(whole)
    assert summary(game) == summary(whole)
    assert {path.name for path in game.out.glob("traces/*")} == {f"{line['key']}.jsonl" for line in lines}
    for path in game.out.glob("traces/*"):
        assert list(read_trace(path))[-1].type == "finished"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """The run without a kill, in one process."""
    game = Game(tmp_path_factory.mktemp("whole"), 1)
    game.finish()
    assert game.lines() == LINES
    return game


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_ends_like_one_that_was_not(tmp_path: Path, whole: Game, workers: int) -> None:
    game = Game(tmp_path, workers)
    game.kill(lambda: game.traces() >= 2, 0)
    if workers == 2:
        game.kill(lambda: game.lines() >= 9, 0.01)
    game.finish()
    check(game, whole)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    game = Game(tmp_path, 2)
    process = game.start()
    while not game.lines() and process.poll() is None:
        wait(process, 0.002)
    process.kill()
    process.communicate()  # the workers hold the pipe too; with one left this would never end
    assert game.lines() < LINES


@pytest.mark.soak
@pytest.mark.parametrize("workers", [1, 2])
def test_fifty_kills(tmp_path: Path, whole: Game, workers: int, record_property: Callable[[str, object], None]) -> None:
    """25 random moments each with one process and two workers; a run that is complete makes room for another."""
    rng = random.Random(workers)
    kills: dict[str, int] = {}
    runs = 0
    game = Game(tmp_path, workers)
    for _ in range(25):
        kind = game.kill_somewhere(rng)
        kills[kind] = kills.get(kind, 0) + 1
        if game.lines() > LINES * 2 // 3:
            game.finish()
            check(game, whole)
            (tmp_path / str(runs := runs + 1)).mkdir()
            game = Game(tmp_path / str(runs), workers)
    game.finish()
    check(game, whole)
    record_property("kills", sum(kills.values()))
    record_property("moments", ", ".join(f"{count} {kind}" for kind, count in sorted(kills.items())))
    record_property("runs", runs + 1)
