"""Units of an argument. Receivers differ in what they take for a number, so a text counts as the largest reading."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import reduce
from typing import Any

from tape.budget.resources import MOST
from tape.errors import ChargeError

_SIXTIES = re.compile(r"[+-]?(\d+(?::[0-5]?\d)+(?:\.\d*)?)")
"""Hours and minutes, which YAML takes for a number."""


def units_of(value: Any, text: bool) -> int | None:
    """Units of an argument: the number itself, items of a list, bytes of a text; None where there are none to count.

    A text that may be read as a number has as many as the largest reading, unless it is a text by the schema.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return math.ceil(value) if math.isfinite(value) and 0 <= value <= MOST else None
    if isinstance(value, str):
        size = len(value.encode("utf-8", "replace"))
        number = None if text else largest_number(value)
        if number is None:
            return size
        return max(size, math.ceil(number)) if number <= MOST else None
    return len(value) if isinstance(value, list | dict) else None


def may_be(given: str, name: str) -> bool:
    """Whether a receiver may take one value for another: in other case, or the same number written otherwise."""
    number = largest_number(given)
    alike = given.strip().casefold() == name.strip().casefold()
    return alike or (number is not None and number == largest_number(name))


def largest_number(text: str) -> int | float | None:
    """The number that Python, JSON or YAML may read a whole text as; infinite where it has no bound, None for none."""
    plain = text.strip().replace("_", "").replace(",", "")
    with suppress(ValueError):
        return int(plain, 0)  # 0x1f4, 0b101 and 0o17 too
    with suppress(ValueError):
        number = float(re.sub(r"^([+-]?)\.(?=[a-z])", r"\1", plain, flags=re.IGNORECASE))  # YAML has .inf and .nan
        return number if math.isfinite(number) else math.inf
    if match := _SIXTIES.fullmatch(plain):
        return reduce(lambda whole, part: whole * 60 + float(part), match[1].split(":"), 0.0)
    return None


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a call cannot change: a tool may empty the very list that its price counts.

    Raises:
        ChargeError: They hold themselves, or are too deep.
    """
    try:
        return {name: _copied(value) for name, value in arguments.items()}
    except RecursionError:
        raise ChargeError("the arguments hold themselves, or are too deep") from None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    if isinstance(value, set):
        return set(value)
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value
