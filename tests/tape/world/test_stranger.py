"""A world of another kind, written as a reader of docs/reference/worlds.md would: stock, customers, chance."""

from __future__ import annotations

import random
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from tape.budget import Budget, declare
from tape.testing import EnvironmentConformance
from tape.world import Context, InvalidActionError, World

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
