"""Results that no file can hold, texts that results fill, and calls whose price cannot be counted."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tape.budget import Resources
from tape.errors import UnknownCostError
from tape.tools import PerUnit, ToolEnvironment, ToolError, ToolFailedError, tool
from tape.tools.calls import call
from tests.tape.tools.misbehaving import RESULTS, Mute, Odd, coroutine, made, nested, play, returning, thrown

INFINITE = ("an infinite number", lambda: {1: float("inf")}, "no JSON")


@pytest.mark.parametrize(
    ("value", "message", "later"),
    [
        *(pytest.param(*item[1:], False, id=item[0]) for item in (*RESULTS, INFINITE)),
        *(pytest.param(*item[1:], True, id=f"{item[0]}, async") for item in RESULTS[:2]),
    ],
)
def test_a_result_that_no_file_could_hold_is_a_failed_call(value: Callable[[], Any], message: str, later: bool) -> None:
    env = ToolEnvironment("task", [returning(value, later=later)])
    env.reset(0)
    _, used = env.step("t()")
    assert message in env._state.note
    assert used["usd"] == 500_000


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (coroutine, 7), (lambda: None, None),
        (lambda: {"a": {"b": 1.5, "c": [1, "é"], "d": True}}, {"a": {"b": 1.5, "c": [1, "é"], "d": True}}),
        (lambda: (n * n for n in range(4)), [0, 1, 4, 9]), (lambda: nested(50), nested(50)),
        (lambda: -(10**299), -(10**299)), (lambda: {(1, 2): 3}, {"1,2": 3}), (lambda: "x" * 4_000_000, "x" * 4_000_000),
    ],
)  # fmt: skip
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
    for number in range(1, 3):
        env.step(f"grow(text=f'{f'{{#{number}}} ' * 30}')")
    assert "a text has at most 10000 characters, this one 12123" in env._state.note
    assert [len(obtained.value or "") for obtained in env._state.got] == [102, 3032]


def test_a_tool_that_changes_its_arguments_pays_for_what_it_was_asked() -> None:
    def emptied(words: list[str]) -> int:
        words.clear()
        return 1

    each = PerUnit(Resources.of(usd="0.1"), lambda arguments, result: len(arguments["words"]), 5)
    played = play(made(emptied, cost=each), arguments={"words": ["a", "b", "c"]})
    assert (played.end_state, played.used["usd"]) == ("success", 300_000)


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (lambda: thrown(SystemExit(4)), "SystemExit: 4"), (lambda: thrown(asyncio.CancelledError()), "CancelledError"),
        (lambda: thrown(Mute()), "Mute"), (lambda: 5, "not as int"), (lambda: None, "not as NoneType"),
        (lambda: Resources({"usd": 10**400}), "ConfigError: usd"),
        (lambda: Resources({"usd": 10**30}), "no credible amount"),
        (lambda: Resources({"usd": -1}), "a count is an integer >= 0"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fails", [False, True])
def test_a_cost_that_cannot_be_counted_is_booked_as_its_worst_case(
    actual: Callable[[], Any], message: str, fails: bool
) -> None:
    def work() -> int:
        if fails:
            raise ToolFailedError("no")
        return 1

    played = play(made(work, cost=Odd(actual)))
    assert played.used["usd"] == 500_000
    assert played.end_state == ("failure" if fails else "env_error")
    assert fails or message in played.detail


@pytest.mark.parametrize("worst", [lambda: 1 / 0, lambda: "much", lambda: None, lambda: Resources({"usd": 10**30})])
def test_a_worst_case_that_is_none_is_refused_where_it_is_declared(worst: Callable[[], Any]) -> None:
    with pytest.raises(ToolError, match="t: the worst case of its cost"):
        made(lambda: 1, cost=Odd(Resources, worst))


def test_a_cost_that_turns_out_unknown_is_not_booked_as_nothing() -> None:
    played = play(made(lambda: 1, cost=Odd(lambda: Resources({"usd": None}))))
    assert played.used["usd"] == 500_000
    with pytest.raises(UnknownCostError):
        play(made(lambda: 1, cost=Odd(Resources, lambda: Resources({"usd": None}))))
