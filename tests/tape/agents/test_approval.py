"""Approval of single actions: which are asked about, when, and what each answer leads to."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from dataclasses import FrozenInstanceError
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from tape import Approval, ApprovalRequest
from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNPlanAndActAgent, BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent, TapeAllStepAgent
from tape.budget import Budget, Ledger, Resources
from tape.engine.settings import Execution
from tape.errors import ApprovalError, ConfigError
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools.making import make_tool
from tape.trace import ActedEvent, ApprovalEvent, LedgerEvent, TraceWriter
from tests.tape.agents.cleaning import ARCHIVE, CAPS, Cleaning, obedient, planner, stubborn

DROPPED = 'drop(table="t")'
ANSWERED = 'answer(value=["rows of t", "t is gone"])'
FREE: list[type[Agent]] = [
    ReactAgent, PlanAndActAgent, PlanAndActReplanAgent, BestOfNReactAgent, BestOfNPlanAndActAgent
]  # fmt: skip
ALL: list[type[Agent]] = [TapeAgent, TapeAllStepAgent, OpenLoopAgent, *FREE]
_WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Asked:
    """Gives these answers in turn, and keeps the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), list[ApprovalRequest]()

    def __call__(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]

    @property
    def actions(self) -> list[str]:
        return [request.action for request in self.requests]


def played(
    agent: type[Agent], approve: Any, model: ScriptedLM | None = None, settings: Any = None, **options: Any
) -> tuple[EpisodeResult, list[str], TraceWriter]:
    """Clean up once; the result, what was done, and the trace."""
    world, trace = Cleaning(), TraceWriter("x")
    playing = agent(model or obedient(), horizon=9, **(settings or {}))
    result = playing.run(world.environment(), approve=approve, trace=trace, **{"budget": CAPS, **options})
    return result, world.done, trace


def decisions(trace: TraceWriter) -> list[tuple[str, str, str]]:
    return [(e.action, e.decision, e.reason) for e in trace.events if isinstance(e, ApprovalEvent)]


@pytest.mark.parametrize("agent", ALL)
def test_only_what_is_marked_is_asked_about_and_executed_once_allowed(agent: type[Agent]) -> None:
    ask = Asked(True)
    result, done, trace = played(agent, ask)
    assert (result.end_state, done) == ("success", ["look", "drop"])
    assert decisions(trace) == [(DROPPED, "allowed", "destructive")]
    [request] = ask.requests
    assert (request.action, request.reason, request.step) == (DROPPED, "destructive", 1)
    assert request.cost == {"usd": Decimal("0.01"), "steps": 1}
    assert (request.left["steps"], request.left["usd"]) == (8, Decimal("0.05") - Decimal(_first(trace)["usd"]) / 10**6)
    assert '#1 look(table="t") = "rows of t"' in request.picture


def _first(trace: TraceWriter) -> dict[str, Any]:
    return next(e.amounts for e in trace.events if isinstance(e, LedgerEvent) and e.purpose.startswith("step:look")
                and e.what == "settle")  # fmt: skip


def test_a_request_shows_the_rest_of_the_path_and_reads_well_and_cannot_be_changed() -> None:
    ask = Asked(True)
    TapeAgent(obedient()).run(Cleaning().environment(), budget=Budget.of(usd="0.05"), approve=ask)
    [request] = ask.requests
    assert request.rest == ("answer([r1, r2])",)
    lines = str(request).splitlines()
    assert lines[0] == f"{DROPPED} (destructive)"
    assert lines[1].startswith("costs at most 1 step, $0.01; left: $0.04")
    assert lines[2] == "then: answer([r1, r2])"
    with pytest.raises(FrozenInstanceError):
        request.action = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        request.cost["usd"] = Decimal(0)  # type: ignore[index]


@pytest.mark.parametrize("agent", [TapeAgent, TapeAllStepAgent, *FREE])
def test_what_is_refused_is_not_done_and_the_agent_does_without(agent: type[Agent]) -> None:
    result, done, trace = played(agent, Asked(False))
    assert (result.end_state, done) == ("success", ["look", "archive"])
    assert decisions(trace) == [(DROPPED, "refused", "destructive")]
    assert result.actions[-1].startswith("answer(")


