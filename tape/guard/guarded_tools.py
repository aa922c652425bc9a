"""Tools as a guard knows them, and how they are given to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tape.budget import STEP, Resources
from tape.budget.price_reading import read_price
from tape.budget.prices import Price, unpriced
from tape.errors import FieldError
from tape.reading import short

_SETTINGS = {"price", "quality", "kind"}


@dataclass(frozen=True)
class GuardedTool:
    """A tool as a guard knows it.

    Attributes:
        name: As calls name it.
        kind: What it does; tools of one kind are interchangeable.
        price: What a call costs.
        quality: Probability that a result is what was asked for; None where it is unknown.
    """

    name: str
    kind: str
    price: Price
    quality: float | None = None

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; see :class:`~tape.budget.prices.Cost`."""
        return self.price.worst(arguments) + STEP


def guarded_tool(name: str, given: Any) -> GuardedTool:
    """Read what ``tools=`` of a guard says of a tool.

    Raises:
        FieldError: It is malformed; the message names the field.
    """
    path = ("tools", name)
    if not (isinstance(given, Mapping) and given.keys() & _SETTINGS):
        return GuardedTool(name, name, read_price(given, path))
    if unknown_keys := sorted(given.keys() - _SETTINGS):
        raise FieldError((*path, unknown_keys[0]), "unknown setting; there is price, quality and kind")
    quality, kind = given.get("quality"), given.get("kind", name)
    if quality is not None and (
        isinstance(quality, bool) or not isinstance(quality, int | float) or not 0 < quality <= 1
    ):
        raise FieldError(
            (*path, "quality"), f"expected a probability, a number above 0 and at most 1, got {short(quality)}"
        )
    if not isinstance(kind, str):
        raise FieldError((*path, "kind"), f"expected a name, got {short(kind)}")
    price = read_price(given["price"], (*path, "price")) if "price" in given else unpriced()
    return GuardedTool(name, kind, price, quality)
