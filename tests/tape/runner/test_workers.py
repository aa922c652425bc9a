"""Worker processes and Ray: the same episodes as in one process, and what happens when a worker fails.

Workers import this module for the openers, so it keeps clear of everything heavy.
"""

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.plugin import PLUGIN
from envs.sokoban.xsb import parse, write
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError, MissingExtraError, ModelError
from tape.lm.base import LanguageModel
from tape.lm.bundled import sizes
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.runner.configurations import Configuration
from tape.runner.directory import RunDirectory
from tape.runner.play import Models, Pool, WorkerError
from tape.runner.processes import Processes
from tape.runner.runner import Runner, Watcher
from tape.runner.spec import RunSpec
from tape.runner.workers import InProcess, open_pool

LEVELS = parse("; one\n#######\n#@ $ .#\n#######\n\n; two\n########\n#      #\n#@ $ . #\n########\n")
SCRIPT = '{"thought": "right", "actions": ["right", "right", "right"]}'


# Openers: a worker imports them from this module.
def scripted(name: str) -> LanguageModel:
    if name == "broken":
        raise ValueError("the opener's own fault")
    if name == "absent":
        raise ModelError("no such weights; fetch them")
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return ScriptedLM([SCRIPT])


def forgotten(name: str) -> LanguageModel:
    return ScriptedLM([SCRIPT], identity="of other weights")


def configuration(folder: Path, model: str, name: str = "", **changes: Any) -> Configuration:
    """Open-loop episodes on two levels, three of each, in batches of two."""
    path = folder / "levels.xsb"
    if not path.exists():
        write(path, LEVELS)
    options = {"levels": str(path), "slack": 2}
    base: dict[str, Any] = {"agent": "open_loop", "config": TapeConfig(), "repeats": 3, "batch": 2}
    spec = RunSpec(
        environment="sokoban", options=options, model=model, model_identity="scripted", **{**base, **changes}
    )
    return Configuration(name or model, spec, tuple(PLUGIN.tasks(options)))


def play(
    configurations: list[Configuration], path: Path, pool: Pool, watcher: Watcher | None = None
) -> list[dict[str, Any]]:
    return Runner(configurations, RunDirectory(path), pool, watcher).run()


def comparable(path: Path) -> list[Any]:
    from tests.tape.helpers import without_times

    return sorted(without_times(path), key=lambda line: (line["cell"], line["key"]))


@pytest.fixture
def one() -> Iterator[Processes]:
    with Processes(1, scripted) as pool:
        yield pool
    assert not multiprocessing.active_children()


def test_processes_are_kept_between_runs_and_given_back(tmp_path: Path) -> None:
    with Processes(2, scripted) as pool:
        play([configuration(tmp_path, "fine")], tmp_path / "c", InProcess(scripted))
        play([configuration(tmp_path, "fine")], tmp_path / "c", pool)
        assert not multiprocessing.active_children(), "a finished run starts no process"
        [group] = play([configuration(tmp_path, "fine")], tmp_path / "a", pool)
        started = {child.pid for child in multiprocessing.active_children()}
        play([configuration(tmp_path, "fine", seed=1)], tmp_path / "b", pool)
        assert {child.pid for child in multiprocessing.active_children()} == started
        assert len(started) == 2
    assert not multiprocessing.active_children()
    assert (group["episodes"], group["successes"]) == (6, 6)
    assert comparable(tmp_path / "a") == comparable(tmp_path / "c")
    assert (tmp_path / "a" / "results.csv").read_text().count("\n") == 7


def test_a_worker_that_is_killed_loses_nothing_that_is_finished(tmp_path: Path, one: Processes) -> None:
    configurations = [configuration(tmp_path, "fine"), configuration(tmp_path, "deadly")]
    with pytest.raises(WorkerError, match=r"signal 9, perhaps for want of memory while it played 'deadly'.*repeat"):
        play(configurations, tmp_path / "a", one)
    assert len(RunDirectory(tmp_path / "a").episodes()) == 6
    [group] = json.loads((tmp_path / "a" / "summary.json").read_text())["groups"]
    assert group["cell"] == "fine"
    play(configurations, tmp_path / "a", InProcess(lambda _: scripted("fine")))
    assert len(RunDirectory(tmp_path / "a").episodes()) == 12
    play(configurations[:1], tmp_path / "b", one)  # the pool goes on
    assert len(RunDirectory(tmp_path / "b").episodes()) == 6


