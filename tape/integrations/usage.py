"""Sums of tokens as providers report them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def total(counts: Iterable[Any]) -> int | None:
    """The sum of counts; None where one of them is no count, so that the call is booked at its worst case."""
    found = 0
    for one in counts:
        if type(one) is not int or one < 0:
            return None
        found += one
    return found
