"""Plays a world of the behaviour net, by several agents, and prints what came out, a line of JSON an episode.

The model is scripted: it answers by the world's own functions, so what is played is no result.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel

from tape import BestOfNReactAgent, OpenLoopAgent, PlanAndActAgent, ReactAgent, TapeAgent
from tape.budget import Budget, declare
from tape.world import InvalidActionError, World
from tape.world.scripted import ScriptedPlayer

Place = Literal["depot", "ford", "mill", "marsh", "harbour"]
TOLLS = {"depot-mill": 2, "depot-ford": 0, "ford-mill": 0, "mill-harbour": 2, "mill-marsh": 0, "marsh-harbour": 0}
SHORT = ['Walk(to="mill")', "Deliver()", 'Walk(to="harbour")', "Deliver()"]
FREE = ['Walk(to="ford")', 'Walk(to="mill")', "Deliver()", 'Walk(to="marsh")', 'Walk(to="harbour")', "Deliver()"]


class Round(BaseModel):
    """Where the courier is, and what is delivered."""

    at: Place = "depot"
    delivered: frozenset[Place] = frozenset()


class Walk(BaseModel):
    """Walk along a road to the next place."""

    to: Place


class Deliver(BaseModel):
    """Hand over the parcel for the place where you are."""


def walk(here: Round, action: Walk) -> Round:
    """The round after a walk."""
    if f"{here.at}-{action.to}" not in TOLLS:
        raise InvalidActionError(f"no road leads from {here.at} to {action.to}")
    return Round(at=action.to, delivered=here.delivered)


def deliver(here: Round, action: Deliver) -> Round:
    """The round after a delivery."""
    del action
    return Round(at=here.at, delivered=here.delivered | {here.at})


def both_delivered(here: Round) -> bool:
    """Whether both parcels are delivered."""
    return here.delivered >= {"mill", "harbour"}


def main() -> None:
    """Play every agent under two budgets, with a model that is right and with one that predicts an action wrongly."""
    declare("coins", "coin")
    courier = World("courier", deterministic=True, rules="A courier has parcels for the mill and for the harbour.")
    courier.action(coins=lambda here, action: TOLLS.get(f"{here.at}-{action.to}", 0))(walk)
    courier.action(deliver)
    courier.goal(both_delivered)
    for coins in (2, 4):
        courier.add_task(
            f"coins {coins}", Round(), budget=Budget.of(steps=6, coins=coins), task="Deliver both parcels."
        )
    for task in courier.tasks():
        for wrong in ({}, {'Walk(to="mill")': {"at": "ford"}}):
            model = ScriptedPlayer(courier, plans=[SHORT, FREE], wrong=wrong)
            for agent in (OpenLoopAgent, ReactAgent, PlanAndActAgent, BestOfNReactAgent, TapeAgent):
                result = agent(model).run(courier.make(task), budget=task.budget)
                name = f"{agent.name} {dict(task.budget)} {sorted(wrong)}"
                print(json.dumps({"task": name, "repeat": 0, "result": result.model_dump(mode="json")}))


if __name__ == "__main__":
    main()
