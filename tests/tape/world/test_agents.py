"""Every agent plays a world, through the same prompts: scripted, and through real HTTP under real JSON schemas."""

from __future__ import annotations

from pathlib import Path

import pytest

from tape.budget import Budget
from tape.lm.registry import open_model
from tape.plugins import load
from tape.testing.endpoint import ModelEndpoint
from tape.trace import MalformedEvent, TraceWriter
from tape.world import WorldEnvironment
from tape.world.scripted import ScriptedPlayer
from tests.tape.lm.tiny_general import general_model
from tests.tape.world.worlds import Lamp, Round, make_courier, make_lamp

SHORT = ['Walk(to="mill")', "Deliver()"]
FREE = ['Walk(to="ford")', 'Walk(to="mill")', "Deliver()"]
AGENTS = ("tape", "tape_all_step", "open_loop", "react", "plan_and_act", "plan_and_act_replan")
AGENTS += ("best_of_n_react", "best_of_n_plan_and_act")

pytestmark = pytest.mark.slow


def round_trip(**amounts: int) -> WorldEnvironment:
    return make_courier().environment(Round(), budget=Budget.of(**amounts))


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_plays_within_its_budget(agent: str) -> None:
    player = load("tape.agents", agent)
    for budget, plan in (({"steps": 2, "coins": 2}, SHORT), ({"steps": 3, "coins": 0}, FREE)):
        model = ScriptedPlayer(make_courier(), plans=[plan])
        result = player(model).run(round_trip(**budget))
        assert (result.end_state, result.actions, result.malformed) == ("success", plan, 0)
    poor = player(ScriptedPlayer(make_courier(), plans=[SHORT])).run(round_trip(steps=9, coins=1))
    assert not poor.success
    assert poor.used.get("coins", 0) == 0


def test_a_wrong_prediction_is_seen_and_planned_around() -> None:
    model = ScriptedPlayer(make_courier(), plans=[SHORT], wrong={'Walk(to="mill")': {"at": "ford"}})
    result = load("tape.agents", "tape")(model).run(round_trip(steps=4, coins=2))
    assert (result.end_state, result.mismatches, result.actions) == ("success", 1, SHORT)


def test_the_step_is_asked_by_the_environment_alone() -> None:
    world = make_courier()
    model = ScriptedPlayer(make_courier(), plans=[SHORT, FREE])  # it has a world of its own
    taken: list[str] = []
    for item in world.actions.types.values():
        function = item.function
        object.__setattr__(item, "function", lambda *args, f=function: (taken.append(str(args[1])), f(*args))[1])
    result = load("tape.agents", "tape")(model).run(world.environment(Round(), budget=Budget.of(steps=3, coins=2)))
    assert result.success
    assert len(taken) == result.steps


def test_through_http_it_is_the_same_episode() -> None:
    pytest.importorskip("openai")
    agent = load("tape.agents", "tape")
    model = ScriptedPlayer(make_courier(), plans=[SHORT, FREE])
    here = agent(model).run(round_trip(steps=3, coins=1))
    with ModelEndpoint(model) as endpoint:
        there = agent(f"openai:scripted@{endpoint.url}").run(round_trip(steps=3, coins=1))
    assert there.actions == here.actions == FREE
    assert there.lm_calls == here.lm_calls
    assert there.malformed == 0
    with ModelEndpoint(ScriptedPlayer(make_lamp())) as endpoint:
        lamp = make_lamp().environment(Lamp(), budget=Budget.of(steps=2, calls=20))
        lit = agent(f"openai:scripted@{endpoint.url}").run(lamp)
    assert lit.success
    assert lit.lm_calls["project"] == 1


@pytest.mark.parametrize("agent", ["tape", "react"])
def test_a_model_that_knows_nothing_keeps_to_the_schemas(agent: str, tmp_path: Path) -> None:
    """A tiny transformer with random weights, through HTTP: what it writes is nonsense, and can be read."""
    pytest.importorskip("openai")
    general_model(tmp_path)
    trace = TraceWriter("random")
    with ModelEndpoint(open_model(f"hf:{tmp_path}")) as endpoint:
        model = open_model(f"openai:random@{endpoint.url}")
        player = load("tape.agents", agent)(model, num_plans=2, ablations={"extend": 0}, max_replans=1)
        result = player.run(round_trip(steps=2, coins=2), seed=1, trace=trace)
    assert result.end_state in ("success", "budget:steps", "budget:coins", "replan_limit", "infeasible")
    assert result.steps > 0
    assert sum(result.lm_calls.values()) > 1
    # Only what has no end of its own, a list, may be cut off.
    assert {event.role for event in trace.events if isinstance(event, MalformedEvent)} <= {"plan", "rollout"}
