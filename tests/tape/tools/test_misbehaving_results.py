"""Results that no file can hold, and texts that results fill."""

from collections.abc import Callable
from typing import Any

import pytest

from tape.tools import ToolEnvironment, tool
from tape.tools.calls import LONGEST_VALUE, call
from tests.tape.tools.misbehaving import RESULTS, coroutine, nested, play, returning

INFINITE = ("an infinite number", lambda: {1: float("inf")}, "no JSON")


@pytest.mark.parametrize(("value", "says"), [pytest.param(*item[1:], id=item[0]) for item in (*RESULTS, INFINITE)])
@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_a_result_that_no_file_could_hold_is_a_failed_call(value: Callable[[], Any], says: str, later: bool) -> None:
    env = ToolEnvironment("task", [returning(value, later=later)])
    env.reset(0)
    _, used = env.step("t()")
    assert says in env._state.note
    assert used["usd"] == 500_000


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (coroutine, 7),
        (lambda: None, None),
        (lambda: {"a": {"b": 1.5, "c": [1, "é"], "d": True}}, {"a": {"b": 1.5, "c": [1, "é"], "d": True}}),
        (lambda: (n * n for n in range(4)), [0, 1, 4, 9]),
        (lambda: nested(50), nested(50)),
        (lambda: -(10**299), -(10**299)),
        (lambda: {(1, 2): 3}, {"1,2": 3}),
        (lambda: "x" * 4_000_000, "x" * 4_000_000),
    ],
)
def test_what_a_file_can_hold_is_kept(value: Callable[[], Any], kept: Any) -> None:
    assert play(returning(value)).answer == kept


def test_results_that_fill_texts_do_not_grow_without_bounds() -> None:
    @tool(pure=True, usd="0.001")
    def grow(text: str) -> str:
        """Say it again."""
        return text

    env = ToolEnvironment("task", [grow])
    env.reset(0)
    env.step(call("grow", text="x" * 100).text)
    for number in range(1, 5):
        env.step(call("grow", text=f"#{number} " * 30).text)
    assert f"more than {LONGEST_VALUE} characters" in env._state.note
    assert [len(found.value or "") for found in env._state.got] == [102, 3032, 90_932, 2_727_932]
