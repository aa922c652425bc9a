"""The simulated planner reads which calls were made and which have failed, and writes values as they are."""

from __future__ import annotations

from typing import Any

import pytest

from envs.apart.planner import KnownRequest, know, open_planner, reply
from envs.bfcl.calls import ApiCall
from envs.rates import Rates
from tape import TapeAgent, ToolEnvironment
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolFailedError
from tape.tools.making import make_tool

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
    know([(task, KnownRequest(task, gold, [], FUNCTIONS, []))])
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
    know([(task, KnownRequest(task, [ApiCall("wipe", {}), ApiCall("write", {"text": "x"})], [], FUNCTIONS, []))])
    model = open_planner("bfcl?errors=0&verdicts=0")
    TapeAgent(model).run(ToolEnvironment(task, store.tools(), budget="20 steps"))
    [request] = [each for each in model.requests if "This line failed:\n" in each.prompt[-1].content][:1]  # type: ignore[union-attr]
    assert reply(request, 0, Rates.parse("bfcl", "errors=0&verdicts=0"), 0) == 'r2 = write(text="x")\nanswer("done")'
