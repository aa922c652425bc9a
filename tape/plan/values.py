"""Computing with values of programs: JSON, within bounds, so that no program takes long or much memory.

What has no value, or one beyond the bounds, raises a `FailedError`, which says why in words for the model.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tape.plan.checks import LARGEST_NUMBER, LONGEST_TEXT

MOST_ITEMS = 1_000
"""Items that a comprehension goes over, and of a list that is computed."""
NO_LIST = "it is one record and no list of records"
"""Why a comprehension cannot go over a dict."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")


class FailedError(Exception):
    """A value cannot be computed; the message says why, for the model."""


def binary(symbol: str, left: Any, right: Any) -> Any:
    """The value of an operator."""
    if symbol == "+" and isinstance(left, str) and isinstance(right, str):
        return text_within(left + right)
    if symbol == "+" and isinstance(left, list) and isinstance(right, list):
        return _within(left + right)
    for value in (left, right):
        if not isinstance(value, int | float):
            raise FailedError(f"{symbol} takes numbers, got {kind(left)} and {kind(right)}")
    if symbol == "**":
        return _power(left, right)
    try:
        return number(_ARITHMETIC[symbol](left, right))
    except ZeroDivisionError:
        raise FailedError("division by zero") from None
    except OverflowError:
        raise FailedError(f"the result of {symbol} is too large") from None


def _power(base: Any, exponent: Any) -> Any:
    """A power, whose size is known before it is computed."""
    if abs(exponent) > 1_000 or (abs(base) > 1 and math.log10(abs(base)) * exponent > 300):
        raise FailedError("the result of ** is too large")
    try:
        result = base**exponent
    except (ZeroDivisionError, OverflowError) as error:
        raise FailedError(f"** has no value here: {error}") from None
    if isinstance(result, complex):
        raise FailedError("** of a negative number has no value here")
    return number(result)


def negative(value: Any) -> Any:
    """The value of a unary minus."""
    if not isinstance(value, int | float):
        raise FailedError(f"- takes a number, got {kind(value)}")
    return -value


def compare(node: str, left: Any, right: Any) -> bool:
    """The value of a comparison, by the name of its class in ``ast``."""
    if node in ("Eq", "NotEq", "Is", "IsNot"):
        return bool(left == right) == (node in ("Eq", "Is"))
    if node in ("In", "NotIn"):
        if not isinstance(right, list | dict | str) or (isinstance(right, str) and not isinstance(left, str)):
            raise FailedError(f"`in` takes a list, a dict or a text, got {kind(left)} in {kind(right)}")
        if isinstance(right, dict) and not isinstance(left, str):
            return node == "NotIn"
        return (left in right) == (node == "In")
    comparable([left, right])
    return bool(_ORDERS[node](left, right))


def comparable(values: Sequence[Any]) -> None:
    """Check that values have an order."""
    if not all(isinstance(value, int | float) for value in values) and not all(
        isinstance(value, str) for value in values
    ):
        kinds = sorted({kind(value) for value in values})
        raise FailedError(f"numbers are compared with numbers and texts with texts, got {' and '.join(kinds)}")


def item(value: Any, key: Any) -> Any:
    """A part of a list, a text or a dict."""
    if isinstance(value, dict):
        if not isinstance(key, str) or key not in value:
            keys = ", ".join(json.dumps(name) for name in list(value)[:20])
            if isinstance(key, int):
                raise FailedError(f"it is one row and no list; take a part by its key: {keys}")
            raise FailedError(f"there is no key {json.dumps(key)[:100]}; there is {keys or 'none'}")
        return value[key]
    if isinstance(value, list | str):
        if not isinstance(key, int) or isinstance(key, bool):
            first = (
                f"; take one of the list first, as in x[0][{json.dumps(key)[:60]}]" if isinstance(value, list) else ""
            )
            raise FailedError(f"a part of {kind(value)} is taken by a whole number, got {kind(key)}{first}")
        if not -len(value) <= key < len(value):
            raise FailedError(f"there is no item {key}; there are {len(value)}")
        return value[key]
    if value is None:
        raise FailedError("it is None: the call has found nothing; ask for it in other words")
    raise FailedError(f"{kind(value)} has no parts")


