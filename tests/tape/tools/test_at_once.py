"""Calls of a plan at once: what begins before its turn, what it costs, and what comes of it where a plan fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tape.agents.tape import TapeAgent
from tape.analysis.why import about
from tape.approval import Approval, ApprovalRequest
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.testing.line import Line, LineModel
from tape.tools import Tool, ToolEnvironment, tool
from tape.trace import ActedEvent, InfeasibleEvent, LedgerEvent, ScheduledEvent, read_trace
from tests.tape.deadlines import TimeUp
from tests.tape.tools.helpers import Calls, asked, program, script
from tests.tape.tools.meeting import Meeting

CHAIN: Calls = [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": "#2"}), ("d", {"x": "#1", "y": "#3"})]
"""``c`` needs ``b`` alone, and ``d`` both."""


def results(count: int) -> list[str]:
    """An answer of the first results, so that no call of them is left out."""
    return [f"#{number}" for number in range(1, count + 1)]


class World(Meeting):
    """The tools a, b, c and d; each returns ten times what it gets, and its second argument more."""

    then: Mapping[str, Callable[[], object]] = MappingProxyType({})
    """What is done in a call of a tool."""

    def tools(self, seconds: Mapping[str, float] | None = None) -> list[Tool]:
        """Each declares its seconds."""
        return [self._tool(name, (seconds or {}).get(name, 0)) for name in "abcd"]

    def _tool(self, name: str, seconds: float) -> Tool:
        @tool(kind=name, pure=name not in self.changes, usd="0.01", seconds=seconds)
        async def function(x: int, y: int = 0) -> int:
            """Do something."""
            async with self.call(name, f"{name} {x} {y}"):
                self.then.get(name, int)()
                return 10 * x + y

        return function


def play(
    world: World, *plans: Calls, budget: str = "$0.04, 9 steps", trace: Path | None = None, parallel: int = 4,
    answers: Sequence[Any] = (), seconds: Mapping[str, float] | None = None, **run: Any,
) -> EpisodeResult:  # fmt: skip
    agent = TapeAgent(ScriptedLM(script(*plans, answers=answers)), parallel=parallel, ablations={"score": "ends"})
    return agent.run(ToolEnvironment("task", world.tools(seconds), budget=budget), trace=trace, **run)


def test_a_call_begins_when_the_results_that_it_names_are_there() -> None:
    world = World(waits={"a": "c"})  # a, the first, ends only once c has begun, which needs the result of b
    result = play(world, CHAIN)
    assert (result.end_state, result.answer) == ("success", 300)
    assert sorted(world.log) == ["a 1 0", "b 2 0", "c 20 0", "d 10 200"]
    assert result.actions == ["a(x=1)", "b(x=2)", "c(x=#2)", "d(x=#1, y=#3)", "answer(value=#4)"]
    assert result.used["usd"] == 40_000  # the whole cap, no call paid twice


@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_no_more_run_at_once_than_allowed(parallel: int) -> None:
    world = World()
    plan = [("a", {"x": n}) for n in range(6)]
    result = play(world, plan, parallel=parallel, budget="$0.06, 9 steps", answers=[results(6)])
    assert (result.end_state, world.most, len(world.log)) == ("success", parallel, 6)


def test_what_changes_something_runs_alone_and_in_its_turn() -> None:
    world = World(changes=["b"])
    result = play(world, [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": 3}), ("d", {"x": 4})], answers=[results(4)])
    assert result.end_state == "success"
    assert world.log[:2] == ["a 1 0", "b 2 0"]
    assert world.most == 2  # c and d


def test_what_has_begun_is_observed_before_planning_anew(tmp_path: Path) -> None:
    world = World(fails=["a"], waits={"a": "c"})
    again: Calls = [("a", {"x": 5}), ("d", {"x": "#3", "y": "#2"})]
    trace = tmp_path / "trace.jsonl"
    result = play(world, CHAIN, again, answers=["#4", "#4"], budget="$0.05, 9 steps", trace=trace)
    # b and c have got the numbers 1 and 2, since a has none; what c takes was #2 in the plan.
    assert result.actions == ["a(x=1)", "b(x=2)", "c(x=#1)", "a(x=5)", "d(x=#3, y=200)", "answer(value=#4)"]
    assert (result.end_state, result.answer, result.used["usd"]) == ("success", 10 * 50 + 200, 50_000)
    assert sorted(world.log) == ["a 1 0", "a 5 0", "b 2 0", "c 20 0", "d 50 200"]
    assert [e.planned for e in read_trace(trace) if isinstance(e, ActedEvent)][1:3] == [None, None]


def test_what_does_not_fit_waits_for_its_turn() -> None:
    world = World()
    plan: Calls = [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": 3})]
    result = play(world, plan, budget="$0.03, 4 steps", answers=[results(3)])
    assert (result.end_state, world.most, result.used["steps"], result.budget_violations) == ("success", 3, 4, [])
    assert play(World(), CHAIN, budget="$0.03, 9 steps").end_state == "infeasible"


@pytest.mark.parametrize(
    ("when", "before"),
    [
        (lambda request: request.action.startswith("b"), {"b(x=2)": ["a 1 0"]}),
        (lambda request: 1 <= request.step < 3, {"b(x=2)": ["a 1 0"], "c(x=3)": ["a 1 0", "b 2 0"]}),
    ],
)
def test_what_is_asked_about_does_not_begin_before_its_turn(
    when: Callable[[ApprovalRequest], bool], before: dict[str, list[str]]
) -> None:
    world, asked = World(), {}

    def approve(request: ApprovalRequest) -> Approval:
        asked[request.action] = [*world.log]
        return Approval.ALLOW

    plan: Calls = [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": 3})]
    result = play(world, plan, answers=[results(3)], approve=approve, approve_when=when)
    assert (result.end_state, asked) == ("success", before)


def test_numbers_stay_right_where_two_calls_come_to_the_same_text() -> None:
    # a fails: so b is #1, and c(x=#2), which has begun, is written as the call that has not: c(x=#1).
    world = World(fails=["a"], waits={"a": "d"})
    plan: Calls = [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": "#1"}), ("c", {"x": "#2"}), ("d", {"x": "#4"})]
    answers = [["#3", "#5"], "#4"]
    result = play(world, plan, [("b", {"x": 9})], budget="$0.05, 9 steps", parallel=8, answers=answers)
    assert result.actions == ["a(x=1)", "b(x=2)", "c(x=#1)", "d(x=#2)", "b(x=9)", "answer(value=#4)"]
    assert (result.end_state, result.used["usd"]) == ("success", 50_000)
    assert len(world.log) == 5


SECONDS = {"a": 5, "b": 1, "c": 3, "d": 1}
"""One after another 10, at once 6."""


def test_under_wall_seconds_a_plan_must_end_in_time() -> None:
    late = play(World(), CHAIN, budget="$0.04, wall_seconds=5.5", seconds=SECONDS)
    assert late.end_state == "infeasible"
    assert "with at most 4 calls at once the soonest of the" in late.detail
    assert late.explanation["least"]["wall_seconds"] >= 6
    assert late.actions == []
    assert play(World(), CHAIN, budget="$0.04, wall_seconds=60", seconds=SECONDS).end_state == "success"


def test_a_quicker_plan_is_taken_where_the_best_is_too_late() -> None:
    tools = World().tools({"a": 50, "b": 1})
    plans = [[("a", {"x": 1})], [("b", {"x": 1})]]

    def reply(request: Any, sample: int) -> str:
        if request.role == "plan":
            return program(plans[sample % 2], request=request)
        return "right"

    agent = TapeAgent(ScriptedLM(reply), parallel=2, ablations={"score": "ends"})
    result = agent.run(ToolEnvironment("task", tools, budget="$0.04, wall_seconds=20"))
    assert (result.end_state, result.actions[0]) == ("success", "b(x=1)")


def test_at_the_end_what_still_runs_is_cancelled_and_paid_for(tmp_path: Path, time_up: TimeUp) -> None:
    world = World(waits={"a": "never", "b": "never"})
    world.then = {"c": time_up}
    trace = tmp_path / "trace.jsonl"
    result = play(world, [("a", {"x": 1}), ("b", {"x": 2}), ("c", {"x": 3})], budget="$0.04, wall_seconds=600",
                  answers=[results(3)], trace=trace)  # fmt: skip
    assert (result.end_state, world.running) == ("budget:wall_seconds", 0)
    assert result.used["usd"] == 30_000  # a in its turn, b and c before theirs
    settled = [e.purpose for e in read_trace(trace) if isinstance(e, LedgerEvent) and e.what == "settle"]
    assert settled[-3:] == ["step:a(x=1)", "ahead:b(x=2)", "ahead:c(x=3)"]


def test_trace_and_why_tell_when_calls_ran(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    play(World(), CHAIN, trace=trace, seconds=SECONDS)
    events = [*read_trace(trace)]
    planned, done = [event for event in events if isinstance(event, ScheduledEvent)]
    first = min(call.start for call in planned.calls)
    assert {(call.name, call.start - first, call.end - first, call.critical) for call in planned.calls[:4]} == {
        ("a", 0, 5000, True),
        ("b", 0, 1000, False),
        ("c", 1000, 4000, False),
        ("d", 5000, 6000, True),
    }
    assert done.done
    assert [call.name for call in done.calls if call.name != "answer"][-1] == "d"
    assert any("6 s instead of 10 s one after the other" in line for line in about(events))
    assert not any(isinstance(event, InfeasibleEvent) for event in events)


def resumed(trace: Path, lines: Sequence[str], fails: Sequence[str], plans: Sequence[Calls]) -> EpisodeResult:
    trace.write_text("".join(lines))
    begun = any('"call_begun"' in line for line in lines)  # then a is called again alone, or not at all
    world = World(fails=fails, waits={} if begun else {"a": "c"})
    first, later = (script(plan) for plan in plans)

    def reply(request: Request, sample: int) -> str:
        """The later plan wherever a failure is shown: the script itself has begun anew."""
        return (later if "This line failed" in asked(request) else first)(request, sample)

    agent = TapeAgent(ScriptedLM(reply), parallel=4, ablations={"score": "ends"})
    return agent.resume(trace, ToolEnvironment("task", world.tools(), budget="$0.16, 30 steps"))


@pytest.mark.parametrize(("fails", "every"), [([], 11), (["a"], 9), pytest.param(["a"], 1, marks=pytest.mark.soak)])
def test_a_cut_off_episode_goes_on(tmp_path: Path, fails: Sequence[str], every: int) -> None:
    trace = tmp_path / "trace.jsonl"
    plans: list[Calls] = [CHAIN, [("d", {"x": 7, "y": 1})]]
    world = World(fails=fails, waits={"a": "c"})
    whole = play(world, *plans, budget="$0.16, 30 steps", trace=trace)
    assert whole.answer == (71 if fails else 300)
    lines = trace.read_text().splitlines(keepends=True)
    assert any('"ahead:' in line for line in lines)
    for cut in range(1, len(lines), every):
        result = resumed(trace, lines[:cut], fails, plans)
        assert (result.end_state, result.answer) == ("success", whole.answer), f"cut at line {cut}"
        if '"acted"' in lines[cut - 1]:  # what has begun beside it, and is made again, is paid for twice
            assert result.used["usd"] >= whole.used["usd"]
        trace.unlink()


def test_what_parallel_cannot_go_with() -> None:
    with pytest.raises(ConfigError, match="needs costs='declared'"):
        TapeAgent(ScriptedLM(script(CHAIN)), parallel=2, costs="expected")
    with pytest.raises(ConfigError, match="contradicts execution='free'"):
        TapeAgent(ScriptedLM(script(CHAIN)), parallel=2, execution="free")


def test_environments_that_begin_nothing_run_step_by_step() -> None:
    episode_result, other = (TapeAgent(LineModel(), parallel=n).run(Line()) for n in (1, 4))
    assert (episode_result.end_state, episode_result.actions, episode_result.used) == (
        other.end_state,
        other.actions,
        other.used,
    )
