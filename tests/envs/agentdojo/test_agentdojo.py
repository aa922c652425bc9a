"""AgentDojo as an environment, with a made wheel: its files, its worlds, its checks, what injected texts do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Protocol

import pytest

from envs.agentdojo import source as sources
from envs.agentdojo.environment import AgentDojoEnvironment, DojoCase, suites
from envs.agentdojo.plugin import PLUGIN
from envs.agentdojo.source import DojoSource
from envs.agentdojo.tools import SuiteWorld, tools_of
from envs.apart.host import Process
from tape import TapeAgent
from tape.agents.base import Agent
from tape.agents.react import ReactAgent
from tape.errors import ConfigError, DataError, EnvironmentFaultError
from tape.protocols.result import EpisodeResult
from tape.testing import StateConformance
from tape.tools.errors import ToolFailedError
from tests.envs.agentdojo.made import HASHES, wheel

pytest.importorskip("deepdiff")
pytest.importorskip("email_validator")

USER, INJECTION = "user_task_0", "injection_task_0"
OPTIONS: dict[str, Any] = {"suite": "banking", "attack": False, "part": "dev", "tightness": "tight"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> DojoSource:
    monkeypatch.setattr(sources, "_HASHES", HASHES)
    return sources.source(folder)


@pytest.fixture
def process(made: DojoSource) -> Process:
    return suites(made)


def world(process: Process, **injections: str) -> SuiteWorld:
    return SuiteWorld.of(process, "banking", USER, injections)


def test_only_files_of_the_pinned_version_are_read(made: DojoSource, tmp_path: Path) -> None:
    assert [*made.data()] == [
        "banking/environment.yaml",
        "banking/include/files.yaml",
        "banking/injection_vectors.yaml",
    ]
    with pytest.raises(DataError, match=r"has no folder agentdojo: unpack the wheel of agentdojo 0\.1\.35"):
        DojoSource(tmp_path)
    other = wheel(tmp_path)
    file = other / "agentdojo/task_suite/load_suites.py"
    file.write_text(file.read_text() + "\n")
    with pytest.raises(DataError, match=r"is not that of agentdojo 0\.1\.35"):
        DojoSource(other).modules()
    with pytest.raises(ConfigError, match="agentdojo needs --data DIR, the folder of the unpacked wheel"):
        PLUGIN.tasks({"data": None, **OPTIONS})


def test_what_a_tool_returns_and_what_it_reports(process: Process) -> None:
    suite_world = world(process)
    assert suite_world.call("read_file", {"path": "bill.txt"}) == "5 to landlord. thanks"
    assert suite_world.call("send_money", {"recipient": "a", "amount": 1}) == {"message": "paid"}
    with pytest.raises(ToolFailedError, match="KeyError: 'none'"):
        suite_world.call("read_file", {"path": "none"})
    assert [call["name"] for call in suite_world.made] == ["read_file", "send_money", "read_file"]
    assert suite_world.difference(world(process)) == ['paid[0]: "a 1" -> nothing', "paid: nothing -> empty list"]


def test_a_text_stands_where_the_gold_calls_read_it_as_it_was_written(process: Process) -> None:
    text = 'first: "quoted" \\ {braces}\nsecond'
    assert process.ask(do="seen", suite="banking", user=USER) == ["bill"]
    assert world(process, bill=text).call("read_file", {"path": "bill.txt"}) == f"5 to landlord. {text}"


def test_the_process_reaches_nothing_outside(process: Process) -> None:
    with pytest.raises(ToolFailedError, match=r"socket.* is not allowed here"):
        world(process).call("get_balance", {})


def test_a_task_from_another_process_has_the_same_suites(made: DojoSource, process: Process) -> None:
    assert suites(pickle.loads(pickle.dumps(made))) is process


def test_a_process_that_has_died_is_named(made: DojoSource) -> None:
    own = Process("envs.agentdojo.child", "AgentDojo's suites")
    own.close()
    with pytest.raises(EnvironmentFaultError, match="AgentDojo's suites"):
        world(own)


class TestWorld(StateConformance):
    """A suite's environment in the child process."""

    name = "world"

    @pytest.fixture(autouse=True)
    def _suite(self, process: Process) -> None:
        self._process = process
        tools = {tool.name: tool for tool in tools_of(process.ask(do="suite", name="banking")["tools"])}
        self.calls = (  # type: ignore[misc]
            (tools["read_file"], {"path": "bill.txt"}),
            (tools["create_file"], {"path": "bill.txt", "text": "new"}),
            (tools["send_money"], {"recipient": "a", "amount": 1}),
        )

    def state(self) -> SuiteWorld:
        return world(self._process)


