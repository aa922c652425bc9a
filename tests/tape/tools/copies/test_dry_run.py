"""Plans that are tried on copies: what is done for good, and what is seen before."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.agents.tape import TapeAgent
from tape.approval import ApprovalRequest
from tape.errors import ConfigError, ResumeError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, tool
from tape.tools.copies import CopyableState, CopyError, PythonObject, SQLite, dry_run
from tape.trace import DryRunEvent, GraphFoldedEvent, read_trace
from tests.tape.tools.copies.helpers import model, run
from tests.tape.tools.helpers import Calls, obtained, program


@tool(state={"db": "write"}, destructive=True, usd=0)
def clean_up(db: sqlite3.Connection, before: str) -> int:
    """Delete the orders before a day."""
    db.execute("delete from orders where day < ?", [before])
    return int(db.execute("select count(*) from orders").fetchone()[0])


@tool(state={"db": "write"}, destructive=True, usd=0)
def clean_up_unpaid(db: sqlite3.Connection, before: str) -> int:
    """Delete the unpaid orders before a day."""
    db.execute("delete from orders where day < ? and not paid", [before])
    return int(db.execute("select count(*) from orders").fetchone()[0])


def test_what_a_plan_would_destroy_is_seen_before_it_is_made(tmp_path: Path) -> None:
    shop = sqlite3.connect(tmp_path / "shop.sqlite")
    shop.execute("create table orders (id integer, day text, paid integer)")
    shop.executemany("insert into orders values (?, ?, ?)", [(1, "2024-01", 1), (2, "2024-02", 0), (3, "2025-03", 0)])
    shop.commit()
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        assert shop.execute("select count(*) from orders").fetchone() == (3,)
        return not asked.append(request)

    plans = [[(name, {"before": "2025"})] for name in ("clean_up", "clean_up_unpaid")]
    result = run(
        model(*plans, right=lambda shown: "# -> 2" in shown), [clean_up, clean_up_unpaid],
        SQLite(tmp_path / "shop.sqlite"), approve=approve, trace=tmp_path / "trace.jsonl",
    )  # fmt: skip
    assert result.actions == ['clean_up_unpaid(before="2025")', "answer(value=#1)"]
    assert shop.execute("select id from orders").fetchall() == [(1,), (3,)]
    assert asked[0].changes == ("orders: 1 row gone", "  \"(2, '2024-02', 0)\"")
    assert "on a copy this changes:\n  orders: 1 row gone" in str(asked[0])
    events = [*read_trace(tmp_path / "trace.jsonl")]
    [seen] = [event for event in events if isinstance(event, DryRunEvent)]
    assert seen.changes == [*asked[0].changes]
    assert seen.tried.startswith("2 calls tried on 3 copies in ")
    assert "on a copy the plan changes" in seen.description()
    with pytest.raises(ResumeError, match="planned on copies of a state that has changed since"):
        TapeAgent(model(*plans), world_model="copy").resume(
            tmp_path / "trace.jsonl", ToolEnvironment("task", [clean_up], state=SQLite(":memory:"))
        )


class Counter:
    """Counts calls, on copies too: it is no part of the state."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def tools(self) -> list[Tool]:
        """Put into the basket, read it, and mail."""

        @tool(state={"basket": "write"}, usd="0.01", seconds=2)
        def put(basket: dict[str, int], fruit: str) -> str:
            """Put one in."""
            self.calls.append(f"put {fruit}")
            basket[fruit] = basket.get(fruit, 0) + 1
            return "ok"

        @tool(state={"basket": "read"}, usd="0.01", seconds=1)
        def total(basket: dict[str, int]) -> int:
            """How many there are."""
            self.calls.append("total")
            return sum(basket.values())

        @tool(dry_run=True, pure=True, usd=0)
        def double(n: int) -> int:
            """Twice as much."""
            self.calls.append(f"double {n}")
            return 2 * n

        @tool(usd=0)
        def mail(text: str) -> str:
            """Send a mail."""
            self.calls.append(f"mail {text}")
            return "sent"

        return [put, total, double, mail]


def graph_of(trace: Path) -> dict[str, Any]:
    return next(event.graph for event in read_trace(trace) if isinstance(event, GraphFoldedEvent))


def test_equal_states_are_one_node_whatever_has_led_to_them(tmp_path: Path) -> None:
    calls: Calls = [("put", {"fruit": "figs"}), ("put", {"fruit": "pears"}), ("total", {})]
    other: Calls = [calls[1], calls[0], calls[2]]
    counter = Counter()
    result = run(model(calls, other), counter.tools(), PythonObject[dict[str, int]]({}), trace=tmp_path / "t.jsonl")
    assert (result.answer, result.mismatches) == (2, 0)
    # The start, figs or pears, both, the total, the answer.
    assert len(graph_of(tmp_path / "t.jsonl")["nodes"]) == 6
    assert counter.calls[-3:] == ["put figs", "put pears", "total"]
    assert len(counter.calls) == 3 + 5  # on copies figs, pears, both twice, and once the total


def test_results_on_copies_are_given_to_later_calls_and_only_seconds_are_paid() -> None:
    counter = Counter()
    plan: Calls = [("put", {"fruit": "figs"}), ("total", {}), ("double", {"n": "#2"})]
    result = run(model(plan), counter.tools(), PythonObject({"pears": 2}), budget="$0.02, 4 steps, seconds=6")
    assert (result.answer, result.mismatches) == (6, 0)
    assert counter.calls == ["put figs", "total", "double 3"] * 2
    assert (result.used["usd"], result.used["steps"], result.used["seconds"]) == (20_000, 4, 6_000)
    short = run(model(plan), Counter().tools(), PythonObject({"pears": 2}), budget="$0.02, 4 steps, seconds=5")
    assert not short.success
    assert short.budget_violations == []


