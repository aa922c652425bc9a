"""BFCL as an environment, with a made wheel: its files, its worlds, its rules, its turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.bfcl import source as sources
from envs.bfcl.backend import ApiWorld, Backend, backend
from envs.bfcl.calls import read_call
from envs.bfcl.checks import CheckedConversation
from envs.bfcl.environment import BfclEnvironment
from envs.bfcl.functions import DESTRUCTIVE, READ, tools_of
from envs.bfcl.plugin import PLUGIN
from envs.bfcl.source import BfclSource
from tape import TapeAgent
from tape.agents.react import ReactAgent
from tape.errors import ConfigError, DataError, EnvironmentFaultError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.testing import StateConformance
from tape.tools import ToolEnvironment
from tape.tools.calls import call, from_mapping
from tape.tools.making import make_tool
from tape.tools.role_cases import program_text
from tests.envs.bfcl.made import hashes, wheel


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> BfclSource:
    monkeypatch.setattr(sources, "_HASHES", hashes(folder))
    return sources.source(folder)


@pytest.fixture
def apis(made: BfclSource) -> Backend:
    return backend(made)


CONFIG = {"GorillaFileSystem": {"notes": {"a": "text"}}}


def world(apis: Backend, *, long: bool = False) -> ApiWorld:
    return ApiWorld.of(apis, ["GorillaFileSystem", "MathAPI"], CONFIG, long=long)


def test_only_files_of_the_pinned_version_are_read(folder: Path, made: BfclSource, tmp_path: Path) -> None:
    assert [conversation.id for conversation in made.conversations("base")] == ["multi_turn_base_0"]
    with pytest.raises(DataError, match="has no folder bfcl_eval: unpack the wheel of bfcl-eval"):
        BfclSource(tmp_path)
    (tmp_path / "bfcl_eval").mkdir()
    with pytest.raises(DataError, match="is missing; unpack all of the wheel"):
        BfclSource(tmp_path).conversations("base")
    other = wheel(tmp_path)
    file = other / "bfcl_eval/data/BFCL_v4_multi_turn_base.json"
    file.write_text(file.read_text().replace("Copy", "Move"))
    with pytest.raises(DataError, match="is not that of bfcl-eval"):
        BfclSource(other / "bfcl_eval").conversations("base")


@pytest.mark.parametrize(
    "text", ["cat(", "1 + 1", "none(x=1)", "cat(file_name=open('x'))", "cat('a', 'b')", "a.cat('x')", "cat(**{'x': 1})"]
)
def test_a_gold_call_is_read_and_never_evaluated(text: str) -> None:
    parameters = {"cat": ["file_name"]}
    assert read_call("cat('a')", parameters) == ("cat", {"file_name": "a"})
    if text == "cat(**{'x': 1})":
        assert read_call(text, parameters) == ("cat", {})
        return
    with pytest.raises(DataError, match="cannot be read"):
        read_call(text, parameters)


def test_calls_return_what_the_official_checker_writes(apis: Backend) -> None:
    api_world = world(apis)
    assert api_world.call("cat", {"file_name": "a"}) == '{"file_content": "text"}'
    assert api_world.call("touch", {"file_name": "b"}) == "None"
    assert api_world.call("echo", {"content": "said"}) == "said"
    assert api_world.call("rm", {"file_name": "none"}) == "Error during execution: 'none'"
    assert api_world.take_results()[-1] == "Error during execution: 'none'"
    assert api_world.take_results() == []
    assert "more" in str(world(apis, long=True).difference(world(apis)))
    with pytest.raises(EnvironmentFaultError, match="there is no function _load_scenario"):
        api_world.call("_load_scenario", {})


@pytest.mark.parametrize(("name", "what"), [("reach", "socket"), ("start", "subprocess.Popen")])
def test_the_process_reaches_nothing_outside(apis: Backend, name: str, what: str) -> None:
    assert f"{what}" in world(apis).call(name, {})
    assert "is not allowed here" in world(apis).call(name, {})


def test_a_process_that_has_died_is_named(made: BfclSource) -> None:
    apis = Backend(made)
    apis.close()
    with pytest.raises(EnvironmentFaultError, match="ended"):
        world(apis)


def _call(name: str, use: str) -> Any:
    def function(apis: ApiWorld, **given: Any) -> str:
        return apis.call(name, given)

    def declared(apis: Any, file_name: str) -> str:
        """Do it."""
        return function(apis, file_name=file_name)

    return make_tool(declared, kind=name, state={"apis": use})  # type: ignore[dict-item]


class TestWorld(StateConformance):
    """The objects in the child process."""

    name = "apis"
    calls = (
        (_call("cat", "read"), {"file_name": "a"}),
        (_call("touch", "write"), {"file_name": "b"}),
        (_call("rm", "write"), {"file_name": "a"}),
        (_call("echo", "write"), {"file_name": "c"}),
    )

    @pytest.fixture(autouse=True)
    def _apis(self, apis: Backend) -> None:
        self._backend = apis

    def state(self) -> ApiWorld:
        return world(self._backend)


def checked(apis: Backend, calls: Sequence[tuple[str, dict[str, str]]], gold: Sequence[str]) -> str:
    parameters = {"cat": ["file_name"], "echo": ["content", "file_name"], "touch": ["file_name"]}
    api_world, checks = world(apis), CheckedConversation(world(apis))
    for name, given in calls:
        api_world.call(name, given)
    checks.turn(api_world, api_world.take_results(), [read_call(text, parameters) for text in gold])
    return checks.failure


def test_the_official_rules(apis: Backend) -> None:
    read, write = ("cat", {"file_name": "a"}), ("touch", {"file_name": "b"})
    assert checked(apis, [write, read], ["cat('a')", "touch('b')"]) == ""
    assert checked(apis, [write, read, read], ["cat('a')", "touch('b')"]) == ""
    assert checked(apis, [], ["cat('a')"]) == "no call was made"
    assert checked(apis, [read], ["touch('b')"]) == "another state: GorillaFileSystem.notes"
    assert checked(apis, [write], ["touch('b')", "cat('a')"]) == 'results were not seen: {"file_content": "text"}'
    assert checked(apis, [write], []) == ""


def gold_model(env: BfclEnvironment, wrong: int = -1) -> ScriptedLM:
    """A model that plans the gold calls of each turn; in the turn ``wrong`` one that does nothing of the kind."""

    def reply(request: Request, sample: int) -> str:
        if request.role != "plan":
            return "right"
        calls = [from_mapping(api_call.name, api_call.arguments) for api_call in env.turns()[env.turn]]
        if env.turn == wrong:
            calls = [call("touch", file_name="wrong")]
        return program_text(calls, '"done"')

    return ScriptedLM(reply)


@pytest.mark.parametrize(
    ("kind", "tightness", "world_model"),
    [
        *((kind, "tight", "copy") for kind in sources.KINDS), ("base", "tight", "lm"), ("base", "loose", "copy"),
        ("base", "none", "lm"),
    ],
)  # fmt: skip
def test_the_gold_calls_succeed_within_all_caps(
    folder: Path, made: BfclSource, kind: str, tightness: str, world_model: str
) -> None:
    part = "dev" if kind == "base" else "test"
    [task] = PLUGIN.tasks({"data": str(folder), "kind": kind, "part": part, "tightness": tightness})
    env = PLUGIN.make(task)
    assert isinstance(env, BfclEnvironment)
    agent = TapeAgent(gold_model(env), world_model=world_model, num_plans=1)
    for _ in range(2):  # the second time from the beginning
        result = agent.run(env, budget=task.budget)
        assert (result.end_state, env.failure) == ("success", "")
        assert [action.partition("(")[0] for action in result.actions if "answer" not in action] == [
            "cat",
            "echo",
            "rm",
        ]


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_wrong_turn_fails_and_the_conversation_goes_on(made: BfclSource, wrong: int) -> None:
    env = BfclEnvironment(made.conversations("base")[0], made)
    result = TapeAgent(gold_model(env, wrong), num_plans=1).run(env)
    assert result.end_state == "failure"
    assert env.failure == "another state: GorillaFileSystem.notes"
    assert result.measures == {"turns_right": wrong, "wrong_irreversible": 0}
    assert sum("answer" in action for action in result.actions) == 2


def test_wrong_calls_that_cannot_be_taken_back_are_counted(made: BfclSource) -> None:
    env = BfclEnvironment(made.conversations("base")[0], made)
    text = program_text([call("rm", file_name="a"), call("touch", file_name="a")], '"done"')

    def reply(request: Request, sample: int) -> str:
        return text if request.role == "plan" else "right"

    result = TapeAgent(ScriptedLM(reply), num_plans=1).run(env)
    # The first time it is wrong; in the second turn it is what was asked for.
    assert result.measures == {"turns_right": 0, "wrong_irreversible": 1}


def test_the_simulated_planner_errs_at_its_rates(folder: Path, made: BfclSource) -> None:
    [task] = PLUGIN.tasks({"data": str(folder), "kind": "base", "part": "dev", "tightness": "loose"})
    for execution in ("forced", "constrained"):
        agent = TapeAgent("simulated:bfcl?errors=0&verdicts=0", world_model="copy", execution=execution)
        right = agent.run(PLUGIN.make(task), budget=task.budget)
        assert (right.end_state, right.mismatches) == ("success", 1)  # the next turn is not foreseen
    agents = [TapeAgent(f"simulated:bfcl?errors=1&seed={seed}", num_plans=1) for seed in range(4)]
    assert not all(agent.run(PLUGIN.make(task), budget=task.budget).success for agent in agents)
    with pytest.raises(ConfigError, match="options are errors and verdicts"):
        TapeAgent("simulated:bfcl?errors=2")
    unknown = TapeAgent("simulated:bfcl").run(ToolEnvironment("Something else.", [cat_tool()]))
    assert (unknown.end_state, "knows the tasks of BFCL" in unknown.detail) == ("model_error", True)


def cat_tool() -> Any:
    def cat(file_name: str) -> str:
        """Read a file."""
        return file_name

    return make_tool(cat)


def test_a_function_that_is_held_back_comes_in_its_turn(made: BfclSource) -> None:
    env = BfclEnvironment(made.conversations("miss_func")[0], made)
    offered: list[bool] = []

    def reply(request: Request, sample: int) -> str:
        offered.append("def rm(" in str(request.prompt))
        return 'answer("done")'

    ReactAgent(ScriptedLM(reply)).run(env, budget="9 steps")
    assert offered == [False, False, True]


def test_tools_say_what_they_change(made: BfclSource) -> None:
    tools = {tool.name: tool for tool in tools_of(made, ["GorillaFileSystem"], ["wc"])}
    assert "wc" not in tools
    assert (tools["cat"].pure, tools["rm"].destructive, tools["touch"].writes) == (True, True, True)
    assert tools["cat"].description == "Do cat."
    assert not READ & DESTRUCTIVE


def test_what_the_command_line_refuses(folder: Path, made: BfclSource) -> None:
    options = {"data": str(folder), "kind": "miss_func", "part": "dev", "tightness": "none"}
    with pytest.raises(ConfigError, match="for evaluation; give --part test"):
        PLUGIN.tasks(options)
    with pytest.raises(ConfigError, match="bfcl needs --data DIR"):
        PLUGIN.tasks({**options, "data": None})
    with pytest.raises(ConfigError, match="--sample is from 1 to the 1 conversations, not 2"):
        PLUGIN.tasks({**options, "part": "test", "sample": 2})
    assert len(PLUGIN.tasks({**options, "part": "test", "sample": 1})) == 1
