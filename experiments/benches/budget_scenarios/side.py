"""What all sides share: the job that a process is given, the paid tool, and the guard."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import traceback
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.benches.budget_scenarios.scenarios import (
    COMPLETION_TOKENS,
    MODEL,
    MODEL_PRICE,
    SCENARIOS,
    TOOL_USD,
    Scenario,
    Turn,
)
from tape.errors import BudgetExceededError
from tape.gateway.guard import Guard

RESULT = "result: "
"""Before the line that says how a run ended; frameworks write to stdout too."""
CANCEL_SECONDS = 1.5
"""A slow tool works longer than that, and a run gets there sooner."""


class LimitError(Exception):
    """A framework's own limit has ended the run; the message is the framework's."""


class RefusedError(Exception):
    """The guard has ended the run, in a way of the framework's that is no error."""


class ToolError(Exception):
    """The paid service has failed."""


@dataclass(frozen=True)
class Job:
    """What a process is to do.

    Attributes:
        scenario: Its name.
        limit: ``none``, ``own`` or ``guard``.
        model_url: Of the scripted provider, with ``/v1``.
        tool_url: Of the paid service.
        journal: The guard's, where one budget is for several processes; empty where it is not.
    """

    scenario: str
    limit: str
    model_url: str
    tool_url: str
    journal: str = ""

    @property
    def plan(self) -> Scenario:
        """The scenario."""
        return SCENARIOS[self.scenario]

    def cap(self, kind: str) -> float | None:
        """The cap that the framework's own limit is to keep; None where it has none."""
        return self.plan.caps.get(kind) if self.limit == "own" else None

    def look(self, place: str = "") -> str:
        """The paid tool.

        Raises:
            ToolError: It has failed.
        """
        request = urllib.request.Request(self.tool_url, data=json.dumps({"place": place}).encode())
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                said = json.load(answer)
        except urllib.error.HTTPError as error:
            raise ToolError(f"the service says {error.code}") from error
        if said.get("crash"):
            os._exit(9)
        return str(said["text"])

    def guard(self) -> Guard | None:
        """The guard of the job, or None where the framework is alone."""
        if self.limit != "guard":
            return None
        return Guard(
            ", ".join(f"{kind}={amount}" for kind, amount in self.plan.caps.items()),
            tools={"look": {"usd": TOOL_USD}, "research": {"usd": 0}},
            models={MODEL: MODEL_PRICE, f"openai/{MODEL}": MODEL_PRICE},
            most_tokens=COMPLETION_TOKENS,
            bytes_per_token=3,
            journal=self.journal or None,
        )


def tool_call(number: int, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call as the provider's answers have it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}_{os.urandom(4).hex()}", "type": "function", "function": function}


def openai_entry(turn: Turn, end: tuple[str, str] | None = None, question: str = "question") -> dict[str, Any]:
    """A turn as the scripted provider takes it, for frameworks that read calls of tools from its answers.

    Args:
        turn: What is said.
        end: The tool by which an agent ends, and its argument; a plain text where there is none.
        question: The argument of ``research``.
    """
    calls = [tool_call(i, "look", {"place": f"place {i}"}) for i in range(turn.looks)]
    calls += [tool_call(i, "research", {question: "what is there?"}) for i in range(turn.research)]
    if not calls and end is not None:
        calls = [tool_call(0, end[0], {end[1]: "Nothing is unlike the others."})]
    return {"content": "Nothing is unlike the others.", "tool_calls": calls or None}


def main(play: Callable[[Job, Guard | None], Awaitable[str]]) -> None:
    """Play the job that stands on stdin, and say on stdout how it ended.

    Args:
        play: Runs the agent once and returns its answer. It raises :class:`LimitError` where the framework's own limit
            has ended the run.
    """
    job = Job(**json.load(sys.stdin))
    print(f"\n{RESULT}{json.dumps(asyncio.run(_played(job, play)))}", flush=True)


async def _played(job: Job, play: Callable[[Job, Guard | None], Awaitable[str]]) -> dict[str, str]:
    guard = job.guard()
    if job.plan.cancel:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_once(job, guard, play), CANCEL_SECONDS)
    ended, said = await _once(job, guard, play)
    return {"ended": ended, "said": said[:300]}


async def _once(job: Job, guard: Guard | None, play: Callable[[Job, Guard | None], Awaitable[str]]) -> tuple[str, str]:
    try:
        return "finished", str(await play(job, guard))
    except LimitError as error:
        return "own limit", str(error)
    except (BudgetExceededError, RefusedError) as error:
        return "guard", str(error)
    except Exception as error:  # a framework's own way to fail is part of what is looked at
        causes: BaseException | None = error
        while causes is not None:
            if isinstance(causes, BudgetExceededError):
                return "guard", str(causes)
            causes = causes.__cause__ or causes.__context__
        traceback.print_exc()
        return "error", f"{type(error).__name__}: {error}"
