"""Tools that misbehave: whatever one does, the episode ends, its sums are right, and its result can be written."""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tape.agents.base import Agent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.engine.result import EpisodeResult
from tape.errors import UnknownCostError
from tape.lm.scripted import ScriptedLM
from tape.reading import parse_json
from tape.tools import PerUnit, Tool, ToolEnvironment, ToolError, ToolFailedError, tool
from tape.tools.calls import LONGEST_VALUE, call
from tape.tools.tool import make_tool
from tape.trace import LedgerEvent, TraceWriter
from tape.trace.file import read_trace
from tests.tape.deadlines import TimeUp
from tests.tape.tools.helpers import follow, script

SLACK = 10.0
"""Seconds beyond a deadline that no episode may take, on however busy a machine."""


class Mute(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise SystemExit("mute")


class Unprintable:
    """An object that cannot be printed."""

    def __repr__(self) -> str:
        raise ValueError("no")


def made(function: Callable[..., Any], **settings: Any) -> Tool:
    function.__name__, function.__doc__ = "t", "Do it."
    return make_tool(function, **({"usd": "0.5"} | settings if "cost" not in settings else settings))


def raising(error: BaseException, *, later: bool) -> Tool:
    def now() -> None:
        raise error

    async def soon() -> None:
        await asyncio.sleep(0)
        raise error

    return made(soon if later else now)


def returning(value: Callable[[], Any], *, later: bool = False) -> Tool:
    def now() -> Any:
        return value()

    async def soon() -> Any:
        return value()

    return made(soon if later else now)


def play(item: Tool, *, final: Any = "#1", arguments: dict[str, Any] | None = None, **caps: Any) -> EpisodeResult:
    plan = json.dumps({"calls": [{"tool": item.name, "arguments": arguments or {}}], "answer": final})
    env = ToolEnvironment("task", [item])
    played = OpenLoopAgent(ScriptedLM([plan])).run(env, budget=Budget.of(**({"usd": 1} | caps)))
    require_writable(played)
    return played


def require_writable(played: EpisodeResult) -> None:
    text = json.dumps(played.model_dump(mode="json"), allow_nan=False)
    assert EpisodeResult.model_validate(parse_json(text, "result")) == played


ERRORS: list[BaseException] = [
    asyncio.CancelledError(),
    SystemExit(3),
    GeneratorExit(),
    StopAsyncIteration(),
    Mute(),
    RecursionError(),
    MemoryError(),
    BaseExceptionGroup("several", [SystemExit(1), ValueError("x")]),
]


@pytest.mark.parametrize("error", ERRORS, ids=[type(error).__name__ for error in ERRORS])
@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("wall", [{}, {"wall_seconds": 60}], ids=["", "deadline"])
def test_whatever_a_tool_raises_is_its_failure_and_is_paid(
    error: BaseException, later: bool, wall: dict[str, int]
) -> None:
    played = play(raising(error, later=later), **wall)
    assert (played.end_state, played.used["usd"], played.steps) == ("failure", 500_000, 1)


def test_the_agent_reads_what_was_raised() -> None:
    env = ToolEnvironment("task", [raising(SystemExit(3), later=False)])
    env.reset(0)
    env.step("t()")
    assert env._state.note == "SystemExit: 3"
    env = ToolEnvironment("task", [raising(Mute(), later=True)])
    env.reset(0)
    env.step("t()")
    assert env._state.note == "Mute: its message cannot be read"


def test_ctrl_c_still_interrupts_and_one_that_is_raised_in_another_thread_is_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=False))
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=True))
    assert play(raising(KeyboardInterrupt(), later=False), wall_seconds=60).end_state == "failure"


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def endless() -> Iterator[int]:
    number = 0
    while True:
        yield (number := number + 1)


