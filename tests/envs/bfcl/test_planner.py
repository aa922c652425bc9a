"""The simulated planner of BFCL, and conversations of several turns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.apart.planner import KnownRequest, know, open_planner, reply
from envs.bfcl import source as sources
from envs.bfcl.calls import ApiCall
from envs.bfcl.environment import BfclEnvironment
from envs.bfcl.source import BfclSource
from envs.rates import Rates
from tape import TapeAgent, ToolEnvironment
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolFailedError
from tape.tools.making import make_tool
from tests.envs.bfcl.made import hashes, wheel

FUNCTIONS = {"write": ["text"], "wipe": list[str]()}


class Store:
    """Notes, of which so many cannot be written at first."""

    def __init__(self, failures: int = 0) -> None:
        self.notes: list[Any] = []
        self._failures = failures

    def tools(self) -> list[Tool]:
        def write(text: Any) -> str:
            """Write a note."""
            if self._failures:
                self._failures -= 1
                raise ToolFailedError("the disk is busy")
            self.notes.append(text)
            return f"note {len(self.notes)}"

        def wipe() -> str:
            """Remove what nobody needs."""
            return "clean"

        return [make_tool(write), make_tool(wipe)]


def played(task: str, gold: list[ApiCall], store: Store) -> EpisodeResult[Any]:
    know([(task, KnownRequest(task, gold, FUNCTIONS, []))])
    agent = TapeAgent(open_planner("bfcl?errors=0&verdicts=0"))
    return agent.run(ToolEnvironment(task, store.tools(), budget="20 steps"))


@pytest.mark.parametrize(
    "value", ["see #1 {x}", "#1", 'it\'s "so") # -> no', "a\nb", "é", True, None, [1.5, False], {"k": [None]}]
)
def test_values_are_written_as_they_are_and_known_again(value: object) -> None:
    store = Store()
    result = played(f"Note {value!r} twice.", [ApiCall("write", {"text": value}), ApiCall("wipe", {})] * 2, store)
    assert (result.answer, store.notes) == ("done", [value, value])


def test_a_right_call_that_has_failed_is_not_taken_for_made() -> None:
    store, task = Store(failures=1), "Clean up and note."
    know([(task, KnownRequest(task, [ApiCall("wipe", {}), ApiCall("write", {"text": "x"})], FUNCTIONS, []))])
    model = open_planner("bfcl?errors=0&verdicts=0")
    TapeAgent(model).run(ToolEnvironment(task, store.tools(), budget="20 steps"))
    [request] = [each for each in model.requests if "This line failed:\n" in each.prompt[-1].content][:1]  # type: ignore[union-attr]
    assert reply(request, 0, Rates.parse("bfcl", "errors=0&verdicts=0"), 0) == 'r2 = write(text="x")\nanswer("done")'


COPY = "text = cat('a')\ncopied = echo(content='text of a', file_name='b')\nanswer('done')"
REMOVE = "gone = rm('a')\nanswer('done')"
TOUCH = "made = touch('a')\nanswer('done')"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BfclEnvironment:
    made = wheel(tmp_path)
    monkeypatch.setattr(sources, "_HASHES", hashes(made))
    source: BfclSource = sources.source(made)
    return BfclEnvironment(source.conversations("base")[0], source)


def planner(write: Callable[[int, int], str], prompts: list[tuple[int, str]], env: BfclEnvironment) -> ScriptedLM:
    """A model that writes a program by the number of the turn and that of the sample in it."""

    def reply(request: Request, sample: int) -> str:
        earlier = sum(turn == env.turn for turn, _ in prompts)
        prompts.append((env.turn, request.prompt[-1].content))  # type: ignore[union-attr]
        return write(env.turn, earlier)

    return ScriptedLM(reply)


def test_a_turn_is_asked_for_when_the_user_speaks_and_not_followed_from_the_turn_before(env: BfclEnvironment) -> None:
    prompts: list[tuple[int, str]] = []
    result = TapeAgent(planner(lambda turn, _: (COPY, REMOVE)[turn], prompts, env)).run(env, budget="20 steps")
    assert (result.end_state, env.failure) == ("success", "")
    assert [action.partition("(")[0] for action in result.actions] == ["cat", "echo", "answer", "rm", "answer"]
    assert [turn for turn, _ in prompts] == [0, 0, 0, 1, 1, 1]
    [first, *_], [then, *_] = ([text for turn, text in prompts if turn == number] for number in (0, 1))
    assert "Task: Copy a to b." in first
    assert "So far:" not in first
    assert "Task: Remove a." in then
    for done in ('r1 = cat(file_name="a")  # -> ', 'r2 = echo(content="text of a", file_name="b")  # -> '):
        assert done in then.partition("Earlier in this conversation:\n\nTask: Copy a to b.\n")[2]
    assert "So far:" not in then


def test_a_program_may_use_the_results_of_the_turn_before(env: BfclEnvironment) -> None:
    later = "copied = echo(content=r1['file_content'], file_name='c')\nanswer('done')"
    result = TapeAgent(planner(lambda turn, _: (COPY, later)[turn], [], env)).run(env, budget="20 steps")
    assert result.malformed == 0
    assert result.actions[3] == 'echo(content="text of a", file_name="c")'


def test_what_has_been_done_may_be_asked_for_again(env: BfclEnvironment) -> None:
    result = TapeAgent(planner(lambda turn, _: TOUCH, [], env)).run(env, budget="20 steps")
    assert [action.partition("(")[0] for action in result.actions] == ["touch", "answer", "touch", "answer"]


def test_a_call_that_only_the_first_sample_lacked_is_told_in_the_next_turn(env: BfclEnvironment) -> None:
    prompts: list[tuple[int, str]] = []

    def write(turn: int, sample: int) -> str:
        return "made = touch('z')\nanswer('done')" if (turn, sample) == (0, 0) else (COPY, REMOVE)[turn]

    result = TapeAgent(planner(write, prompts, env)).run(env, budget="20 steps")
    assert [action.partition("(")[0] for action in result.actions] == ["cat", "echo", "answer", "rm", "answer"]
    then = next(text for turn, text in prompts if turn == 1)
    assert 'r2 = echo(content="text of a", file_name="b")  # -> ' in then
    assert "touch('z')" not in then


def test_what_failed_in_a_turn_is_not_told_in_the_next(env: BfclEnvironment) -> None:
    prompts: list[tuple[int, str]] = []
    failing = "text = cat('a')\nsize = text['size']\ncopied = echo(content=size, file_name='b')\nanswer('done')"
    rest = "copied = echo(content=text['file_content'], file_name='b')\nanswer('done')"

    def write(turn: int, sample: int) -> str:
        return REMOVE if turn else rest if "This line failed:" in prompts[-1][1] else failing

    result = TapeAgent(planner(write, prompts, env)).run(env, budget="20 steps")
    assert (result.end_state, result.replans) == ("success", 1)
    assert any("This line failed:\nsize = text['size']" in text for turn, text in prompts if turn == 0)
    assert not any("failed" in text for turn, text in prompts if turn == 1)
    assert all('r1 = cat(file_name="a")  # -> ' in text for turn, text in prompts if turn == 1)
