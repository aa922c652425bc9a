"""Approval where nothing is marked as destructive: Sokoban, verification, chains of subgoals, a real model."""

from __future__ import annotations

from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape import Approval, ApprovalRequest
from tape.agents.base import Agent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.errors import ConfigError
from tape.methods.aec.events import QueriedEvent
from tape.methods.sdp.agent import SdpAgent
from tape.trace import ApprovalEvent, GraphFoldedEvent, PathSelectedEvent, TraceWriter
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel
from tests.tape.methods.aec.toy import BoxModel, BoxWorld

SETTINGS: list[tuple[type[Agent], dict[str, Any]]] = [
    (TapeAgent, {}), (TapeAgent, {"ablations": {"replan_every_step": True}}), (TapeAgent, {"aec": True}),
    (SdpAgent, {"sdp": {"chain": "walk"}}), (SdpAgent, {"sdp": {"chain": "walk"}, "aec": True}),
    (SdpAgent, {"sdp": {"chain": "sample"}}), (ReactAgent, {}),
]  # fmt: skip


def everything(request: ApprovalRequest) -> bool:
    return True


def test_where_nothing_is_marked_approve_when_is_required() -> None:
    model = SimulatedModel(CORRIDOR)
    with pytest.raises(ConfigError, match=r"SokobanDomain marks no action as destructive.*approve_when=lambda"):
        TapeAgent(model).run(SokobanEnvironment(CORRIDOR, 4), approve=lambda request: True)
    assert model.requests == []


@pytest.mark.parametrize(("agent", "settings"), SETTINGS)
def test_every_step_can_be_asked_about(agent: type[Agent], settings: dict[str, Any]) -> None:
    asked: list[str] = []
    result = agent(SimulatedModel(ROOM), **settings).run(
        SokobanEnvironment(ROOM, 8), approve=lambda r: asked.append(r.action) or True, approve_when=everything
    )
    assert (result.end_state, asked) == ("success", result.actions)
    assert asked


@pytest.mark.parametrize(("agent", "settings"), SETTINGS)
def test_no_agent_does_what_is_refused(agent: type[Agent], settings: dict[str, Any]) -> None:
    """In the corridor there is no other path."""
    trace = TraceWriter("x")
    result = agent(SimulatedModel(CORRIDOR), **settings).run(
        SokobanEnvironment(CORRIDOR, 8), approve=lambda r: r.action != "R", approve_when=everything, trace=trace
    )
    assert (result.success, result.method.get("infeasible_commitments", 0)) == (False, 0)
    assert "R" not in result.actions
    assert result.end_state in {"infeasible", "not_certified", "replan_limit", "budget:steps"}
    asked = [event for event in trace.events if isinstance(event, ApprovalEvent)]
    assert [e.decision for e in asked if e.action == "R" and e.reason == "selected"] == ["refused"]


@pytest.mark.parametrize(("agent", "settings"), SETTINGS)
def test_stop_ends_every_agent(agent: type[Agent], settings: dict[str, Any]) -> None:
    result = agent(SimulatedModel(ROOM), **settings).run(
        SokobanEnvironment(ROOM, 8), approve=lambda r: Approval.STOP if r.step == 1 else True, approve_when=everything
    )
    assert (result.end_state, result.steps) == ("stopped", 1)


def test_after_a_refusal_no_graph_offers_the_action_any_more() -> None:
    trace = TraceWriter("x")
    model = SimulatedModel(ROOM, plans=[" U R D R R", " R R R R"])
    TapeAgent(model).run(
        SokobanEnvironment(ROOM, 12), approve=lambda r: r.action != "R", approve_when=everything, trace=trace
    )
    refused = next(
        i for i, event in enumerate(trace.events) if isinstance(event, ApprovalEvent) and event.action == "R"
    )
    later = trace.events[refused + 1 :]
    links = [link for event in later if isinstance(event, GraphFoldedEvent) for link in event.graph["links"]]
    assert links
    assert all(link["refuted"] for link in links if link["action"] == "R")
    assert not any("R" in event.actions for event in later if isinstance(event, PathSelectedEvent))


@pytest.mark.parametrize(("refused", "done"), [("open 0", ["rattle 0"]), ("rattle 0", ["open 0", "take 0"])])
def test_a_query_is_asked_about_like_every_action(refused: str, done: list[str]) -> None:
    """The plan opens box 0, which is to be rattled first; to open it answers another open predicate."""
    world, trace = BoxWorld(0, (False, False, False)), TraceWriter("x")
    model = BoxModel(0, (False, False, False), plans=["open 0; take 0"])
    result = TapeAgent(model, aec={"ensemble": 1}).run(
        world, budget=Budget.of(steps=9), approve=lambda r: r.action != refused, approve_when=everything, trace=trace
    )
    assert (result.actions, result.success) == (done, refused == "rattle 0")
    assert result.method["queries"] == 1
    assert [] in [event.actions for event in trace.events if isinstance(event, QueriedEvent)]
    asked = [event for event in trace.events if isinstance(event, ApprovalEvent)]
    assert [event.action for event in asked if event.decision == "refused"] == [refused]


def test_a_stopped_episode_is_not_judged() -> None:
    class Revisable(SokobanEnvironment):
        concluded = False

        def conclude(self) -> bool:
            self.concluded = True
            return True

        def success(self) -> bool:
            return self.concluded

    env = Revisable(ROOM, 9)
    result = TapeAgent(SimulatedModel(ROOM)).run(env, approve=lambda r: Approval.STOP, approve_when=everything)
    assert (result.end_state, result.success, env.concluded) == ("stopped", False, False)