def nested(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


async def coroutine() -> int:
    return 7


async def agen() -> Any:
    yield 1


RESULTS: list[tuple[str, Callable[[], Any], str]] = [
    ("cyclic", cyclic, "holds itself"),
    ("endless generator", endless, "more than 200000 values"),
    ("gigantic text", lambda: "x" * 50_000_000, f"more than {LONGEST_VALUE} bytes"),
    ("gigantic bytes", lambda: b"x" * 50_000_000, f"more than {LONGEST_VALUE} bytes"),
    ("many escapes", lambda: "\x00" * (LONGEST_VALUE - 10), "bytes as JSON"),
    ("deep", lambda: nested(51), "more than 50 lists"),
    ("very deep", lambda: nested(100_000), "more than 50 lists"),
    ("5,000 digits", lambda: 10**5000, "300 digits"),
    ("as a key", lambda: {10**5000: 1}, "300 digits"),
    ("no number", lambda: [float("nan")], "no JSON"),
    ("lone surrogate", lambda: {"a": "\ud800"}, "no JSON"),
    ("lone surrogate as a key", lambda: {"\ud800": 1}, "surrogates not allowed"),
    ("unprintable", Unprintable, "Unable to serialize"),
    ("a class", lambda: Unprintable, "Unable to serialize"),
    ("an asynchronous generator", agen, "Unable to serialize"),
]


@pytest.mark.parametrize(("value", "says"), [item[1:] for item in RESULTS], ids=[item[0] for item in RESULTS])
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


def test_a_tool_that_changes_its_arguments_pays_for_what_it_was_asked() -> None:
    def emptied(words: list[str]) -> int:
        words.clear()
        return 1

    each = PerUnit(Resources.of(usd="0.1"), lambda arguments, result: len(arguments["words"]), 5)
    played = play(made(emptied, cost=each), arguments={"words": ["a", "b", "c"]})
    assert (played.end_state, played.used["usd"]) == ("success", 300_000)


class Odd:
    """A cost that does as it is told."""

    def __init__(self, actual: Callable[[], Any], worst: Callable[[], Any] = lambda: Resources.of(usd="0.5")) -> None:
        self._actual, self._worst = actual, worst

    def worst(self) -> Any:
        return self._worst()

    def actual(self, arguments: Any, result: Any, rng: random.Random) -> Any:
        return self._actual()


def thrown(error: BaseException) -> Any:
    raise error


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


@pytest.mark.parametrize("error", [SystemExit(2), asyncio.CancelledError(), ValueError("bad"), Mute()])
def test_a_judge_that_fails_ends_the_episode_and_says_so(error: BaseException) -> None:
    def judge(answer: Any) -> bool:
        raise error

    plan = '{"calls": [{"tool": "t", "arguments": {}}], "answer": "#1"}'
    env = ToolEnvironment("task", [returning(lambda: 1)], judge=judge)
    played = OpenLoopAgent(ScriptedLM([plan])).run(env)
    assert played.end_state == "env_error"
    assert f"the judge of the answer has failed: {type(error).__name__}" in played.detail


async def deaf() -> None:
    """Go on, however often it is cancelled."""
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            continue


def hanging(time_up: TimeUp) -> dict[str, Callable[[], Any]]:
    def block() -> None:
        time_up()
        threading.Event().wait()

    async def swallow() -> None:
        time_up()
        await deaf()

    async def spin() -> None:
        time_up()
        while True:
            try:
                await asyncio.sleep(0)
            except BaseException:
                continue

    async def thread() -> None:
        time_up()
        await asyncio.to_thread(threading.Event().wait)

    async def child() -> None:
        time_up()
        await asyncio.gather(asyncio.create_task(deaf()))

    def generator() -> Iterator[int]:
        time_up()
        yield 1
        threading.Event().wait()

    def awaitable() -> Any:
        return swallow()

    return {
        "block": block, "swallow": swallow, "spin": spin, "thread": thread, "child": child, "generator": generator,
        "awaitable": awaitable,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["block", "swallow", "spin", "thread", "child", "generator", "awaitable"])
def test_a_tool_that_does_not_end_is_left_behind_at_the_deadline(
    time_up: TimeUp, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tape.waiting.END_SECONDS", 0.1)
    began = time.monotonic()
    played = play(made(hanging(time_up)[name]), wall_seconds=0.05)
    assert time.monotonic() - began < SLACK
    assert (played.end_state, played.used["usd"]) == ("budget:wall_seconds", 500_000)
    assert name == "thread" or "the tool t" in played.detail
    assert name == "thread" or "was left behind" in played.detail


def test_in_a_loop_of_the_callers_too(time_up: TimeUp) -> None:
    plan = '{"calls": [{"tool": "t", "arguments": {}}], "answer": "#1"}'
    env = ToolEnvironment("task", [made(hanging(time_up)["swallow"])])
    trace = TraceWriter("e")
    began = time.monotonic()
    played = asyncio.run(
        OpenLoopAgent(ScriptedLM([plan])).arun(env, budget=Budget.of(usd=1, wall_seconds=0.05), trace=trace)
    )
    assert time.monotonic() - began < SLACK
    assert played.end_state == "budget:wall_seconds"
    assert sums(trace)["usd"] == 500_000
    assert "was left behind" in trace.events[-1].model_dump()["result"]["detail"]


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_the_owner_of_an_episode_cancels_it_whatever_the_tool_does(later: bool) -> None:
    release, begun = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        release.wait()

    async def swallow() -> None:
        begun.set()
        await deaf()

    env = ToolEnvironment("task", [made(swallow if later else block)])
    trace = TraceWriter("e")
    plan = '{"calls": [{"tool": "t", "arguments": {}}], "answer": "#1"}'

    async def owner() -> None:
        agent = OpenLoopAgent(ScriptedLM([plan]))
        playing = asyncio.create_task(agent.arun(env, budget=Budget.of(usd=1, wall_seconds=600), trace=trace))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError) as stopped:
            await playing
        assert "left behind" in "".join(getattr(stopped.value, "__notes__", ()))

    try:
        asyncio.run(owner())
    finally:
        release.set()
    assert trace.events[-1].model_dump()["result"]["end_state"] == "interrupted"
    assert sums(trace)["usd"] == 500_000


def test_a_tool_cleans_up_when_it_is_cancelled(time_up: TimeUp) -> None:
    steps = []

    async def tidy() -> None:
        time_up()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("clean")

    played = play(made(tidy), wall_seconds=0.05)
    assert (played.end_state, steps) == ("budget:wall_seconds", ["clean"])
    assert "left behind" not in played.detail


@pytest.mark.slow
def test_the_interpreter_ends_while_they_go_on() -> None:
    code = (
        "from tests.tape.tools.test_misbehaving import hanging, made, play\n"
        "for name, function in hanging(lambda: None).items():\n"
        "    print(name, play(made(function), wall_seconds=0.2).end_state)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.split()[1] for line in ended.stdout.splitlines()] == ["budget:wall_seconds"] * 7


def sums(trace: TraceWriter) -> Counter[str]:
    """What was settled, by the events."""
    found: Counter[str] = Counter()
    for event in trace.events:
        if isinstance(event, LedgerEvent) and event.what == "settle":
            found.update({kind: count or 0 for kind, count in event.amounts.items()})
    return found


def misbehaving(rng: random.Random, *, hangs: bool) -> Callable[..., Any]:
    """A function that does one of many wrong things, or sometimes nothing wrong."""
    ways: list[Callable[[], Any]] = [
        lambda: thrown(rng.choice(ERRORS)),
        rng.choice(RESULTS[5:])[1],
        cyclic,
        lambda: "\x1b[31m#1 \u202e=1+1",
        lambda: rng.randint(-9, 9),
        coroutine,
        lambda: None,
    ]
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
        found = way() if rng.random() < share else 5
        return await found if asyncio.iscoroutine(found) else found

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
    """Play episodes with tools that misbehave.

    Args:
        folder: For a trace.
        count: Of episodes; every fiftieth has tools that never end, under a deadline.
        seed: Of all of them.

    Returns:
        How they ended.
    """
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
        trace = TraceWriter(f"e{number}", folder / "trace.jsonl")
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


def test_episodes_with_misbehaving_tools_end_within_their_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tape.waiting.END_SECONDS", 0.1)
    found = sweep(tmp_path, 10)
    assert sum(found["ends"].values()) == 10


@pytest.mark.soak
def test_many_episodes_with_misbehaving_tools(tmp_path: Path) -> None:
    found = sweep(tmp_path, 1000)
    assert set(found["ends"]) >= {"success", "failure", "env_error", "budget:usd", "budget:wall_seconds"}
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        (Path(folder) / "misbehaving_tools.json").write_text(json.dumps(found, indent=1) + "\n")