@pytest.mark.parametrize("agent", ALL)
def test_a_refused_action_never_comes_back_and_ends_the_episode_if_nothing_else_is_left(agent: type[Agent]) -> None:
    ask = Asked(Approval.REFUSE)
    result, done, _ = played(agent, ask, stubborn())
    assert (result.end_state, result.success, done) == ("infeasible", False, ["look"])
    assert DROPPED in result.detail
    assert ask.actions == [DROPPED]  # it is asked about once
    assert (result.used["steps"], result.budget_violations) == (1, [])


def test_after_a_refusal_it_is_sampled_anew() -> None:
    """With the same seed the model would only repeat itself."""
    model = stubborn()
    ReactAgent(model, horizon=9).run(Cleaning().environment(), budget=CAPS, approve=Asked(False))
    [_, *seeds] = [request.seed for request in model.requests]
    assert (len(seeds), len(set(seeds))) == (4, 4)


def test_without_replanning_a_refusal_ends_the_episode_and_else_it_counts_as_a_round() -> None:
    result, done, _ = played(TapeAgent, Asked(False), settings={"ablations": {"replan": False}})
    assert (result.end_state, done, DROPPED in result.detail) == ("infeasible", ["look"], True)
    assert played(TapeAgent, Asked(False), settings={"max_replans": 0})[0].end_state == "replan_limit"


@pytest.mark.parametrize("agent", ALL)
def test_stop_ends_the_episode_with_what_it_has(agent: type[Agent]) -> None:
    result, done, trace = played(agent, Asked(Approval.STOP))
    assert (result.end_state, result.success, done, result.steps) == ("stopped", False, ["look"], 1)
    assert DROPPED in result.detail
    assert decisions(trace) == [(DROPPED, "stopped", "destructive")]


def test_another_tool_of_the_same_kind_is_asked_about_for_itself() -> None:
    def delete(table: str) -> str:
        """Delete."""
        return table

    ask = Asked(False, True)
    tools = [
        make_tool(delete, variant=name, usd=usd, destructive=True)
        for name, usd in (("fast", "0.01"), ("careful", "0.03"))
    ]
    model = planner(lambda _: [("delete.fast", {"table": "t"})])
    result = TapeAgent(model).run(Cleaning().environment(tools), budget=CAPS, approve=ask)
    assert ask.actions == ['delete.fast(table="t")', 'delete.careful(table="t")']
    assert (result.end_state, result.actions[0]) == ("success", 'delete.careful(table="t")')


def test_without_a_callback_nothing_is_asked_and_all_is_executed() -> None:
    result, done, trace = played(TapeAgent, None)
    assert (result.success, done, decisions(trace)) == (True, ["look", "drop"], [])


@pytest.mark.parametrize("agent", ALL)
def test_other_actions_are_selected_by_their_request(agent: type[Agent]) -> None:
    ask = Asked(True)
    dear: Any = lambda request: (request.cost.get("usd") or 0) > Decimal("0.01")  # noqa: E731
    _, done, trace = played(agent, ask, planner(lambda _: ARCHIVE), approve_when=dear)
    assert decisions(trace) == [('archive(table="t")', "allowed", "selected")]
    assert ([request.reason for request in ask.requests], done) == (["selected"], ["look", "archive"])


def test_it_is_not_needed_for_what_is_marked_and_is_asked_once_for_each_step() -> None:
    seen, ask = list[str](), Asked(True)
    when: Any = lambda request: seen.append(request.action) or False  # noqa: E731
    played(TapeAgent, ask, settings={"execution": "constrained"}, approve_when=when)
    assert (ask.actions, seen) == ([DROPPED], ['look(table="t")', "answer(value=[#1, #2])"])


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_even_the_answer_can_be_refused(agent: type[Agent]) -> None:
    result, _, _ = played(agent, lambda r: not r.action.startswith("answer"), approve_when=lambda request: True)
    assert (result.end_state, ANSWERED in result.detail) == ("infeasible", True)


