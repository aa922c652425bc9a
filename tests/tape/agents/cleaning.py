"""A task of tools, some of them destructive, and a scripted model that plans it; shared by tests of control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape.budget import Budget, Resources
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, Uniform, tool
from tests.tape.tools.helpers import fixed_action, obtained, program

Calls = Sequence[tuple[str, dict[str, Any]]]

LOOK: Calls = [("look", {"table": "t"})]
DROP: Calls = [*LOOK, ("drop", {"table": "t"})]
ARCHIVE: Calls = [*LOOK, ("archive", {"table": "t"})]
CAPS = Budget.of(usd="0.05", steps=9)


class Cleaning:
    """Tools that note what is done."""

    def __init__(self) -> None:
        self.done: list[str] = []

        @tool(pure=True, cost=Uniform(Resources.of(usd="0.002"), least_share=0.5))
        def look(table: str) -> str:
            """Look into a table; usually cheaper than declared."""
            self.done.append("look")
            return f"rows of {table}"

        @tool(usd="0.01", destructive=True)
        def drop(table: str) -> str:
            """Delete a table."""
            self.done.append("drop")
            return f"{table} is gone"

        @tool(usd="0.02")
        def archive(table: str) -> str:
            """Move a table to the archive."""
            self.done.append("archive")
            return f"{table} is kept"

        self.tools: list[Tool] = [look, drop, archive]

    def environment(self, tools: Sequence[Tool] | None = None) -> ToolEnvironment:
        return ToolEnvironment("Clean up.", tools or self.tools)


def asked(request: Request) -> str:
    """The last message of a request."""
    assert not isinstance(request.prompt, str)
    return request.prompt[-1].content


def planner(choose: Callable[[str], Calls]) -> ScriptedLM:
    """A model that plans what is chosen from the prompt; free acts make the next call of the same plan.

    It answers with all results, since a program makes no pure call whose result it does not need.
    """

    def reply(request: Request, sample: int) -> str:
        del sample
        plan, done = choose(asked(request)), len(obtained(request))
        final = [f"#{number}" for number in range(1, len(plan) + 1)] if len(plan) > 1 else "#1"
        if request.role == "plan":
            return program(plan[done:], final, request)
        if request.role == "act":
            fixed = fixed_action(request)
            if fixed is not None:
                return fixed
            return program(plan[done:], final, request).splitlines()[0]
        assert request.role == "score"
        return "right"

    return ScriptedLM(reply)


def obedient() -> ScriptedLM:
    """A model that plans to drop a table, and to archive it once its prompt has the refusal."""
    return planner(lambda prompt: ARCHIVE if "it was refused" in prompt else DROP)


def stubborn() -> ScriptedLM:
    """A model that always plans to drop a table."""
    return planner(lambda _: DROP)