def part(value: Any, low: Any, high: Any, step: Any) -> Any:
    """A slice of a list or a text."""
    if not isinstance(value, list | str):
        raise FailedError(f"{kind(value)} has no slices")
    for bound in (low, high, step):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
            raise FailedError("the bounds of a slice are whole numbers")
    if step == 0:
        raise FailedError("the step of a slice is not 0")
    return value[slice(low, high, step)]


def items(value: Any) -> list[Any]:
    """What a comprehension goes over: no dict, since a model that goes over one means a list of them."""
    if isinstance(value, dict):
        raise FailedError(NO_LIST)
    if not isinstance(value, list):
        raise FailedError(f"a comprehension goes over a list, got {kind(value)}")
    return _within(value)


def formatted(value: Any, spec: str) -> str:
    """A value within a text."""
    if not spec:
        return as_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FailedError(f"the format {spec} is for numbers, got {kind(value)}")
    return text_within(format(value, spec))


def as_text(value: Any) -> str:
    """A value as a text: texts as they are, lists and dicts as JSON."""
    if isinstance(value, list | dict):
        return text_within(json.dumps(value, ensure_ascii=False))
    return text_within(str(value))


def function(name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The value of a function that costs nothing."""
    first = arguments[0]
    match name:
        case "str":
            return as_text(first)
        case "int":
            return _int(first)
        case "float":
            return _float(first)
        case "round":
            return _round(first, arguments[1] if len(arguments) > 1 else None)
        case "len":
            if not isinstance(first, list | dict | str):
                raise FailedError(f"len takes a list, a dict or a text, got {kind(first)}")
            return len(first)
        case "sum":
            return _sum(first)
        case "sorted":
            values, keys = _keyed(_list(name, first), named)
            order = sorted(range(len(values)), key=keys.__getitem__, reverse=bool(named.get("reverse", False)))
            return [values[place] for place in order]
    values = list(arguments) if len(arguments) > 1 else _list(name, first)
    if not values:
        if "default" in named:
            return named["default"]
        raise FailedError(f"{name} of nothing; give default=...")
    values, keys = _keyed(values, named)
    return values[(max if name == "max" else min)(range(len(values)), key=keys.__getitem__)]


def _keyed(values: list[Any], named: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Values, and what they are compared by."""
    keys = named.get("key", values)
    comparable(keys)
    return values, keys


def size(value: Any, most: int) -> int:
    """How many values a value holds, itself included; stops counting above ``most``.

    Lists may share their items, so a short program can build what is too large to be written out.
    """
    counted, waiting = 0, [value]
    while waiting and counted <= most:
        inner = waiting.pop()
        counted += 1
        if isinstance(inner, list | dict):
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return counted


def number(value: Any) -> Any:
    """A number within the bounds."""
    if isinstance(value, float) and not math.isfinite(value):
        raise FailedError("the result is no finite number")
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        raise FailedError("the result has more than 30 digits")
    return value


def text_within(text: str) -> str:
    """A text within the bounds."""
    if len(text) > LONGEST_TEXT:
        raise FailedError(f"a text has at most {LONGEST_TEXT} characters, this one {len(text)}")
    return text


def kind(value: Any) -> str:
    """What a value is, in words."""
    return _KINDS.get(type(value), type(value).__name__)


def _within(values: list[Any]) -> list[Any]:
    if len(values) > MOST_ITEMS:
        raise FailedError(f"there are {len(values)} items, and at most {MOST_ITEMS} are gone over")
    return values


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FailedError(f"{name} takes a list, got {kind(value)}")
    return value


def _int(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value.strip())
    if not isinstance(value, int | float):
        raise FailedError(f"int takes a number, got {kind(value)} {json.dumps(value)[:60]}")
    result: int = number(int(value))
    return result


def _float(value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value.strip())
    if not isinstance(value, int | float):
        raise FailedError(f"float takes a number, got {kind(value)} {json.dumps(value)[:60]}")
    result: float = number(float(value))
    return result


def _round(value: Any, digits: Any) -> Any:
    if not isinstance(value, int | float):
        raise FailedError(f"round takes a number, got {kind(value)}")
    if digits is not None and (not isinstance(digits, int) or not -30 <= digits <= 12):
        raise FailedError("round takes -30 to 12 digits")
    return number(round(value, digits))


def _sum(value: Any) -> Any:
    total: Any = 0
    for term in _list("sum", value):
        total = binary("+", total, term)
    return total


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
_KINDS: Mapping[type, str] = {
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a dict",
}