@pytest.mark.parametrize("execution", ["constrained", "forced", "free"])
@pytest.mark.parametrize("reselect", [True, False])
def test_what_is_asked_is_what_is_done_and_nothing_is_reserved_for_it_before(
    execution: Execution, reselect: bool
) -> None:
    world, trace, parent = Cleaning(), TraceWriter("x"), Ledger()
    spent: list[tuple[Resources, Resources, list[str]]] = []

    def ask(request: ApprovalRequest) -> bool:
        spent.append((parent.used, parent.reserved, list(world.done)))
        return True

    result = TapeAgent(obedient(), execution=execution, ablations={"reselect": reselect}).run(
        world.environment(), budget=CAPS, approve=ask, approve_when=lambda r: True, trace=trace, parent=parent
    )
    assert result.success
    events = trace.events
    for number, (used, reserved, done) in enumerate(spent):
        assert reserved == Resources()
        assert (used["steps"], len(done)) == (number, min(number, 2))
    asked = [index for index, event in enumerate(events) if isinstance(event, ApprovalEvent)]
    for index in asked:
        following = [e for e in events[index + 1 :] if isinstance(e, LedgerEvent) and e.what == "reserve"]
        if execution == "constrained":
            assert following[0].purpose == "lm:act"  # even writing the action comes after
        else:
            assert following[0].purpose == f"step:{events[index].action}"  # type: ignore[attr-defined]
    assert [events[index].action for index in asked] == result.actions  # type: ignore[attr-defined]


def test_under_free_execution_what_was_written_is_asked_about() -> None:
    """The plan has archive, the model writes drop."""
    model, archiving, ask = obedient(), planner(lambda _: ARCHIVE), Asked(Approval.STOP)
    usual: Any = model._script
    planned: Any = archiving._script
    model._script = lambda request, sample: (planned if request.role == "plan" else usual)(request, sample)
    _, done, _ = played(TapeAgent, ask, model, {"execution": "free"})
    assert (ask.actions, done) == ([DROPPED], ["look"])


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_what_cannot_be_paid_is_not_asked_about(agent: type[Agent]) -> None:
    ask = Asked(True)
    result, done, _ = played(agent, ask, stubborn(), budget=Budget.of(usd="0.005"))
    assert (result.success, ask.requests, "drop" in done) == (False, [], False)


def test_the_action_is_reserved_after_the_answer() -> None:
    """If its budget was spent elsewhere meanwhile, the ledger refuses the allowed action."""
    parent = Ledger(Budget.of(usd="0.015"))

    def ask(request: ApprovalRequest) -> bool:
        taken = Resources.of(usd="0.01")
        parent.settle(parent.reserve(taken), taken)
        return True

    result, done, _ = played(ReactAgent, ask, parent=parent, budget=None)
    assert (result.end_state, done) == ("budget:usd", ["look"])


class ByMethod:
    async def __call__(self, request: ApprovalRequest) -> bool:
        await asyncio.sleep(0)
        return request.action == DROPPED


async def by_coroutine(request: ApprovalRequest) -> Approval:
    await asyncio.sleep(0)
    return Approval.ALLOW if request.action == DROPPED else Approval.STOP


@pytest.mark.parametrize("approve", [by_coroutine, ByMethod(), partial(by_coroutine), lambda r: Approval.ALLOW])
@pytest.mark.parametrize("started", ["run", "arun"])
def test_callbacks_of_all_kinds(approve: Any, started: str) -> None:
    world, agent = Cleaning(), TapeAgent(obedient())
    if started == "run":
        agent.run(world.environment(), budget=CAPS, approve=approve)
    else:
        asyncio.run(agent.arun(world.environment(), budget=CAPS, approve=approve))
    assert world.done == ["look", "drop"]


def broken(request: ApprovalRequest) -> bool:
    raise KeyError("the form is not there")


async def broken_later(request: ApprovalRequest) -> bool:
    raise KeyError("the form is not there")


