"""A goal out of reach of the budget: nothing is spent on it, and the least cap that would do is named."""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.agents import reach
from tape.agents.base import Agent
from tape.agents.tape import TapeAgent
from tape.analysis.why import about
from tape.budget import Budget, declare
from tape.plugins import load
from tape.protocols.result import EpisodeResult
from tape.trace import InfeasibleEvent, TraceWriter
from tape.world import InvalidActionError, World, WorldError
from tape.world.scripted import ScriptedPlayer
from tests.tape.world.worlds import make_courier

AGENTS = ("tape", "tape_all_step", "open_loop", "react", "plan_and_act", "plan_and_act_replan", "best_of_n_react")
SHORT = "no plan fits into 39 watts of battery: the cheapest complete plan needs a cap of 40 watts of battery"
declare("battery", "watt")
declare("coins", "coin")


class Drone(BaseModel):
    mast: int = 0


class Hidden(Drone):
    wind: int = Field(0, exclude=True)


class Fly(BaseModel):
    """Fly on to the next mast."""


def drone(last: int = 9, goal: int = 4, **settings: Any) -> World:
    """Masts in a row: each flight takes 10, and the drone is there at the fourth."""
    made = World("drone", rules="A flight to the next mast takes 10.", **{"deterministic": True, **settings})

    @made.action(battery=10)
    def fly(here: Drone, action: Fly) -> Drone:
        if here.mast == last:
            raise InvalidActionError("there is no further mast")
        return Drone(mast=here.mast + 1)

    made.goal(lambda here: here.mast == goal)
    return made


def flown(
    made: World, battery: int, agent: type[Agent] = TapeAgent, model: Any = None, **settings: Any
) -> tuple[EpisodeResult, list[Any]]:
    """Play; the result, and what the model was asked."""
    model = model or ScriptedPlayer(drone())  # it has a world of its own
    result = agent(model, **settings).run(made.environment(Drone(), budget=Budget.of(battery=battery, steps=20)))
    return result, model.requests


def test_what_the_plans_of_the_model_cannot_pay_for_is_not_begun() -> None:
    result, _ = flown(drone(), 39)
    assert (result.end_state, result.steps, result.spent["battery"]) == ("infeasible", 0, 0)
    assert result.detail == f"{SHORT}, the other caps as they are"
    assert result.explanation["options"][0]["caps"] == [{"resource": "battery", "ledger": "episode", "cap": 40}]
    assert flown(drone(), 40)[0].success
    walked, _ = flown(drone(), 39, on_infeasible="partial")
    assert (walked.end_state, walked.steps) == ("budget:battery", 3)


class Leave(BaseModel):
    """Leave the gate by a road."""

    by: Literal["road", "path"]


class Pay(BaseModel):
    """Pay the toll on the road, and arrive."""


class Trip(BaseModel):
    at: Literal["gate", "road", "path", "town"] = "gate"


def toll() -> World:
    """From the gate a road leads to the town, for 40; a path leads nowhere."""
    made = World("toll", rules="The road to the town costs 40.", deterministic=True)

    @made.action(battery=0)
    def leave(here: Trip, action: Leave) -> Trip:
        return Trip(at=action.by)

    @made.action(battery=40)
    def pay(here: Trip, action: Pay) -> Trip:
        if here.at != "road":
            raise InvalidActionError("the toll is paid on the road")
        return Trip(at="town")

    made.goal(lambda here: here.at == "town")
    return made


def test_a_plan_that_ends_short_of_the_goal_is_not_followed_where_another_reaches_it() -> None:
    model = ScriptedPlayer(toll(), plans=[['Leave(by="road")', "Pay()"], ['Leave(by="path")']])
    env, trace = toll().environment(Trip(), budget={"battery": 39, "steps": 5}), TraceWriter("x")
    result = TapeAgent(model).run(env, trace=trace)
    assert (result.end_state, result.steps) == ("infeasible", 0)
    assert result.detail == f"{SHORT}, the other caps as they are"
    assert "CHOSEN" not in "\n".join(about(trace.events))
    walked = TapeAgent(model, on_infeasible="partial").run(env)
    assert walked.steps > 0
    assert not walked.success


def test_what_the_model_does_not_foresee_is_not_foreseen_for_it() -> None:
    """Its plans reach no goal, or it takes the third mast for the fourth: the agent goes on as far as it can."""
    for wrong in ({"mast": 0}, {"mast": 4}):
        result, _ = flown(drone(), 39, model=ScriptedPlayer(drone(), wrong={"Fly()": wrong}), max_replans=2)
        assert (result.success, result.steps > 0) == (False, True), result.detail
    chance = drone(deterministic=False)
    assert flown(chance, 39)[0].steps == 3