def test_what_cannot_be_tried_is_predicted_and_never_made_on_a_copy(tmp_path: Path) -> None:
    counter = Counter()
    plan: Calls = [("put", {"fruit": "figs"}), ("mail", {"text": "#1"}), ("total", {})]
    result = run(model(plan), counter.tools(), PythonObject[dict[str, int]]({}), trace=tmp_path / "t.jsonl")
    assert (result.answer, counter.calls.count("mail ok")) == (1, 1)
    first = next(event for event in read_trace(tmp_path / "t.jsonl") if isinstance(event, DryRunEvent))
    assert "1 predicted" in first.tried


def test_where_the_world_is_not_what_the_copy_was_is_a_mismatch() -> None:
    @tool(state={"bag": "write"}, usd=0)
    def draw(bag: list[int], rng: Random) -> int:
        """Draw a number."""
        bag.append(rng.randrange(10**9))
        return bag[-1]

    def reply(request: Request, sample: int) -> str:
        del sample
        return program([] if obtained(request) else [("draw", {})], "#1", request)

    bag: list[int] = []
    result = run(ScriptedLM(lambda r, i: reply(r, i) if r.role == "plan" else "right"), [draw], PythonObject(bag))
    assert (result.success, result.mismatches, result.answer) == (True, 1, bag[0])


def test_what_has_failed_on_a_copy_is_told_before_plans_are_sampled_again() -> None:
    @tool(state={"bag": "write"}, usd=0)
    def pop(bag: list[int], at: int) -> int:
        """Take one out."""
        return bag.pop(at)

    def reply(request: Request, sample: int) -> str:
        told = "On a copy these calls have failed: pop(at=7): " in str(request.prompt)
        return program([("pop", {"at": 0 if told else 7})]) if request.role == "plan" else "right"

    result = run(ScriptedLM(reply), [pop], PythonObject([5]))
    assert (result.answer, result.actions, result.mismatches) == (5, ["pop(at=0)", "answer(value=#1)"], 0)


def test_variants_of_a_call_are_tried_each() -> None:
    def variant(name: str, more: int, usd: str) -> Tool:
        @tool(kind="grow", variant=name, state={"n": "write"}, usd=usd)
        def function(n: list[int]) -> int:
            """Make it larger."""
            n[0] += more
            return n[0]

        return function

    tools = [variant("little", 1, "0.01"), variant("much", 5, "0.05")]
    lm = model([("grow.little", {})], right=lambda shown: "# -> 5" in shown)
    result = run(lm, tools, PythonObject([0]), budget="$0.10")
    assert (result.actions[0], result.answer) == ("grow.much()", 5)


@pytest.mark.parametrize("where", ["copy", "world"])
def test_a_tool_that_writes_what_it_declares_to_read_is_found(where: str) -> None:
    real: list[int] = [0]

    @tool(state={"n": "read"}, usd=0)
    def peek(n: list[int]) -> int:
        """Look."""
        if (n is real) == (where == "world"):
            n[0] += 1
        return 7

    result = run(model([("peek", {})]), [peek], PythonObject(real))
    assert result.end_state == "env_error"
    assert "peek has changed 'n', which it declares to read" in result.detail
    assert real == ([1] if where == "world" else [0])  # never changed by a dry run


def test_copies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "MOST_COPIES", 1)
    plan: Calls = [("put", {"fruit": f"{n}"}) for n in range(4)]
    result = run(model([*plan, ("total", {})]), Counter().tools(), PythonObject[dict[str, int]]({}))
    assert result.answer == 4


class Clock(CopyableState):
    """Its key is never the same."""

    def __init__(self) -> None:
        self._asked = 0

    @property
    def value(self) -> int:
        return 0

    def copy(self) -> Clock:
        return self

    def key(self) -> str:
        self._asked += 1
        return str(self._asked)


def test_what_is_no_state_to_plan_on() -> None:
    @tool(state={"clock": "read"}, usd=0)
    def look(clock: int) -> int:
        """Look."""
        return clock

    with pytest.raises(CopyError, match="the key of the state 'clock' changes without a call"):
        run(model([("look", {})]), [look], Clock())
    with pytest.raises(ConfigError, match="world_model='copy' needs tools that share a state"):
        run(model([("double", {"n": 1})]), Counter().tools()[2:], None)


def test_without_copies_a_state_is_only_given_to_the_tools() -> None:
    counter = Counter()
    env = ToolEnvironment("task", counter.tools(), state=PythonObject({"pears": 2}))
    result = TapeAgent(model([("put", {"fruit": "figs"}), ("total", {})])).run(env)
    assert (result.answer, counter.calls) == (3, ["put figs", "total"])


class Counted(PythonObject[list[int]]):
    """Counts the copies that are open."""

    open = 0

    def copy(self) -> Counted:
        Counted.open += 1
        return Counted(list(self.value))

    def close(self) -> None:
        Counted.open -= 1


def test_all_copies_are_closed_with_the_episode() -> None:
    @tool(state={"bag": "write"}, usd=0)
    def pop(bag: list[int], at: int) -> int:
        """Take one out."""
        return bag.pop(at)

    run(model([("pop", {"at": 7})], [("pop", {"at": 0})]), [pop], Counted([5, 6]))
    assert Counted.open == 0


def test_a_wrong_declaration_is_found_after_a_call_that_failed() -> None:
    @tool(state={"n": "read"}, usd=0)
    def peek(n: list[int], at: int) -> int:
        """Look, and count; but nothing where it fails."""
        index = n[at]
        n[0] += 1
        return index

    result = run(model([("peek", {"at": 5})], [("peek", {"at": 0})]), [peek], PythonObject([0]))
    assert "peek has changed 'n'" in result.detail
