"""The setting ``destructive``: what an agent may do that nobody approves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape import Approval
from tape.agents.base import Agent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.approval.forbid import FORBIDDEN, forbidden
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.trace import ActedEvent, ApprovalEvent, PlansSampledEvent, TraceWriter
from tests.tape.agents.cleaning import ARCHIVE, CAPS, DROP, Cleaning, obedient, planner
from tests.tape.helpers import CORRIDOR

DROPPED = 'drop(table="t")'
PLANNERS: list[type[Agent]] = [TapeAgent, PlanAndActAgent]


def talked_into_it() -> ScriptedLM:
    """A model that plans to archive a table, and to drop it as soon as it has looked at it; to look comes first."""
    return planner(lambda prompt: DROP if "rows of t" in prompt and "it was refused" not in prompt else ARCHIVE)


@pytest.mark.parametrize("agent", [*PLANNERS, ReactAgent])
def test_refuse_refuses_all(agent: type[Agent]) -> None:
    world, trace = Cleaning(), TraceWriter("x")
    result = agent(obedient(), horizon=9, destructive="refuse").run(world.environment(), budget=CAPS, trace=trace)
    assert (result.end_state, world.done) == ("success", ["look", "archive"])
    [event] = [event for event in trace.events if isinstance(event, ApprovalEvent)]
    assert (event.action, event.decision, event.reason) == (DROPPED, "refused", "destructive actions are refused")


@pytest.mark.parametrize("agent", PLANNERS)
def test_planned_admits_what_was_planned_before_anything_was_read(agent: type[Agent]) -> None:
    world = Cleaning()
    result = agent(obedient(), horizon=9, destructive="planned").run(world.environment(), budget=CAPS)
    assert (result.end_state, world.done) == ("success", ["look", "drop"])


def test_planned_refuses_what_a_result_has_talked_the_model_into() -> None:
    world, trace = Cleaning(), TraceWriter("x")
    agent = PlanAndActAgent(talked_into_it(), horizon=9)
    agent.run(world.environment(), budget=CAPS)
    assert world.done == ["look", "drop"]
    world = Cleaning()
    agent = PlanAndActAgent(talked_into_it(), horizon=9, destructive="planned")
    assert agent.run(world.environment(), budget=CAPS, trace=trace).success
    assert world.done == ["look", "archive"]
    [event] = [event for event in trace.events if isinstance(event, ApprovalEvent)]
    assert event.reason == "in no plan of the first sampling"


def told_to_do_it_again() -> ScriptedLM:
    """A model that plans to drop a table once, and wants to drop it again and again once it reads that it is gone."""
    again = [*DROP, *DROP[1:], *DROP[1:]]
    return planner(lambda prompt: again if "t is gone" in prompt and "it was refused" not in prompt else DROP)


def test_planned_refuses_a_planned_call_that_a_result_asks_for_again() -> None:
    world = Cleaning()
    PlanAndActAgent(told_to_do_it_again(), horizon=9).run(world.environment(), budget=CAPS)
    assert world.done == ["look", "drop", "drop", "drop"]
    world, trace = Cleaning(), TraceWriter("x")
    agent = PlanAndActAgent(told_to_do_it_again(), horizon=9, destructive="planned")
    assert agent.run(world.environment(), budget=CAPS, trace=trace).success
    assert world.done == ["look", "drop"]
    [event] = [event for event in trace.events if isinstance(event, ApprovalEvent)]
    assert event.reason == "done as often as a plan of the first sampling has it"


def test_what_was_done_counts_after_an_episode_goes_on(tmp_path: Path) -> None:
    trace, world = tmp_path / "trace.jsonl", Cleaning()
    answers: Iterator[bool | Approval] = iter([True, True, Approval.STOP])
    agent = PlanAndActAgent(told_to_do_it_again(), horizon=9, destructive="planned")
    agent.run(
        world.environment(), budget=CAPS, trace=trace, approve=lambda _: next(answers), approve_when=lambda _: True
    )
    assert world.done == ["look", "drop"]
    again = Cleaning()
    result = agent.resume(trace, tools=again.tools, approve=lambda _: True, approve_when=lambda _: True)
    assert (result.success, again.done) == (True, [])


@pytest.mark.parametrize(("done", "why"), [(0, ""), (1, ""), (2, FORBIDDEN[2])])
def test_each_is_done_as_often_as_one_of_the_first_plans_has_it(done: int, why: str) -> None:
    plans = [[DROPPED], [DROPPED, DROPPED], [DROPPED]]
    acted = ActedEvent(step=1, action=DROPPED, text="", planned=None, cost={})
    later = PlansSampledEvent(start="s", plans=[9 * [DROPPED]], valid=[True])
    events = [PlansSampledEvent(start="s", plans=plans, valid=3 * [True]), *done * [acted], later]
    assert forbidden("planned", Cleaning().environment().domain, DROPPED, events) == why


def test_planned_refuses_all_where_no_plan_was_made() -> None:
    world = Cleaning()
    agent = ReactAgent(obedient(), horizon=9, destructive="planned")
    assert agent.run(world.environment(), budget=CAPS).success
    assert world.done == ["look", "archive"]


def test_what_may_be_done_is_asked_about() -> None:
    questions: list[str] = []

    def approve(request: object) -> bool:
        questions.append(str(request))
        return False

    for rule, count in (("planned", 1), ("refuse", 0)):
        questions.clear()
        world = Cleaning()
        agent = TapeAgent(obedient(), destructive=rule)
        assert agent.run(world.environment(), budget=CAPS, approve=approve).success
        assert (len(questions), world.done) == (count, ["look", "archive"])


@pytest.mark.parametrize("rule", ["refuse", "planned"])
def test_an_episode_goes_on_under_the_same_rule(rule: str, tmp_path: Path) -> None:
    """The first sampling is that of the record, not one after it went on."""
    trace, world = tmp_path / "trace.jsonl", Cleaning()
    stop = lambda request: Approval.STOP if request.action.startswith("archive") else True  # noqa: E731
    agent = PlanAndActAgent(talked_into_it(), horizon=9, destructive=rule)
    agent.run(world.environment(), budget=CAPS, trace=trace, approve=stop, approve_when=lambda _: True)
    assert world.done == ["look"]
    again = Cleaning()
    result = agent.resume(trace, tools=again.tools, approve=lambda _: True, approve_when=lambda _: True)
    assert (result.end_state, again.done) == ("success", ["archive"])


def test_who_never_approved_need_not_approve_to_go_on(tmp_path: Path) -> None:
    trace, world = tmp_path / "trace.jsonl", Cleaning()
    agent = TapeAgent(obedient(), destructive="refuse")
    first = agent.run(world.environment(), budget="$0.015, 9 steps", trace=trace)
    assert (first.end_state, world.done) == ("infeasible", ["look"])
    result = agent.resume(trace, tools=world.tools, budget="$0.05")
    assert (result.end_state, world.done) == ("success", ["look", "archive"])


def test_a_rule_that_could_never_refuse_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"destructive='refuse' would refuse nothing: SokobanDomain marks no action"):
        TapeAgent(obedient(), destructive="refuse").run(SokobanEnvironment(CORRIDOR, 3))
    with pytest.raises(ConfigError, match="destructive"):
        TapeAgent(obedient(), destructive="never")
