"""The world of the worked examples in prompts: two beds to be watered, and what is to be answered about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

RULES = "The can holds water for one bed. The goal is that both beds are watered."


class Garden(BaseModel):
    """What is known of the garden."""

    can: Literal["empty", "full"] = Field("empty", description="whether there is water in the can")
    watered: list[Literal["beans", "peas"]] = Field([], description="the beds that are watered")


class Fill(BaseModel):
    """Fill the can at the tap; it must be empty."""


class Pour(BaseModel):
    """Pour the can over a bed; it must be full."""

    bed: Literal["beans", "peas"]


def _pour(bed: str) -> dict[str, Any]:
    return {"name": "Pour", "arguments": {"bed": bed}}


START = Garden(can="full", watered=["beans"])
"""The state that is asked about."""

DONE = Garden(can="empty", watered=["beans", "peas"])
EMPTY = Garden(can="empty", watered=["beans"])
ACTIONS = ('Pour(bed="peas")',)
SEEN = "The peas are wet now, and the can is light."

PLAN: Mapping[str, Any] = {
    "thought": "The can is empty and only the peas are dry: fill it, then pour it over the peas.",
    "actions": [{"name": "Fill", "arguments": {}}, _pour("peas")],
}
ACT: Mapping[str, Any] = {
    "thought": "Only the peas are dry, and the can is full.",
    "action": _pour("peas"),
}
AFTER: Mapping[str, Any] = {"can": "empty", "watered": ["beans", "peas"]}
READ: Mapping[str, Any] = {"quote": SEEN, "state": AFTER}
