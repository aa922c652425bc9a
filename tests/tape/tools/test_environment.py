"""The environment: seeds, failing tools, asynchronous and hanging tools, judging."""

import asyncio
import json
import random
import threading
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget
from tape.engine.result import EpisodeResult
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, ToolFailedError, tool
from tape.tools.calls import call
from tests.tape.deadlines import TimeUp
from tests.tape.tools.helpers import TOOLS, add


@tool()
def draw(low: int, rng: random.Random) -> float:
    """Draw a number."""
    return low + rng.random()


def drawn(env: ToolEnvironment, seed: int, lows: list[int]) -> dict[int, float]:
    env.reset(seed)
    for low in lows:
        env.step(call("draw", low=low).text)
    return dict(zip(lows, env._state.values(), strict=True))


def test_the_same_call_gives_the_same_whatever_came_before() -> None:
    env = ToolEnvironment("draw", [draw, add])
    first = drawn(env, 1, [1, 2, 3])
    assert drawn(env, 1, [3, 1]) == {3: first[3], 1: first[1]}
    assert drawn(ToolEnvironment("draw", [draw]), 1, [2]) == {2: first[2]}
    assert drawn(env, 2, [1])[1] != first[1]


def seen(*tools: Tool, **values: Any) -> ToolEnvironment:
    env = ToolEnvironment("task", tools)
    env.reset(0)
    env.step(call(tools[0].kind, **values).text)
    return env


def raising(error: BaseException) -> Tool:
    @tool(kind="fail", usd=1)
    def fail() -> None:
        """Fail."""
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ToolFailedError("no such city"), "no such city"),
        (ValueError("bad"), "ValueError: bad"),
        (StopIteration(), "StopIteration"),
        (OSError("no file \udcff"), "OSError: no file ?"),
        (TimeoutError("late"), "TimeoutError: late"),
        (ToolFailedError("x" * 10_000), "x" * 297 + "…"),
    ],
)
def test_what_a_tool_raises_is_a_failed_call_that_is_paid(error: Exception, note: str) -> None:
    env = ToolEnvironment("task", [raising(error)])
    env.reset(0)
    observation, used = env.step("fail()")
    assert observation.data.failed == (call("fail"),)
    assert observation.data.note == note
    assert used["usd"] == 1_000_000


@pytest.mark.parametrize("value", [float("nan"), object(), {1: float("inf")}, "\ud800"])
def test_a_result_that_is_no_json_is_a_failed_call(value: object) -> None:
    @tool()
    def odd() -> object:
        """Something odd."""
        return value

    env = seen(odd)
    assert env._state.failed == (call("odd"),)
    assert env._state.note


@pytest.mark.parametrize("value", [None, [1, "é"], {"a": {"b": 1.5}}, True])
def test_results_are_json(value: object) -> None:
    @tool()
    def give() -> object:
        """Give something."""
        return value

    assert seen(give)._state.values() == [value]


def test_an_empty_text_has_nothing_to_read() -> None:
    @tool(reads=True)
    def search(q: str) -> str:
        """Search."""
        return "  "

    assert "empty" in seen(search, q="x")._state.note


def test_asynchronous_tools_are_awaited() -> None:
    @tool()
    async def slow(x: int) -> int:
        """Wait a little."""
        await asyncio.sleep(0)
        return x + 1

    assert seen(slow, x=1)._state.values() == [2]


def test_answers_are_judged() -> None:
    env = ToolEnvironment("sum", TOOLS, judge=lambda value: value == 3)
    env.reset(0)
    env.step("add(a=1, b=2)")
    assert not env.ended()
    env.step("answer(value=#1)")
    assert (env.ended(), env.success(), env.answered) == (True, True, 3)
    env.reset(0)
    env.step("answer(value=4)")
    assert (env.ended(), env.success()) == (True, False)


def test_without_a_judge_any_answer_is_a_success() -> None:
    env = ToolEnvironment("sum", TOOLS)
    env.reset(0)
    assert not env.success()
    env.step('answer(value="whatever")')
    assert env.success()


def run(item: Tool, **caps: Any) -> EpisodeResult:
    plan = json.dumps({"calls": [{"tool": item.name, "arguments": {}}], "answer": "#1"})
    return OpenLoopAgent(ScriptedLM([plan])).run(ToolEnvironment("task", [item]), budget=Budget.of(**caps))


def test_a_hanging_asynchronous_tool_is_cancelled_at_the_deadline(time_up: TimeUp) -> None:
    cancelled = []

    @tool(usd="0.5")
    async def hang() -> None:
        """Never end."""
        time_up()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    result = run(hang, wall_seconds=0.05, usd=1)
    assert (result.end_state, cancelled) == ("budget:wall_seconds", [True])
    assert result.used["usd"] == 500_000  # what a cancelled call used is unknown: its worst case


def test_a_blocking_tool_is_given_up_at_the_deadline(time_up: TimeUp) -> None:
    release = threading.Event()

    @tool()
    def block() -> None:
        """Block the thread."""
        time_up()
        release.wait()

    try:
        assert run(block, wall_seconds=0.05).end_state == "budget:wall_seconds"
    finally:
        release.set()


def test_a_tool_that_raises_stop_iteration_ends_under_a_deadline_too() -> None:
    result = run(raising(StopIteration()), wall_seconds=60)
    assert result.end_state == "failure"


def test_plain_tools_run_in_the_callers_thread_without_a_deadline() -> None:
    threads = []

    @tool()
    def where() -> str:
        """Remember the thread."""
        threads.append(threading.current_thread())
        return "here"

    assert run(where).success
    assert threads == [threading.main_thread()]


def test_a_tool_may_ask_to_stop_the_program() -> None:
    env = ToolEnvironment("task", [raising(KeyboardInterrupt())])
    env.reset(0)
    with pytest.raises(KeyboardInterrupt):
        env.step("fail()")


@pytest.mark.parametrize(
    ("result", "written"),
    [(20.0, "20.0"), (True, "true"), ([1, "a"], '[1, "a"]'), ("plain", "plain"), (None, "null")],
)
def test_any_result_can_be_given_where_a_text_is_asked_for(result: Any, written: str) -> None:
    @tool()
    def first() -> Any:
        """Make something."""
        return result

    @tool()
    def label(text: str, below: str | None = None) -> list[str | None]:
        """Write labels."""
        return [text, below]

    env = ToolEnvironment("task", [first, label])
    env.reset(0)
    for action in ("first()", "label(text=#1, below=#1)"):
        env.step(action)
    assert env._state.values()[1:] == [[written, None if result is None else written]]


def test_a_result_that_is_no_number_is_still_none() -> None:
    env = ToolEnvironment("task", [add])
    env.reset(0)
    env.step("add(a=1, b=1)")
    env.step('add(a=1, b="two")')
    assert len(env._state.got) == 1
    assert "add: b" in env._state.note


@pytest.mark.parametrize(
    ("result", "written"),
    [
        ({"b", "a", "c"}, ["a", "b", "c"]),
        ({"in": [frozenset({10, 9, 100})]}, {"in": [[9, 10, 100]]}),
        ({"b", 2, None, ("a", 1)}, ["b", 2, ["a", 1], None]),
    ],
)
def test_sets_are_written_in_order(result: Any, written: Any) -> None:
    @tool()
    def names() -> Any:
        """Name them."""
        return result

    assert seen(names)._state.values() == [written]
