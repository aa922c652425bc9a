"""A world of another kind, written as a reader of docs/reference/worlds.md would: stock, customers, chance."""

from __future__ import annotations

import random
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from tape.budget import Budget, declare
from tape.plugins import load
from tape.testing import EnvironmentConformance
from tape.world import Context, InvalidActionError, World
from tape.world.scripted import ScriptedPlayer

declare("euros", "euro")


class Line(BaseModel):
    item: Literal["bolts", "nuts"]
    boxes: int = Field(ge=0, le=9)


class Store(BaseModel):
    shelf: list[Line] = [Line(item="bolts", boxes=0), Line(item="nuts", boxes=0)]
    sold: int = Field(0, description="boxes sold so far")
    history: Annotated[list[str], Context] = []


class Order(BaseModel):
    """Buy boxes of an item; they are there at once."""

    item: Literal["bolts", "nuts"]
    boxes: int = Field(ge=1, le=2)


class Open(BaseModel):
    """Open the shop for a day."""


store = World(
    "store",
    deterministic=False,
    rules="""
    A box costs 3 euros. A day may bring a customer for a box of bolts and one for a box of nuts, each with even odds.
    A shelf holds at most 3 boxes of an item. The goal is to have sold 2 boxes.""",
)


@store.action(euros=lambda now, order: 3 * order.boxes, steps=1)
def order(now: Store, action: Order) -> Store:
    [line] = [line for line in now.shelf if line.item == action.item]
    if line.boxes + action.boxes > 3:
        raise InvalidActionError(f"there is no room for {action.boxes} more boxes of {action.item}")
    line.boxes += action.boxes
    return now


@store.action
def sell(now: Store, action: Open, rng: random.Random) -> Store:
    for line in now.shelf:
        bought = min(line.boxes, rng.randint(0, 1))
        line.boxes, now.sold = line.boxes - bought, now.sold + bought
    now.history.append(f"{now.sold} sold")
    return now


@store.goal
def sold(now: Store) -> bool:
    return now.sold >= 2


store.add_task("two boxes", Store(), budget=Budget.of(euros=12, steps=12))


class TestStore(EnvironmentConformance):
    plugin = store
    prompt_formats: ClassVar = ("chat",)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["tape", "react", "plan_and_act_replan", "best_of_n_react"])
def test_it_is_played_under_chance(agent: str) -> None:
    [task] = store.tasks()
    mismatches = successes = 0
    for seed in range(6):
        model = ScriptedPlayer(store)
        result = load("tape.agents", agent)(model, max_replans=12).run(store.make(task), budget=task.budget, seed=seed)
        assert result.end_state in ("success", "budget:steps", "budget:euros", "infeasible")
        assert not result.budget_violations
        assert not result.broken_declarations
        assert result.malformed == 0
        assert result.used["euros"] <= 12
        mismatches += result.mismatches
        successes += result.success
    assert successes >= 4
    assert mismatches > 0 or agent in ("react", "best_of_n_react")
