"""How much an argument of a call is, for prices by the unit."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

from tape.budget.resources import MOST
from tape.gateway.errors import ChargeError
from tape.reading import short


def written(value: Any) -> str:
    """An argument or all of them as JSON.

    Raises:
        ChargeError: They cannot be written so.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        raise ChargeError(f"the price depends on arguments that cannot be written as JSON: {short(value)}") from None


def units_of(value: Any, text: bool) -> int | None:
    """Units of an argument: the number itself, items of a list, bytes of a text; None where there are none.

    A text that reads as a number may be taken for it, "9" for 9, unless the schema says that it is a text.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return math.ceil(value) if math.isfinite(value) and 0 <= value <= MOST else None
    if isinstance(value, str):
        size = len(value.encode("utf-8", "replace"))
        with suppress(ValueError):
            number = 0.0 if text else float(value)
            return max(size, math.ceil(number)) if math.isfinite(number) and number <= MOST else None
        return size
    return len(value) if isinstance(value, list | dict) else None
