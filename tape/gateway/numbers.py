"""What a text may be read as by whoever receives it: receivers differ in what they take for a number."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from tape.budget.resources import MOST

_AROUND = " \"'`()[]{}<>=~#"
_SEPARATOR = re.compile(r"(?<=\d)[\s'\u2019]+(?=\d)|_")
_PLAIN = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)(?:/\d+|\s?[^\W\d_]{0,3}|\s?%)")
"""A number, perhaps a fraction or with a unit, as in ``500px`` and ``500n``."""
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?")
"""With points for thousands, as much of Europe writes it."""
_RADIX = {
    16: re.compile(r"[+-]?(?:0x|&h|\\x)([0-9a-f]+)|[+-]?([0-9][0-9a-f]*)h"),
    8: re.compile(r"[+-]?0o([0-7]+)"),
    2: re.compile(r"[+-]?0b([01]+)"),
}
_HEXADECIMAL = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?")
_SIXTIES = re.compile(r"[+-]?\d+(?::[0-5]?\d)+(?:\.\d*)?")
_ENDLESS = re.compile(r"[+-]?\.?(?:inf|infinity|nan|\u221e)")


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
    """The largest number that a text as a whole may be read as; infinite where it has no bound, None where it is none.

    Read are other scripts' digits, spaces, signs, exponents, separators of thousands in any place, hexadecimal, octal
    and binary forms, hours and minutes as YAML takes them, fractions, short units, quotes and brackets around.
    """
    plain = _in_ascii(text)
    return max(_readings(plain), default=None) if plain else None


def _readings(text: str) -> Iterator[Decimal]:
    if _ENDLESS.fullmatch(text):
        yield Decimal("Infinity")
    if match := _PLAIN.fullmatch(text.replace(",", "")):
        yield _decimal(match[1])
    if _GROUPED.fullmatch(text):
        yield _decimal(text.replace(".", "").replace(",", "."))
    for base, form in _RADIX.items():
        if match := form.fullmatch(text):
            yield Decimal(int(match[match.lastindex or 0], base)) * (-1 if text.startswith("-") else 1)
    if _HEXADECIMAL.fullmatch(text):
        try:
            yield Decimal(float.fromhex(text))
        except OverflowError:
            yield Decimal("Infinity")
    if _SIXTIES.fullmatch(text):
        whole = Decimal(0)
        for part in text.lstrip("+-").split(":"):
            whole = whole * 60 + _decimal(part)
        yield whole


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is beyond all bounds
        return Decimal("Infinity")


def _in_ascii(text: str) -> str:
    """In lower case, with this script's digits, signs and points, and without what readers pass over."""
    written = []
    for sign in unicodedata.normalize("NFKC", text).lower():
        kind = unicodedata.category(sign)
        if kind == "Nd":
            written.append(str(unicodedata.decimal(sign)))
        elif kind in ("Cf", "Sc"):
            continue
        else:
            written.append(
                {"\u2212": "-", "\u2044": "/", "\u066b": ".", "\u066c": ","}.get(sign, " " if kind == "Cc" else sign)
            )
    return _SEPARATOR.sub("", "".join(written).strip(_AROUND))
