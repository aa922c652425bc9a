"""Units of an argument. Receivers differ in what they take for a number, so a text counts as the largest reading."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any

from tape.budget.resources import MOST

_AROUND = " \"'`()[]{}<>=~#"
_SEPARATOR = re.compile(r"(?<=\d)[\s'\u2019]+(?=\d)|_")
_FORMS: dict[int, re.Pattern[str]] = {
    # A number, perhaps a fraction or with a unit, as in 500px and 500n; thousands set off by points.
    10: re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)(?:/\d+|\s?[^\W\d_]{0,3}|\s?%)"),
    1000: re.compile(r"([+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?)"),
    16: re.compile(r"[+-]?(?:0x|&h|\\x)([0-9a-f]+)|[+-]?([0-9][0-9a-f]*)h"),
    8: re.compile(r"[+-]?0o([0-7]+)"),
    2: re.compile(r"[+-]?0b([01]+)"),
    60: re.compile(r"[+-]?(\d+(?::[0-5]?\d)+(?:\.\d*)?)"),  # hours and minutes, which YAML takes for a number
}
_ENDLESS = re.compile(r"[+-]?\.?(?:inf|infinity|nan|\u221e)")
_HEXADECIMAL = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?")


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
    return given.strip().casefold() == name.strip().casefold() or (
        number is not None and number == largest_number(name)
    )


def largest_number(text: str) -> Decimal | None:
    """The largest number that a whole text may be read as; infinite where it has no bound, None where it is none."""
    written = []
    for sign in unicodedata.normalize("NFKC", text).lower():
        kind = unicodedata.category(sign)
        if kind == "Nd":
            written.append(str(unicodedata.decimal(sign)))
        elif kind not in ("Cf", "Sc"):  # marks that nobody sees, and currencies
            plain = {"\u2212": "-", "\u2044": "/", "\u066b": ".", "\u066c": ","}.get(sign, sign)
            written.append(" " if kind == "Cc" else plain)
    return max(_readings(_SEPARATOR.sub("", "".join(written).strip(_AROUND))), default=None)


def _readings(text: str) -> Iterator[Decimal]:
    try:
        if _HEXADECIMAL.fullmatch(text):
            yield Decimal(float.fromhex(text))
        for base, form in _FORMS.items():
            if (match := form.fullmatch(text.replace(",", "") if base == 10 else text)) is None:
                continue
            digits = match[match.lastindex or 0]
            if base == 10:
                yield Decimal(digits)
            elif base == 1000:
                yield Decimal(digits.replace(".", "").replace(",", "."))
            elif base == 60:
                yield reduce(lambda whole, part: whole * 60 + Decimal(part), digits.split(":"), Decimal(0))
            else:
                yield Decimal(int(digits, base)) * (-1 if text.startswith("-") else 1)
    except (OverflowError, InvalidOperation):  # beyond all bounds
        yield Decimal("Infinity")
    if _ENDLESS.fullmatch(text):
        yield Decimal("Infinity")