@pytest.mark.parametrize(
    ("approve", "when", "says"),
    [
        (broken, None, "KeyError.*the form is not there"),
        (broken_later, None, "KeyError.*the form is not there"),
        (lambda r: None, None, "returned None.*True, False or a member of tape.Approval"),
        (lambda r: "allow", None, "returned 'allow'"),
        (lambda r: 1, None, "returned 1"),
        (lambda r: True, broken, "approve_when failed.*KeyError"),
        (lambda r: True, lambda r: None, "approve_when returned None.*True or False"),
        (lambda r: True, ByMethod(), "approve_when returned 'a coroutine'"),
    ],
)
@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_an_answer_that_is_none_is_an_error_and_nothing_is_executed(
    agent: type[Agent], approve: Any, when: Any, says: str
) -> None:
    parent, trace = Ledger(), TraceWriter("x")
    with pytest.raises(ApprovalError, match=f"(?s){says}.*was not executed"):
        agent(stubborn(), horizon=9).run(
            Cleaning().environment(), budget=CAPS, approve=approve, approve_when=when, parent=parent, trace=trace
        )
    assert not [e for e in trace.events if isinstance(e, ActedEvent) and e.action == DROPPED]
    assert parent.reserved == Resources()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"approve": "yes"}, "approve= is a function"),
        ({"approve": False}, "approve= is a function"),
        ({"approve": lambda r: True, "approve_when": True}, "approve_when= is a plain function"),
        ({"approve": lambda r: True, "approve_when": by_coroutine}, "approve_when= is a plain function"),
        ({"approve_when": lambda r: True}, "give approve= too"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_spent(options: dict[str, Any], says: str) -> None:
    model = obedient()
    with pytest.raises(ConfigError, match=says):
        TapeAgent(model).run(Cleaning().environment(), budget=CAPS, **options)
    assert model.requests == []


def test_run_asks_in_the_thread_that_called_it_and_arun_in_another_both_with_its_context() -> None:
    seen: list[tuple[bool, str]] = []
    here = threading.get_ident()

    def ask(request: ApprovalRequest) -> bool:
        seen.append((threading.get_ident() == here, _WHO.get()))
        return True

    async def notebook() -> bool:
        """``agent.run`` inside a running loop."""
        return TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, approve=ask).success

    token = _WHO.set("me")
    try:
        TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, approve=ask)
        asyncio.run(TapeAgent(obedient()).arun(Cleaning().environment(), budget=CAPS, approve=ask))
        assert asyncio.run(notebook())
    finally:
        _WHO.reset(token)
    assert seen == [(True, "me"), (False, "me"), (True, "me")]


def test_other_episodes_go_on_while_a_plain_callback_waits() -> None:
    """The first is approved only once the second has ended."""
    ended, first, second = threading.Event(), Cleaning(), Cleaning()

    async def other() -> None:
        await TapeAgent(obedient()).arun(second.environment(), budget=CAPS)
        ended.set()

    async def both() -> None:
        coroutine = TapeAgent(obedient()).arun(first.environment(), budget=CAPS, approve=lambda request: ended.wait(60))
        await asyncio.gather(coroutine, other())

    asyncio.run(both())
    assert first.done == second.done == ["look", "drop"]


def _never(request: ApprovalRequest) -> bool:
    threading.Event().wait(30)
    return True


async def _never_later(request: ApprovalRequest) -> bool:
    await asyncio.Event().wait()
    return True


@pytest.mark.parametrize("approve", [_never, _never_later])
@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_waiting_for_an_answer_ends_with_the_time_of_the_episode(agent: type[Agent], approve: Any) -> None:
    result, done, _ = played(agent, approve, budget=CAPS | Budget.of(wall_seconds="0.3"))
    assert (result.end_state, done, result.used["steps"]) == ("budget:wall_seconds", ["look"], 1)


def test_an_episode_that_is_cancelled_while_it_asks_has_reserved_nothing() -> None:
    world, parent, asked = Cleaning(), Ledger(), asyncio.Event()

    async def ask(request: ApprovalRequest) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async def play() -> None:
        task = asyncio.create_task(
            TapeAgent(obedient()).arun(world.environment(), budget=CAPS, approve=ask, parent=parent)
        )
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert (world.done, parent.reserved, parent.used["steps"]) == (["look"], Resources(), 1)
