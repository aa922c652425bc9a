"""Tools that misbehave: whatever one does, the episode ends, its sums are right, and its result can be written."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape.agents.base import Agent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.lm.scripted import ScriptedLM
from tape.tools import PerUnit, ToolEnvironment
from tape.tools.making import make_tool
from tape.trace import TraceWriter
from tape.trace.file import read_trace
from tests.tape.conftest import Keep
from tests.tape.tools.helpers import follow, script
from tests.tape.tools.misbehaving import (
    ERRORS,
    ONE_CALL,
    RESULTS,
    SLACK,
    Mute,
    Odd,
    coroutine,
    cyclic,
    deaf,
    play,
    raising,
    require_writable,
    returning,
    sums,
    thrown,
)


@pytest.mark.parametrize("error", [*ERRORS, StopIteration()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("wall", [{}, {"wall_seconds": 60}], ids=["", "deadline"])
def test_whatever_a_tool_raises_is_its_failure_and_is_paid(
    error: BaseException, later: bool, wall: dict[str, int]
) -> None:
    played = play(raising(error, later=later), **wall)
    assert (played.end_state, played.used["usd"], played.steps) == ("failure", 500_000, 1)


def test_ctrl_c_still_interrupts_and_one_that_is_raised_in_another_thread_is_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=False))
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=True))
    assert play(raising(KeyboardInterrupt(), later=False), wall_seconds=60).end_state == "failure"


@pytest.mark.parametrize("error", [SystemExit(2), asyncio.CancelledError(), ValueError("bad"), Mute()])
def test_a_judge_that_fails_ends_the_episode_as_an_error_of_the_environment(error: BaseException) -> None:
    def judge(answer: Any) -> bool:
        raise error

    env = ToolEnvironment("task", [returning(lambda: 1)], judge=judge)
    played = OpenLoopAgent(ScriptedLM([ONE_CALL])).run(env)
    assert played.end_state == "env_error"
    assert f"the judge of the answer has failed: {type(error).__name__}" in played.detail


def misbehaving(rng: random.Random, *, hangs: bool) -> Callable[..., Any]:
    """A function that does one of many wrong things, or sometimes nothing wrong."""
    ways: list[Callable[[], Any]] = [
        lambda: thrown(rng.choice(ERRORS)), rng.choice(RESULTS[5:])[1], cyclic, lambda: "\x1b[31m#1 \u202e=1+1",
        lambda: rng.randint(-9, 9), coroutine, lambda: None,
    ]  # fmt: skip
    way, later = rng.choice(ways), rng.random() < 0.5
    share = rng.choice([0.3, 1.0])

    def now(text: str = "", many: list[int] | None = None) -> Any:
        if hangs and rng.random() < 0.5:
            threading.Event().wait()
        if many:
            many.clear()
        return way() if rng.random() < share else 5

    async def soon(text: str = "", many: list[int] | None = None) -> Any:
        if hangs and rng.random() < 0.5:
            await deaf()
        await asyncio.sleep(0)
        index = way() if rng.random() < share else 5
        return await index if asyncio.iscoroutine(index) else index

    return soon if later else now


COSTS: list[Callable[[random.Random], Any]] = [
    lambda rng: Odd(lambda: Resources({"usd": rng.randint(0, 50)}), lambda: Resources({"usd": 50, "seconds": 9})),
    lambda rng: Odd(lambda: thrown(rng.choice(ERRORS)), lambda: Resources({"usd": 50})),
    lambda rng: Odd(lambda: rng.choice([5, None, "x", Resources({"usd": 10**30})]), lambda: Resources({"usd": 50})),
    lambda rng: PerUnit(Resources({"usd": 10}), lambda arguments, result: len(arguments["many"] or ()), 3),
    lambda rng: PerUnit(Resources({"seconds": 10}), lambda arguments, result: len(result), 3),
]


AGENTS: list[type[Agent]] = [TapeAgent, ReactAgent, PlanAndActReplanAgent, OpenLoopAgent]


def sweep(folder: Path, count: int, seed: str = "misbehaving") -> dict[str, Any]:
    """Play episodes with tools that misbehave; every fiftieth has tools that never end, under a deadline."""
    ends: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        hangs = number % 50 == 0
        tools = []
        for kind in "fg":
            for variant in ("a", "b"):
                function = misbehaving(rng, hangs=hangs)
                function.__name__, function.__doc__ = kind, "Do it."
                pure = kind == "f"
                tools.append(make_tool(function, variant=variant, cost=rng.choice(COSTS)(rng), pure=pure))
        plan = [
            (rng.choice(tools).name, {"text": rng.choice(["", "#1 #1", "x"]), "many": rng.choice([[], [1], [1, 2, 3]])})
            for _ in range(rng.randint(1, 4))
        ]
        caps = {"usd": rng.randint(0, 300), "steps": rng.randint(1, 9), "seconds": rng.randint(0, 99)}
        caps = {kind: caps[kind] for kind in rng.sample(sorted(caps), rng.randint(1, 3))} | {"steps": caps["steps"]}
        budget = Budget(caps | ({"wall_seconds": 100} if hangs else {}))
        model = ScriptedLM(script(plan, act=follow(plan)))
        agent = AGENTS[number % len(AGENTS)](model, on_limit=rng.choice(["stop", "final_answer"]))
        trace = TraceWriter(f"e{number}", folder / "trace.jsonl", replace=True)
        began = time.monotonic()
        played = agent.run(ToolEnvironment("task", tools), budget=budget, seed=number, trace=trace)
        trace.close()
        slowest = max(slowest, time.monotonic() - began)
        assert sum(1 for _ in read_trace(folder / "trace.jsonl")) == len(trace.events)
        require_writable(played)
        booked = sums(trace)
        for kind in ("usd", "seconds", "steps"):
            assert (played.used.get(kind) or 0) == booked[kind], (number, kind, played)
            if kind in caps and kind not in played.broken_declarations:
                assert booked[kind] <= caps[kind], (number, kind, played)
        assert set(played.budget_violations) <= set(played.broken_declarations), (number, played)
        assert slowest < SLACK, number
        ends[played.end_state] += 1
    return {"episodes": count, "ends": dict(sorted(ends.items())), "slowest_seconds": round(slowest, 2)}


ENDS = {"success", "failure", "env_error", "budget:usd", "budget:wall_seconds"}


@pytest.mark.parametrize(("count", "ends"), [(25, set()), pytest.param(300, ENDS, marks=pytest.mark.soak)])
def test_episodes_with_misbehaving_tools_end_within_their_budget(
    count: int, ends: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_figures: Keep
) -> None:
    monkeypatch.setattr("tape.waiting.END_SECONDS", 0.1)
    mapping = sweep(tmp_path, count)
    assert sum(mapping["ends"].values()) == count
    assert set(mapping["ends"]) >= ends
    keep_figures("misbehaving_tools", mapping)