@pytest.mark.parametrize("name", AGENTS)
def test_pure_rules_say_so_without_a_model_to_every_agent(name: str) -> None:
    agent = load("tape.agents", name)
    result, asked = flown(drone(pure=True), 39, agent)
    assert (result.end_state, result.used, asked) == ("infeasible", {}, [])
    assert result.detail == f"{SHORT}, the other caps as they are"
    assert flown(drone(pure=True), 40, agent)[0].success
    result, asked = flown(drone(goal=5, last=4, pure=True), 999, agent)
    assert (result.detail, asked) == ("no plan fits: by the rules nothing leads to the goal, and no budget would "
                                      "change that", [])  # fmt: skip


def test_pure_rules_are_asked_at_the_start_alone_and_leave_the_rest_to_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, trace = drone(pure=True), TraceWriter("x")
    planned = TapeAgent(ScriptedPlayer(drone())).plan(made.environment(Drone()), budget="39 watts", trace=trace)
    assert (bool(planned), planned.end_state, planned.detail) == (False, "infeasible", SHORT)
    [event] = [event for event in trace.events if isinstance(event, InfeasibleEvent)]
    assert event.explanation == planned.explanation
    aborted = TraceWriter("x")
    TapeAgent(ScriptedPlayer(drone())).run(made.environment(Drone()), budget="39 watts", trace=aborted)
    assert f"(infeasible): {SHORT}." in about(aborted.events)[1]
    assert flown(made, 39, on_infeasible="partial")[0].steps == 3
    monkeypatch.setattr(reach, "MOST_MOVES", 3)
    _, asked = flown(made, 39)
    assert asked, "what is too large to be searched is played"


def test_what_pure_rules_must_not_do_is_refused() -> None:
    with pytest.raises(WorldError, match="pure is True only where deterministic is"):
        World("x", rules="x", deterministic=False, pure=True)

    def hiding(here: Hidden, action: Fly) -> Hidden:
        return here

    async def waiting(here: Drone, action: Fly) -> Drone:
        return here

    for step in (hiding, waiting):
        with pytest.raises(WorldError, match=f"{step.__name__}: with pure=True a step does not wait"):
            World("x", rules="x", deterministic=True, pure=True).action(step)
    thrifty = World("x", rules="x", deterministic=True, pure=True)

    @thrifty.action(battery=10)
    def fly(here: Drone, action: Fly) -> tuple[Drone, dict[str, int]]:
        return Drone(mast=here.mast + 1), {"battery": 7}

    thrifty.goal(lambda here: here.mast == 4)
    result, asked = flown(thrifty, 39)
    assert (result.end_state, asked) == ("env_error", [])
    assert "Fly returns what it used; with pure=True it returns the next state alone" in result.detail
    assert make_courier().prompt_version != "" != drone(pure=True).prompt_version != drone().prompt_version


class Place(BaseModel):
    at: int = 0


class Go(BaseModel):
    """Go."""

    to: int = Field(ge=0, le=5)


@pytest.mark.parametrize("seed", range(10))
def test_it_is_infeasible_just_where_no_path_fits(seed: int) -> None:
    """Random roads with two tolls, against all paths without a circle."""
    draw = random.Random(seed)
    roads = {(a, b): (draw.randrange(4), draw.randrange(4))
             for a in range(6) for b in range(6) if a != b and draw.random() < 0.35}  # fmt: skip
    made = World("roads", rules="Roads with tolls.", deterministic=True, pure=True)

    @made.action(
        coins=lambda here, go: roads.get((here.at, go.to), (0, 0))[0],
        battery=lambda here, go: roads.get((here.at, go.to), (0, 0))[1],
    )
    def go(here: Place, action: Go) -> Place:
        if (here.at, action.to) not in roads:
            raise InvalidActionError("no road")
        return Place(at=action.to)

    made.goal(lambda here: here.at == 5)

    def least(at: int, seen: frozenset[int], coins: int, battery: int) -> bool:
        if coins < 0 or battery < 0 or at == 5:
            return coins >= 0 and battery >= 0
        onward = [(b, toll) for (a, b), toll in roads.items() if a == at and b not in seen]
        return any(least(b, seen | {b}, coins - index, battery - two) for b, (index, two) in onward)

    caps = {"coins": draw.randrange(6), "battery": draw.randrange(6)}
    model = ScriptedPlayer(made)
    planned = TapeAgent(model, num_plans=1, ablations={"extend": 0}).plan(
        made.environment(Place()), budget=Budget.of(**caps)
    )
    possible = least(0, frozenset({0}), **caps)
    assert (model.requests == []) is not possible, planned.detail
    for option in (planned.explanation or {}).get("options", ()) if not possible else ():
        raised = {**caps, **{cap["resource"]: cap["cap"] for cap in option["caps"]}}
        assert least(0, frozenset({0}), **raised)
        if len(option["caps"]) == 1:
            [cap] = option["caps"]
            assert not least(0, frozenset({0}), **{**raised, cap["resource"]: cap["cap"] - 1})