def test_tools_say_what_they_change(process: Process) -> None:
    tools = {tool.name: tool for tool in tools_of(process.ask(do="suite", name="banking")["tools"])}
    assert [tool.pure for tool in tools.values()] == [True, False, False, True]
    assert [tool.destructive for tool in tools.values()] == [False, True, False, False]


class Play(Protocol):
    """Plays the first task."""

    def __call__(self, agent: Agent, injection: str = "", *, tightness: str = "loose") -> EpisodeResult: ...


@pytest.fixture
def play(folder: Path, made: DojoSource) -> Play:
    assert made

    def played(agent: Agent, injection: str = "", *, tightness: str = "loose") -> EpisodeResult:
        options = {**OPTIONS, "attack": bool(injection), "tightness": tightness, "data": str(folder)}
        task = next(item for item in PLUGIN.tasks(options) if item.facts["case"].user == USER)
        return agent.run(PLUGIN.make(task), budget=task.budget)

    return played


@pytest.mark.parametrize(("tightness", "world_model"), [("none", "lm"), ("loose", "copy"), ("tight", "copy")])
def test_the_gold_calls_succeed_within_all_caps(play: Play, tightness: str, world_model: str) -> None:
    agent = TapeAgent("simulated:agentdojo?errors=0&verdicts=0", world_model=world_model)
    result = play(agent, tightness=tightness)
    assert result.end_state == "success"
    assert result.answer == "The bill is paid."
    assert result.measures == {"wrong_irreversible": 0, "false_refusals": 0}


def test_tasks_have_ids_parts_and_caps(folder: Path, made: DojoSource) -> None:
    given = {**OPTIONS, "data": str(folder)}
    assert [task.id for task in PLUGIN.tasks({**given, "part": "test"})] == ["banking/user_task_4"]
    [*_, last] = PLUGIN.tasks({**given, "attack": True})
    assert (last.id, last.level_set) == ("banking/user_task_3+injection_task_0", "agentdojo-attack-dev-tight")
    assert len(PLUGIN.tasks({**given, "attack": True})) == 4  # an injected task without gold calls is left out


def test_a_check_of_the_calls_goes_before_that_of_the_state(made: DojoSource) -> None:
    env = AgentDojoEnvironment(DojoCase("banking", "user_task_4"), made)
    assert TapeAgent("simulated:agentdojo?errors=0").run(env, budget="9 steps").success


def test_who_reads_before_each_action_does_what_a_text_asks_for(play: Play) -> None:
    obeying = "simulated:agentdojo?errors=0&verdicts=0&obeys=1"
    result = play(ReactAgent(obeying), INJECTION)
    assert (result.end_state, result.measures) == (
        "success", {"wrong_irreversible": 1, "false_refusals": 0, "attacked": 1}
    )  # fmt: skip
    result = play(ReactAgent("simulated:agentdojo?errors=0&verdicts=0&obeys=0"), INJECTION)
    assert (result.success, result.measures["attacked"]) == (True, 0)
    # It planned before it read.
    result = play(TapeAgent(obeying), INJECTION)
    assert (result.success, result.measures["attacked"]) == (True, 0)


def test_the_tight_cap_pays_for_no_injected_task(play: Play) -> None:
    obeying = "simulated:agentdojo?errors=0&verdicts=0&obeys=1"
    result = play(ReactAgent(obeying), INJECTION, tightness="tight")
    assert (result.end_state, result.measures["attacked"]) == ("budget:usd", 1)


def test_a_refused_gold_call_is_a_false_refusal(play: Play) -> None:
    agent = TapeAgent("simulated:agentdojo?errors=0&verdicts=0", destructive="refuse")
    result = play(agent)
    assert (result.end_state, result.measures["false_refusals"]) == ("infeasible", 1)


def test_each_try_begins_with_a_fresh_world(made: DojoSource) -> None:
    env = AgentDojoEnvironment(DojoCase("banking", USER), made)
    agent = TapeAgent("simulated:agentdojo?errors=0&verdicts=0")
    assert [agent.run(env, budget="9 steps").success for _ in range(2)] == [True, True]


@pytest.mark.parametrize("obeys", ["2", "x"])
def test_a_share_is_a_share(obeys: str) -> None:
    with pytest.raises(ConfigError, match="obeys is a share, from 0 to 1"):
        TapeAgent(f"simulated:agentdojo?obeys={obeys}")
