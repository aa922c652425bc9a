"""The environment: seeds, failing tools, asynchronous and hanging tools, judging."""

import random
from typing import Any

import pytest

from tape.tools import Tool, ToolEnvironment, ToolFailedError, tool
from tape.tools.calls import call
from tests.tape.tools.helpers import add
from tests.tape.tools.misbehaving import Mute, raising


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


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ToolFailedError("no such city"), "no such city"), (ValueError("bad"), "ValueError: bad"),
        (StopIteration(), "StopIteration"), (SystemExit(3), "SystemExit: 3"),
        (Mute(), "Mute: its message cannot be read"), (OSError("no file \udcff"), "OSError: no file ?"),
        (TimeoutError("late"), "TimeoutError: late"), (ToolFailedError("x" * 10_000), "x" * 297 + "…"),
    ],
)  # fmt: skip
def test_what_a_tool_raises_is_a_failed_call_that_is_paid(error: BaseException, note: str) -> None:
    env = ToolEnvironment("task", [raising(error, later=False)])
    env.reset(0)
    observation, used = env.step("t()")
    assert observation.data.failed == (call("t"),)
    assert observation.data.note == note
    assert used["usd"] == 500_000


def test_an_empty_text_has_nothing_to_read() -> None:
    @tool(reads=True)
    def search(q: str) -> str:
        """Search."""
        return "  "

    assert "empty" in seen(search, q="x")._state.note


@pytest.mark.parametrize(
    ("result", "written"), [(20.0, "20.0"), (True, "true"), ([1, "a"], '[1, "a"]'), ("plain", "plain"), (None, "null")]
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
