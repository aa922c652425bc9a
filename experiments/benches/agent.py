"""Our own time in an agent's run, beside pydantic-ai's in one run: ``python -m experiments.benches.agent``.

Functions stand for models, so nothing is measured but the frameworks. A run makes three calls of tools and answers.
Both are measured in turns, so that what else the machine does meets both. A run's time is the median of its repeats.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import Any

from tape import TapeAgent, tool
from tape.lm.base import Message, Request
from tape.lm.scripted import ScriptedLM
from tape.tools.history import History, HistoryLine, HistoryTurn

CALLS = ("a", "b", "c")
PROGRAM = "".join(f"{name} = look({name!r})\n" for name in CALLS) + "answer(a + b + c)"


@tool(pure=True, usd=0)
def look(name: str) -> str:
    """Look up a name."""
    return name.upper()


def tape_run() -> Callable[[], Awaitable[Any]]:
    """A run of ours under caps on steps and tokens."""
    agent = TapeAgent(ScriptedLM(lambda _request, _sample: PROGRAM), tools=[look])

    async def run() -> Any:
        result = await agent.arun("Look up three names.", budget="20 steps, 20000 tokens", listener=_ignored)
        assert result.answer == "ABC", result.detail
        return result

    return run


def _ignored(event: object) -> None:
    """Takes the events, so that no line of progress is drawn."""


def pydantic_ai_run() -> Callable[[], Awaitable[Any]]:
    """The same by pydantic-ai: a request for each call, as its loop has it, under the same kind of limits."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.usage import UsageLimits

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        results = [
            part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)
        ]  # fmt: skip
        if len(results) < len(CALLS):
            return ModelResponse(parts=[ToolCallPart("look", {"name": CALLS[len(results)]})])
        return ModelResponse(parts=[TextPart("".join(map(str, results)))])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    def look(name: str) -> str:
        """Look up a name."""
        return name.upper()

    limits = UsageLimits(request_limit=20, total_tokens_limit=20_000)

    async def run() -> Any:
        result = await agent.run("Look up three names.", usage_limits=limits)
        assert result.output == "ABC", result.output
        return result

    return run


async def one_by_one(runs: dict[str, Callable[[], Awaitable[Any]]], repeats: int) -> dict[str, float]:
    """The median milliseconds of a run, measured in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats + 3):
        for name, run in runs.items():
            began = time.perf_counter()
            await run()
            seconds[name].append(time.perf_counter() - began)
    return {name: 1000 * statistics.median(each[3:]) for name, each in seconds.items()}


async def at_once(run: Callable[[], Awaitable[Any]], count: int) -> float:
    """Runs a second, all begun together in one event loop."""
    began = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(count)))
    return count / (time.perf_counter() - began)


def history(turns: int, calls: int = 3) -> dict[str, float]:
    """Tokens (by words and marks, about) and milliseconds of a conversation that is read, cut and shown."""
    lines = tuple(
        HistoryLine(text=f'r{n} = look(name="{n}")', result=json.dumps("x" * 80)) for n in range(1, calls + 1)
    )
    told = History.of({}, [HistoryTurn(task=f"Look up number {n}.", lines=lines, answer=n) for n in range(turns)])
    model = ScriptedLM([""])

    def count(text: str) -> int:
        return model.prompt_tokens(Request((Message("user", text),), 1))

    began = time.perf_counter()
    read = History.read(told.model_dump_json(), {})
    whole, cut = read.shown(count, 10**9), read.shown(count)
    return {"whole_tokens": count(whole), "shown_tokens": count(cut), "ms": 1000 * (time.perf_counter() - began)}


async def measured(repeats: int, count: int) -> dict[str, Any]:
    """All figures."""
    runs = {"tape": tape_run(), "pydantic-ai": pydantic_ai_run()}
    alone = await one_by_one(runs, repeats)
    throughput: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(5):
        for name, run in runs.items():
            throughput[name].append(await at_once(run, count))
    together = {name: statistics.median(each) for name, each in throughput.items()}
    return {
        "versions": {"pydantic-ai": version("pydantic-ai-slim")},
        "n": repeats,
        "ms_a_run": {name: round(value, 2) for name, value in alone.items()},
        "ratio_of_times": round(alone["tape"] / alone["pydantic-ai"], 2),
        f"runs_a_second_of_{count}_at_once": {name: round(value, 1) for name, value in together.items()},
        "ratio_of_throughputs": round(together["tape"] / together["pydantic-ai"], 2),
        "history_of_50_turns": {name: round(value, 1) for name, value in history(50).items()},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.agent", description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=100)
    given = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(measured(given.repeats, given.at_once)), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
