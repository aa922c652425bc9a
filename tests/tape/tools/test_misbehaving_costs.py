"""Calls whose price cannot be counted, or whose arguments the tool changes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tape.budget import Resources
from tape.errors import UnknownCostError
from tape.tools import PerUnit, ToolError, ToolFailedError
from tests.tape.tools.misbehaving import (
    Mute,
    Odd,
    made,
    play,
    thrown,
)


def test_a_tool_that_changes_its_arguments_pays_for_what_it_was_asked() -> None:
    def emptied(words: list[str]) -> int:
        words.clear()
        return 1

    each = PerUnit(Resources.of(usd="0.1"), lambda arguments, result: len(arguments["words"]), 5)
    played = play(made(emptied, cost=each), arguments={"words": ["a", "b", "c"]})
    assert (played.end_state, played.used["usd"]) == ("success", 300_000)


@pytest.mark.parametrize(
    ("actual", "says"),
    [
        (lambda: thrown(SystemExit(4)), "SystemExit: 4"),
        (lambda: thrown(asyncio.CancelledError()), "CancelledError"),
        (lambda: thrown(Mute()), "Mute"),
        (lambda: 5, "not as int"),
        (lambda: None, "not as NoneType"),
        (lambda: Resources({"usd": 10**400}), "ConfigError: usd"),
        (lambda: Resources({"usd": 10**30}), "no credible amount"),
        (lambda: Resources({"usd": -1}), "a count is an integer >= 0"),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_a_cost_that_cannot_be_counted_is_booked_as_its_worst_case(
    actual: Callable[[], Any], says: str, fails: bool
) -> None:
    def work() -> int:
        if fails:
            raise ToolFailedError("no")
        return 1

    played = play(made(work, cost=Odd(actual)))
    assert played.used["usd"] == 500_000
    assert played.end_state == ("failure" if fails else "env_error")
    assert fails or says in played.detail


@pytest.mark.parametrize("worst", [lambda: 1 / 0, lambda: "much", lambda: None, lambda: Resources({"usd": 10**30})])
def test_a_worst_case_that_is_none_is_refused_where_it_is_declared(worst: Callable[[], Any]) -> None:
    with pytest.raises(ToolError, match="t: the worst case of its cost"):
        made(lambda: 1, cost=Odd(Resources, worst))


def test_a_cost_that_turns_out_unknown_is_not_booked_as_nothing() -> None:
    played = play(made(lambda: 1, cost=Odd(lambda: Resources({"usd": None}))))
    assert played.used["usd"] == 500_000
    with pytest.raises(UnknownCostError):
        play(made(lambda: 1, cost=Odd(Resources, lambda: Resources({"usd": None}))))
