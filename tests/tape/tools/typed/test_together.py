"""Typed tools whose calls run at once: plans against trying every tree, and runs with real threads and no clock."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tape.budget import Resources
from tape.tools import Fixed, Tool, ToolError, tool
from tape.tools.typed import RanTogether, call_plan, run_together
from tape.tools.typed.loader import tools_of
from tape.trace import FinishedEvent, ScheduledEvent, read_trace
from tests.profiles import share

HAVE = {"raw": "raw"}


def priced(name: str, takes: list[str], gives: str, cents: int, seconds: int, *, pure: bool = True) -> Tool:
    cost = {"usd": cents / 100, "seconds": seconds}
    record = {"name": name, "takes": takes, "gives": gives, "cost": cost, "pure": pure}
    return tools_of([record], "test")[0]


DIAMOND = [
    priced("clean", ["raw"], "rows", 2, 5),
    priced("scrub", ["raw"], "rows", 4, 2),
    priced("locate", ["raw"], "places", 3, 4),
    priced("merge", ["rows", "places"], "table", 1, 1),
    priced("bureau", ["raw"], "table", 5, 30),
]


def shape(plan: object) -> list[tuple[str, tuple[int, ...], int, int, bool]]:
    return [(one.tool.name, one.after, one.start, one.end, one.critical) for one in plan.calls]  # type: ignore[attr-defined]


def test_seconds_are_the_longest_chain() -> None:
    plan = call_plan(DIAMOND, "table", HAVE, deadline=10_000)
    assert plan is not None
    assert shape(plan) == [
        ("clean", (), 0, 5000, True),
        ("locate", (), 0, 4000, False),
        ("merge", (0, 1), 5000, 6000, True),
    ]
    assert plan.cost == Resources.of(usd="0.06", seconds=10, steps=3)
    cheapest = call_plan(DIAMOND, "table", HAVE)
    assert [one.tool.name for one in cheapest.calls] == ["bureau"]
    soonest = call_plan(DIAMOND, "table", HAVE, aim="seconds", limits={"usd": 80_000})
    assert soonest.makespan == 5000
    assert call_plan(DIAMOND, "table", HAVE, deadline=4999) is None
    assert call_plan(DIAMOND, "table", HAVE, limits={"usd": 49_999}) is None
    assert call_plan(DIAMOND, "raw", HAVE) == replace(plan, calls=(), cost=Resources(), makespan=0)


def test_what_is_at_hand_is_taken_once() -> None:
    plan = call_plan(DIAMOND, "table", HAVE, at_hand=["rows"], limits={"usd": 40_000})
    assert [one.tool.name for one in plan.calls] == ["locate", "merge"]
    twice = [priced("pair", ["rows", "labels"], "table", 1, 1), priced("label", ["rows"], "labels", 1, 1), *DIAMOND[:2]]
    plan = call_plan(twice, "table", HAVE, at_hand=["rows"])
    assert [one.tool.name for one in plan.calls] == ["clean", "label", "pair"]


def test_calls_that_are_not_pure_wait_for_each_other() -> None:
    pytest.importorskip("ortools")
    impure = [replace(item, pure=False) for item in DIAMOND]
    plan = call_plan(impure, "table", HAVE, deadline=10_000)
    assert plan.makespan == 10_000
    assert [one.after for one in plan.calls] == [(), (0,), (0, 1)]
    assert call_plan(impure, "table", HAVE, deadline=6_999) is None
    limited = call_plan(DIAMOND, "table", HAVE, deadline=10_000, parallel=1)
    assert limited.makespan == 10_000


def trees(tools: list[Tool], want: str, deep: int) -> Iterator[tuple[int, int]]:
    """Cost and time of every tree of so many levels."""
    if want == "raw":
        yield 0, 0
    for item in tools if deep else ():
        if item.gives == want:
            for parts in itertools.product(*(list(trees(tools, one, deep - 1)) for one in item.takes)):
                usd, seconds = item.worst["usd"] or 0, item.worst["seconds"] or 0
                yield usd + sum(part[0] for part in parts), seconds + max((part[1] for part in parts), default=0)


def test_like_trying_every_tree() -> None:
    fits = 0
    for seed in range(int(400 * share())):
        rng = random.Random(seed)
        types = ["raw", "a", "b", "c", "d"]
        tools = []
        for number in range(rng.randint(3, 8)):
            level = rng.randint(1, 4)
            takes = rng.sample(types[:level], min(level, rng.randint(1, 2)))
            tools.append(priced(f"t{number}", takes, types[level], rng.randint(0, 9), rng.randint(0, 9)))
        usd, deadline = rng.randint(5, 30) * 10_000, rng.randint(5, 30) * 1000
        there = [one for one in trees(tools, "d", 5) if one[0] <= usd and one[1] <= deadline]
        for aim, key in (("usd", lambda one: one), ("seconds", lambda one: one[::-1])):
            plan = call_plan(tools, "d", HAVE, aim=aim, limits={"usd": usd}, deadline=deadline)
            assert (plan is None) == (not there)
            if plan is not None:
                assert (plan.cost["usd"], plan.makespan) == min(there, key=key)
                fits += 1
    assert fits > 50


def test_calls_run_at_once_and_are_paid_for() -> None:
    both = threading.Barrier(2, timeout=60)

    @tool(takes="raw", gives="rows", usd="0.02", seconds=1, pure=True)
    def clean(raw: str) -> str:
        """Clean."""
        both.wait()
        return f"rows of {raw}"

    @tool(takes="raw", gives="places", usd="0.03", seconds=1, pure=True)
    async def locate(raw: str) -> str:
        """Locate."""
        await asyncio.to_thread(both.wait)
        return f"places of {raw}"

    @tool(takes=("rows", "places"), gives="table", usd="0.01", pure=True)
    def merge(rows: str, places: str) -> str:
        """Merge."""
        return f"{rows} and {places}"

    for budget in ("usd=0.06", "usd=0.06,wall_seconds=1 h"):
        ran = run_together([clean, locate, merge], "table", HAVE, budget=budget)
        assert ran.value == "rows of raw and places of raw"
        assert ran.spent == Resources.of(usd="0.06", seconds=2, steps=3)
        assert [event.done for event in ran.events] == [False, True]
        assert {one.name for one in ran.events[0].calls if one.critical} >= {"merge"}
    poor = run_together([clean, locate, merge], "table", HAVE, budget="usd=0.05")
    assert not poor
    assert (poor.calls, poor.spent) == ([], Resources())
    assert poor.reason == "no calls that give 'table' fit into what is left"


def test_limits_hold_while_they_run() -> None:
    pytest.importorskip("ortools")
    running, most, lock = 0, 0, threading.Lock()

    def counted(input_1: str) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return input_1

    parts = [replace(priced(f"part{i}", ["raw"], f"p{i}", 1, 1), function=counted) for i in range(5)]
    whole = priced("whole", [f"p{i}" for i in range(5)], "table", 1, 1)
    for more, allowed in (({"parallel": 2}, 2), ({"at_once": {"part0": 1}}, 5)):
        running = most = 0
        assert run_together([*parts, whole], "table", HAVE, **more)  # type: ignore[arg-type]
        assert most <= allowed
    impure = [replace(item, pure=False) for item in parts]
    running = most = 0
    assert run_together([*impure, whole], "table", HAVE)
    assert most == 1


def failing(item: Tool) -> Tool:
    def function(**_: object) -> str:
        raise ValueError("out of order")

    return replace(item, function=function)


def test_a_call_that_fails_is_planned_around_with_what_is_at_hand() -> None:
    clean, scrub, locate, merge, _ = DIAMOND
    ran = run_together([failing(clean), scrub, locate, merge], "table", HAVE, budget="usd=0.10")
    assert ran
    assert sorted(one.tool for one in ran.calls) == ["clean", "locate", "merge", "scrub"]
    assert [one.failure is None for one in sorted(ran.calls, key=lambda one: one.tool)] == [False, True, True, True]
    assert ran.events[1].reason == "clean failed: ValueError: out of order"
    assert ran.spent["usd"] == 100_000
    poor = run_together([failing(clean), scrub, locate, merge], "table", HAVE, budget="usd=0.09")
    assert not poor
    assert poor.spent["usd"] == 50_000


def test_the_makespan_of_what_is_left_must_fit_into_the_time_that_is_left() -> None:
    assert not run_together(DIAMOND, "table", HAVE, budget="wall_seconds=4.9")  # 5 s are declared
    assert run_together(DIAMOND, "table", HAVE, budget="wall_seconds=3600")

    @tool(takes="raw", gives="table", usd="0.01", seconds=0, pure=True)
    async def stuck(raw: str) -> str:
        """Wait."""
        await asyncio.Event().wait()
        return raw

    ran: RanTogether = run_together([stuck], "table", HAVE, budget="usd=1,wall_seconds=0.2")
    assert not ran
    assert "were allowed" in ran.reason
    assert ran.spent["usd"] == 10_000  # what a cancelled call has used is unknown, so all of it


def test_a_run_is_kept_as_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    ran = run_together([failing(DIAMOND[0]), *DIAMOND[1:4]], "table", HAVE, budget="usd=0.10", trace=file)
    events = list(read_trace(file))
    assert [event.type for event in events] == ["started", "scheduled", "scheduled", "scheduled", "finished"]
    assert [event for event in events if isinstance(event, ScheduledEvent)] == ran.events
    assert "because clean failed: ValueError: out of order" in ran.events[1].description()
    assert "critical path clean -> merge" in ran.events[0].description()
    assert isinstance(events[-1], FinishedEvent)
    assert events[-1].result["end_state"] == "success"


def test_untyped_tools_are_refused() -> None:
    with pytest.raises(ToolError, match="is not known"):
        call_plan([replace(DIAMOND[0], cost=Fixed(Resources({"usd": None})))], "rows", HAVE)