@pytest.mark.parametrize(
    ("model", "says"),
    [("broken", r"a fault of the program:\n(?s:.*)the opener's own fault"), ("absent", "no such weights; fetch them")],
)
def test_a_worker_reports_what_went_wrong(tmp_path: Path, one: Processes, model: str, says: str) -> None:
    with pytest.raises(WorkerError, match=says):
        play([configuration(tmp_path, model)], tmp_path / "a", one)


def test_a_worker_with_other_weights_is_refused(tmp_path: Path) -> None:
    says = "is of other weights where the episodes are to be played, but the run was configured with scripted"
    with Processes(1, forgotten) as pool, pytest.raises(WorkerError, match=says):
        play([configuration(tmp_path, "fine")], tmp_path / "a", pool)
    with pytest.raises(ModelError, match=says):
        play([configuration(tmp_path, "fine")], tmp_path / "b", InProcess(forgotten))
    assert not RunDirectory(tmp_path / "b").episodes()


def test_an_interrupt_drops_what_is_in_flight_and_ends_its_workers(tmp_path: Path) -> None:
    def stop(line: Any, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Processes(2, scripted) as pool:
        with pytest.raises(KeyboardInterrupt):
            play([configuration(tmp_path, "fine")], tmp_path / "a", pool, Watcher(finished=stop))
        assert (tmp_path / "a" / "summary.json").exists()
        assert len(RunDirectory(tmp_path / "a").episodes()) == 1, "not its whole batch"
        play([configuration(tmp_path, "fine")], tmp_path / "a", pool)
    play([configuration(tmp_path, "fine")], tmp_path / "b", InProcess(scripted))
    assert comparable(tmp_path / "a") == comparable(tmp_path / "b")


@pytest.mark.parametrize(("remote", "asked"), [(True, 2 + 4), (False, 2 + 6)])
def test_what_is_kept_is_played_again_only_where_the_rest_of_its_batch_depends_on_it(
    tmp_path: Path, remote: bool, asked: int
) -> None:
    model: Any = ScriptedLM([SCRIPT])
    model.remote = remote

    def stop(line: Any, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play([configuration(tmp_path, "fine")], tmp_path / "a", InProcess(lambda _: model), Watcher(finished=stop))
    play([configuration(tmp_path, "fine")], tmp_path / "a", InProcess(lambda _: model))
    assert len(model.requests) == asked
    play([configuration(tmp_path, "fine")], tmp_path / "b", InProcess(scripted))
    assert comparable(tmp_path / "a") == comparable(tmp_path / "b")


def test_the_last_models_stay_open_and_the_others_are_closed() -> None:
    closed, opened = [], []

    class Closing(ScriptedLM):
        def close(self) -> None:
            closed.append(self.name)

    def opener(name: str) -> LanguageModel:
        opened.append(name)
        model = Closing([""])
        model.name = name
        return model

    models = Models(opener)
    for name in ("a", "b", "a", "c", "a", "b"):
        models.get(name, "scripted")
    assert opened == ["a", "b", "c", "b"]
    assert closed == ["b", "c"]
    models.close()
    assert sorted(closed) == ["a", "b", "b", "c"]


def test_workers_are_named_by_one_string(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_pool("1"), InProcess)
    assert isinstance(open_pool(3), Processes)
    for wrong in ("0", "-1", "many", "1.5", "", 0):
        with pytest.raises(ConfigError, match=r"whole number from 1 to [0-9]+, ray://HOST:PORT or ray:local"):
            open_pool(wrong)
    for wrong in ("ray://", "ray:elsewhere"):
        with pytest.raises(ConfigError, match="ray://HOST:PORT or ray:local"):
            open_pool(wrong)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tape-planner\[ray\]'"):
        open_pool("ray://head:10001")


def bundled_configurations(folder: Path) -> list[Configuration]:
    name = f"bundled:{sizes('compact')[0]}"
    identity = open_model(name).identity
    changes = {"model_identity": identity, "batch": 3, "repeats": 2}
    options = {"levels": "easy", "slack": 2}
    configurations = []
    for agent in ("tape", "react"):
        spec = configuration(folder, name, agent=agent, batch=3, repeats=2).spec
        spec = spec.model_copy(update={**changes, "options": options})
        configurations.append(Configuration(agent, spec, tuple(PLUGIN.tasks(options)[:2])))
    return configurations


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in one process with a bundled model."""
    folder = tmp_path_factory.mktemp("alone")
    play(bundled_configurations(folder), folder / "run", InProcess())
    return folder / "run"


def assert_same(path: Path, alone: Path) -> None:
    assert comparable(path) == comparable(alone)
    tables = [json.loads((folder / "summary.json").read_text()) for folder in (path, alone)]
    for group in (group for table in tables for group in table["groups"]):
        group.pop("solver_seconds")
    assert tables[0] == tables[1]


@pytest.mark.slow
@pytest.mark.parametrize("cached", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_processes_play_the_same_episodes_as_this_one(tmp_path: Path, alone: Path, cached: bool) -> None:
    cache = tmp_path / "cache.sqlite" if cached else None
    with open_pool("2", cache=cache) as pool:
        play(bundled_configurations(tmp_path), tmp_path / "run", pool)
    assert_same(tmp_path / "run", alone)
    assert cache is None or cache.stat().st_size > 10_000


@pytest.mark.slow
def test_ray_plays_the_same_episodes_as_this_process(
    tmp_path: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    from tests.tape.runner.test_ray_ports import LOOPBACK, addresses, listening

    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # a cluster of one's own is started whatever is around
    before = listening()
    with open_pool("ray:local") as pool:
        play(bundled_configurations(tmp_path), tmp_path / "run", pool)
        assert set() < addresses(listening() - before) <= LOOPBACK
        with pytest.raises(WorkerError, match="there is no bundled model 'huge'"):
            play([configuration(tmp_path, "bundled:huge")], tmp_path / "huge", pool)
    assert not ray.is_initialized()
    assert_same(tmp_path / "run", alone)


@pytest.mark.slow
def test_a_killed_ray_worker_is_replaced_and_a_batch_that_kills_them_is_paid_twice_at_most(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from tape.runner.ray_pool import RETRIES, RayPool

    with RayPool("ray:local", partial(deadly, folder=tmp_path)) as pool:
        play([configuration(tmp_path, "once")], tmp_path / "a", pool)
        with pytest.raises(WorkerError, match=r"while it played 'always'.*repeat the command"):
            play([configuration(tmp_path, "always", repeats=1)], tmp_path / "b", pool)
    assert len(RunDirectory(tmp_path / "a").episodes()) == 6
    assert [(tmp_path / f"{name}.died").stat().st_size for name in ("once", "always")] == [1, 1 + RETRIES] == [1, 2]
    play([configuration(tmp_path, "always", repeats=1)], tmp_path / "b", InProcess(scripted))
    assert len(RunDirectory(tmp_path / "b").episodes()) == 2


def deadly(name: str, folder: Path) -> LanguageModel:
    """Dies once or always, by its name; a file counts how often."""
    mark = folder / f"{name}.died"
    if name == "always" or not mark.exists():
        with mark.open("ab") as file:
            file.write(b".")
        os.kill(os.getpid(), signal.SIGKILL)
    return scripted(name)


def test_an_interrupt_at_the_very_start_of_a_batch_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, late = signal.signal, iter([True])

    def interrupted(number: int, handler: Any) -> Any:
        """Sets a handler; while asyncio's first one is being set, Ctrl-C comes."""
        before = real(number, handler)
        if number == signal.SIGINT and handler is not signal.default_int_handler and next(late, False):
            signal.raise_signal(signal.SIGINT)
        return before

    monkeypatch.setattr(signal, "signal", interrupted)
    with InProcess(scripted) as pool, pytest.raises(KeyboardInterrupt):
        play([configuration(tmp_path, "fine")], tmp_path / "run", pool)
    assert next(late, None) is None
    monkeypatch.undo()
    with InProcess(scripted) as pool:
        play([configuration(tmp_path, "fine")], tmp_path / "run", pool)
    assert len(comparable(tmp_path / "run")) == 6
