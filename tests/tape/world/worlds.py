"""Worlds for tests: a courier with tolls, and a lamp whose state is only described in words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tape.budget import declare
from tape.world import Context, InvalidActionError, World

declare("coins", "coin")

Place = Literal["depot", "ford", "mill"]
TOLLS = {("depot", "mill"): 2, ("depot", "ford"): 0, ("ford", "mill"): 0}


class Round(BaseModel):
    at: Place = Field("depot", description="where the courier is")
    delivered: frozenset[Place] = frozenset()
    log: Annotated[list[str], Context] = []


class Walk(BaseModel):
    """Walk along a road.

    Only this way.
    """

    to: Place


class Deliver(BaseModel):
    """Hand over the parcel for this place."""


def make_courier() -> World:
    """Go to the mill, over the toll bridge or by the ford, and deliver."""
    courier = World("courier", rules="Roads: depot to mill (2 coins), depot to ford, ford to mill.", deterministic=True)

    @courier.action(coins=lambda here, walk: TOLLS.get((here.at, walk.to), 0))
    def walk(here: Round, action: Walk) -> Round:
        if (here.at, action.to) not in TOLLS:
            raise InvalidActionError(f"no road leads from {here.at} to {action.to}")
        here.at = action.to
        here.log.append(f"walked to {action.to}")
        return here

    @courier.action(destructive=True)
    def deliver(here: Round, action: Deliver) -> Round:
        return here.model_copy(update={"delivered": here.delivered | {here.at}})

    @courier.goal
    def delivered(here: Round) -> bool:
        return "mill" in here.delivered

    return courier


class Lamp(BaseModel):
    lit: bool = False
    burnt: bool = False
    fuse: int = Field(2, exclude=True)


class Press(BaseModel):
    """Press the switch."""


def make_lamp() -> World:
    """Light a lamp whose state is only described in words, and whose fuse is hidden."""
    lamp = World("lamp", rules="The switch lights the lamp or puts it out.", deterministic=True)

    @lamp.action
    def press(here: Lamp, action: Press) -> Lamp:
        lit = not here.lit
        return Lamp(lit=lit, burnt=here.fuse == 0, fuse=here.fuse - 1)

    @lamp.goal
    def lit(here: Lamp) -> bool:
        return here.lit and not here.burnt

    @lamp.lost
    def burnt(here: Lamp) -> bool:
        return here.burnt

    @lamp.observe
    def see(here: Lamp) -> str:
        return "It is bright." if here.lit else "It is dark."

    return lamp
