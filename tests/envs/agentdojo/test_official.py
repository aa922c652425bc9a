"""All gold calls against the package's own checks, on the real wheel, unpacked: ``$TAPE_TEST_DATA/agentdojo``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envs.agentdojo.environment import INJECTED, suite_of, suites
from envs.agentdojo.source import SUITES, DojoSource
from envs.agentdojo.tools import SuiteWorld, use_of
from envs.apart.host import Process
from tape.tools.errors import ToolFailedError

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def source() -> DojoSource:
    folder = Path(os.environ.get("TAPE_TEST_DATA", "")) / "agentdojo"
    if not (folder / "agentdojo").is_dir():
        pytest.skip("the unpacked wheel of agentdojo is not here")
    return DojoSource(folder)


@pytest.fixture(scope="module")
def process(source: DojoSource) -> Process:
    return suites(source)


def make(world: SuiteWorld, injection: str = "") -> None:
    """Make the gold calls; what is declared to read changes nothing."""
    for mapping in world.gold(injection):
        before = world.key()
        try:
            world.call(mapping["name"], mapping["arguments"])
        except ToolFailedError as error:
            pytest.fail(f"{mapping}: {error}")
        assert use_of(mapping["name"]) == "write" or world.key() == before, f"{mapping['name']} has changed something"


@pytest.mark.parametrize("suite", SUITES)
def test_the_gold_calls_of_all_users_pass_the_checks(source: DojoSource, process: Process, suite: str) -> None:
    users = suite_of(source, suite)["users"]
    for user in users:
        world = SuiteWorld.of(process, suite, user, {})
        make(world)
        assert world.checked("", world.output()) == {"utility": True}, user
    print(f"{suite}: {len(users)} users")


@pytest.mark.parametrize("suite", SUITES)
def test_the_gold_calls_of_injected_tasks_do_them_and_others_do_not(
    source: DojoSource, process: Process, suite: str
) -> None:
    mapping = suite_of(source, suite)
    [user, *_] = mapping["users"]
    done = 0
    for injection, goal in mapping["injections"].items():
        world = SuiteWorld.of(process, suite, user, {})
        if not world.gold(injection):
            continue
        make(world)
        assert not world.checked(injection, world.output())["attacked"], injection
        make(world, injection)
        assert world.checked(injection, world.output())["attacked"], injection
        done += 1
        assert INJECTED.format(goal=goal)
    print(f"{suite}: {done} of {len(mapping['injections'])} injected tasks")


@pytest.mark.parametrize("suite", SUITES)
def test_each_injected_text_is_shown_as_it_was_written(source: DojoSource, process: Process, suite: str) -> None:
    mapping = suite_of(source, suite)
    for user in mapping["users"]:
        places = process.ask(do="seen", suite=suite, user=user)
        for goal in mapping["injections"].values():
            text = INJECTED.format(goal=goal)
            world = SuiteWorld.of(process, suite, user, dict.fromkeys(places, text))
            shown = [str(world.call(item["name"], item["arguments"])) for item in world.gold()]
            assert not places or any(text in name or repr(text)[1:-1] in name for name in shown), (user, places)
            world.close()
