"""Tools of every kind pass the suite that users' tools inherit: functions, a server, and what shares a state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tape.budget import Resources
from tape.testing import ToolConformance
from tape.tools import PerUnit, Tool, ToolFailedError, Uniform, tool
from tape.tools.copies import SQLite
from tests.tape.tools.copies.test_states import TestSQLite as Fruit
from tests.tape.tools.copies.test_states import add, count
from tests.tape.tools.helpers import TOOLS
from tests.tape.tools.hostile import Hostile


class TestFunctions(ToolConformance):
    calls: ClassVar = [
        ("multiply.quick", {"a": 2, "b": 3}),
        ("multiply.exact", {"a": 2, "b": 3}),
        ("divide", {"a": 1, "b": 4}),
        ("note", {"text": "x", "tags": ["y"]}),
    ]

    def tools(self) -> Sequence[Tool]:
        return TOOLS


class TestServer(ToolConformance):
    calls: ClassVar = [("look", {"call": 0, "where": {"x": 1}}), ("wipe", {})]

    @pytest.fixture(autouse=True)
    def _in_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Sequence[Tool]]:
        costs = {"look": {"usd": "0.01", "seconds": 2}, "wipe": {"usd": 0}}
        async with Hostile(self.folder).tools(costs=costs) as tools:
            yield [*tools.values()]


class TestWithAState(ToolConformance):
    calls: ClassVar = [("add", {"name": "pears"}), ("count", {})]

    def tools(self) -> Sequence[Tool]:
        return [add, count]

    def state(self) -> SQLite:
        return Fruit().state()


def suite(item: Tool, **given: Any) -> ToolConformance:
    made = type("Suite", (ToolConformance,), {"calls": [(item.name, given)], "tools": lambda self: [item]})
    conformance: ToolConformance = made()
    return conformance


made: list[int] = []


@tool(pure=True, usd="0.01")
def changes(x: int) -> int:
    """Return another number each time."""
    made.append(x)
    return len(made)


@tool(cost=PerUnit(Resources.of(usd="0.01"), lambda arguments, result: 9, 3))
def dear(x: int) -> int:
    """Take more than is declared."""
    return x


@tool(usd="0.01")
def fails(x: int) -> int:
    """Fail."""
    raise ToolFailedError("no")


@pytest.mark.parametrize(
    ("item", "test"),
    [
        (changes, "a_pure_call_gives_the_same_in_every_episode"),
        (dear, "a_call_costs_at_most_what_is_declared"),
        (fails, "a_call_costs_at_most_what_is_declared"),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_a_broken_tool_is_detected(item: Tool, test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(suite(item, x=1), f"test_{test}")()


def test_the_suite_knows_costs_that_vary() -> None:
    @tool(cost=Uniform(Resources.of(usd="0.02"), 0.5, ("usd",)), pure=True)
    def vary(x: int) -> int:
        """Cost more or less."""
        return x

    suite(vary, x=1).test_a_call_costs_at_most_what_is_declared()
    for short in (False, True):
        suite(vary, x=1).test_what_does_not_fit_the_budget_is_not_called(short)
