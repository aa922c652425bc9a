"""The real simulator; few tests, since each game takes a second or more to load."""

import asyncio
import gc
import os
import select
import signal
import subprocess
import sys

import pytest

from envs.scienceworld import engine
from envs.scienceworld.engine import ScienceGame
from envs.scienceworld.environment import ScienceSimulator, ScienceWorldEnvironment
from envs.scienceworld.errors import EngineError, ScienceWorldError
from envs.scienceworld.gold import gold_path
from envs.scienceworld.tasks import all_tasks
from tape.methods.sdp.target import Target
from tests.envs.scienceworld.recorded import NO_SIMULATOR, views

pytestmark = [pytest.mark.slow, pytest.mark.skipif(NO_SIMULATOR is not None, reason=NO_SIMULATOR or "")]
CHILD = """
from envs.scienceworld import engine
{first}
print(engine.process_id(), flush=True)
{then}
"""


@pytest.fixture(scope="module", autouse=True)
def quick_java():
    """Few functions run so often here that it pays to compile them well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


def child(first, then, folder=None, env=None):
    code, pipe = CHILD.format(first=first, then=then), subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)
    return started, int(started.stdout.readline())


def wait_for_end(pid):
    """Returns when a process has ended; it may be over already. The test's time limit ends a wait in vain."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)


@pytest.mark.parametrize("task", [pytest.param("boil", marks=pytest.mark.soak), "power-component"])
def test_the_recorded_games_are_the_simulators(task):
    variation = all_tasks()[task].split("dev")[0] if task != "boil" else 0
    game = ScienceGame(task, variation)
    [(_, first), *rest] = views(task)
    for count in (len(rest), 5):
        assert game.reset() == first
        for action, view in rest[:count]:
            assert game.step(action) == view
    game.close()


def test_games_in_one_process_share_one_java_process_and_do_not_mix():
    games = [ScienceGame("find-living-thing", 150), ScienceGame("find-living-thing", 150)]
    [(_, first), *rest] = views("find-living-thing")
    assert [game.reset() for game in games] == [first, first]
    for action, view in rest:
        assert [game.step(action) for game in games] == [view, view]
    for game in games:
        game.close()


def test_splits_are_those_of_the_table():
    game = ScienceGame("boil", 0)
    info = all_tasks()["boil"]
    assert game.splits() == {name: list(info.split(name)) for name in info.splits}
    game.close()


def test_gold_predicates_are_true_by_the_tree_of_objects():
    env = ScienceWorldEnvironment("find-living-thing", 150)
    env.reset(0)
    truths = []
    for step in gold_path("find-living-thing", 150, "easy"):
        env.step(step.action)
        truths += [env.truth(step.target)] if step.target is not None else []
    assert truths.count(True) >= 3
    assert env.success()
    assert env.truth(Target("the score", "goal", goal=True)) is True
    env.close()


def test_the_simulator_as_a_world_model_predicts_what_comes():
    env = ScienceWorldEnvironment("find-living-thing", 150)
    state = env.reset(0).data
    actions = [step.action for step in gold_path("find-living-thing", 150, "easy")[:5]]
    model = ScienceSimulator(env.task)
    [predictions] = asyncio.run(model.rollout([(state, actions)]))
    for action, prediction in zip(actions, predictions, strict=True):
        env.step(action)
        assert env.domain.key(prediction.state) == env.domain.key(env.state)
    [refused] = asyncio.run(model.predict([(state, "flarb the unicorn")]))
    assert refused.state is None
    env.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("boils", 0), "no task 'boils'; it has boil"),
        (("boil", 30), "variations 0 to 29, not 30"),
        (("boil", -1), "variations 0 to 29"),
        (("boil", 0, "easier"), "no simplification 'easier'; it has easy"),
    ],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(ScienceWorldError, match=message):
        ScienceGame(*arguments)


def test_where_the_java_process_dies_the_episode_fails_and_the_next_one_plays():
    game = ScienceGame("find-living-thing", 150)
    game.reset()
    pid = engine.process_id()
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    with pytest.raises(EngineError, match=r"Java process .* ended .*look around.*find-living-thing"):
        game.step("look around")
    assert ScienceGame("find-living-thing", 150).reset() == views("find-living-thing")[0][1]
    assert engine.process_id() != pid


def test_nothing_is_left_behind_by_a_process_that_ends_well(tmp_path):
    cwd, tmp = tmp_path / "cwd", tmp_path / "tmp"
    cwd.mkdir()
    tmp.mkdir()
    env = {**os.environ, "TMPDIR": str(tmp), "PYTHONPATH": os.pathsep.join(sys.path)}
    first = "game = engine.ScienceGame('find-living-thing', 150); game.reset()"
    started, pid = child(first, "game.step('look around')", cwd, env)
    started.communicate()
    assert started.returncode == 0
    wait_for_end(pid)
    assert list(cwd.iterdir()) == []
    assert not list(tmp.glob("scienceworld-*"))


@pytest.mark.parametrize(
    ("then", "number"),
    [
        pytest.param("import os; os._exit(1)", None, marks=pytest.mark.soak),
        ("import signal; signal.pause()", signal.SIGKILL),
    ],
)
def test_the_java_process_ends_with_its_owner(then, number):
    started, pid = child("engine._running()", then)
    if number is not None:
        started.send_signal(number)
    started.communicate()
    wait_for_end(pid)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="sockets are looked up in /proc")
def test_java_listens_on_the_loopback_interface_alone() -> None:
    ScienceGame("find-living-thing", 150).close()
    process = engine.process_id()
    links = [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
    sockets = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:")}
    addresses = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{process}/net/{table}", encoding="ascii") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in sockets:  # listening
                    addresses.add(fields[1].partition(":")[0])
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert addresses
    assert addresses <= loopback


def test_what_is_collected_later_asks_no_ended_process(caplog: pytest.LogCaptureFixture) -> None:
    jvm = engine._running()
    held = jvm.interface()
    jvm.close()
    del held
    gc.collect()
    assert not [record for record in caplog.records if record.name.startswith("py4j")]
