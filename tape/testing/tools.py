"""The conformance suite of tools, wherever they come from: functions, servers, programs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.budget import STEP, Budget
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, Toolbox, ToolEnvironment
from tape.tools.calls import from_mapping
from tape.tools.domain import as_state
from tape.tools.state import ToolState
from tape.tools.words import names

_NOBODYS = "no_tool_has_this_argument"


class ToolConformance:
    """The suite, to inherit from.

    Attributes:
        calls: Names of tools, variants included, each with arguments of a call that works. Each is made in an episode
            of its own.

    Examples:
        >>> from tape.testing import ToolConformance
        >>> from tape.tools import tool
        >>> @tool(pure=True, usd="0.01")
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> class TestDouble(ToolConformance):
        ...     calls = [("double", {"number": 21})]
        ...     def tools(self):
        ...         return [double]
        >>> TestDouble().test_a_call_costs_at_most_what_is_declared()  # pytest calls this and all the others
    """

    calls: Sequence[tuple[str, Mapping[str, Any]]]

    def tools(self) -> Sequence[Tool]:
        """The tools; override `opened` instead if they live no longer than a context."""
        raise NotImplementedError

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Sequence[Tool]]:
        """The tools while they can be called."""
        yield self.tools()

    def state(self) -> Any:
        """The `state=` of their environment, fresh each time; None if they share none."""
        return None

    def test_each_is_described(self) -> None:
        """In one line, with arguments that have a JSON schema; and each name of `calls` is one of theirs."""

        async def look() -> None:
            async with self.opened() as tools:
                assert {name for name, _ in self.calls} <= {item.name for item in tools}
                Toolbox(tools)
                for item in tools:
                    assert item.description == " ".join(item.description.split()) != ""
                    json.dumps(item.arguments.model_json_schema())

        asyncio.run(look())

    def test_a_call_costs_at_most_what_is_declared(self) -> None:
        """It gives a result that can be written to a file."""
        for _, item, state, used in self._made(self.calls):
            assert not state.failed, f"{item.name}: {state.note}"
            json.dumps(state.values(), allow_nan=False)
            for kind in used:
                most = item.worst[kind]
                assert most is None or (used[kind] or 0) <= most, f"{item.name} took {used[kind]} {kind}, not {most}"

    def test_a_pure_call_gives_the_same_in_every_episode(self) -> None:
        """With the same seed."""
        both = zip(self._made(self.calls), self._made(self.calls), strict=True)
        for (_, item, first, _), (_, _, second, _) in both:
            if item.pure:
                assert first.values() == second.values(), item.name

    def test_arguments_that_do_not_fit_cost_a_step_and_call_nothing(self) -> None:
        """An unknown argument, and each one that is missing."""
        wrong = [(name, {**given, _NOBODYS: 1}) for name, given in self.calls]
        for name, given in self.calls:
            wrong += [(name, {key: given[key] for key in given if key != left_out}) for left_out in given]
        for given, item, state, used in self._made(wrong):
            required = {name for name, field in item.arguments.model_fields.items() if field.is_required()}
            if required <= given.keys() and (item.is_open or _NOBODYS not in given):
                continue  # it fits
            assert used == STEP, f"{item.name}({', '.join(given)}) was called"
            assert (state.got, state.failed) == ((), ())
            assert item.name in state.note

    @pytest.mark.parametrize("short", [False, True])
    def test_what_does_not_fit_the_budget_is_not_called(self, short: bool) -> None:
        """With the declared worst case as cap it is called, with one unit less of any kind it is not."""
        for name, given in self.calls:
            for kind, cap in self._caps(name):
                result = self._played(name, given, {kind: cap - short})
                assert not result.budget_violations
                assert (result.used.get(kind) or 0) <= cap - short
                assert result.success is not short, f"{name} with a cap of {cap - short} {kind}: {result.detail}"

    def _caps(self, name: str) -> list[tuple[str, int]]:
        """What a call and the answer after it take at most."""

        async def look() -> list[tuple[str, int]]:
            async with self.opened() as tools:
                worst = next(item for item in tools if item.name == name).worst + STEP
                return [(kind, most) for kind in worst if (most := worst[kind])]

        return asyncio.run(look())

    def _made(
        self, calls: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> list[tuple[Mapping[str, Any], Tool, ToolState, Mapping[str, int | None]]]:
        """Calls, each in an episode of its own: the arguments, the tool, the state afterwards, and what it used."""

        async def make() -> list[Any]:
            made = []
            async with self.opened() as tools:
                named = {item.name: item for item in tools}
                for name, given in calls:
                    environment = ToolEnvironment("task", tools, state=self.state())
                    environment.reset(0)
                    observation, used = await environment.astep(from_mapping(name, given).text)
                    made.append((given, named[name], as_state(observation.data), used))
            return made

        return asyncio.run(make())

    def _played(self, name: str, given: Mapping[str, Any], caps: Mapping[str, int]) -> EpisodeResult:
        """An episode of a plan of one call, whose result is the answer."""

        async def play() -> EpisodeResult:
            async with self.opened() as tools:
                written = {".".join(filter(None, key)): word for word, key in names(Toolbox(tools), each=True).items()}
                plan = f"made = {written[name]}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
                model = ScriptedLM([f"{plan}\nanswer(made)"])
                environment = ToolEnvironment("task", tools, state=self.state())
                return await OpenLoopAgent(model).arun(environment, budget=Budget(dict(caps)))

        return asyncio.run(play())
