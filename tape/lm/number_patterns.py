"""Regular expressions for the numbers between two bounds, as JSON writes them without an exponent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from tape.errors import ConstraintError

BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
"""The keywords of JSON schemas that bound numbers."""

MOST_VALUES = 1000
"""Most multiples of a number that are listed."""

LARGEST = 10**30
"""A bound is smaller."""

_EXACT = Context(prec=150)
"""More digits than a sum or product of such numbers has."""

DIGITS = 15
"""Decimal digits that a double keeps: what is written with no more is read back as what was written, so a number that
keeps a bound here keeps it where it is read."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, as a JSON schema states them.

    Attributes:
        low, high: The least and the greatest; None where there is none.
        open_low, open_high: Whether it must be greater than ``low``, less than ``high``.
        step: It is a multiple of this; None where that is not asked for.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    open_low: bool = False
    open_high: bool = False
    step: Fraction | None = None

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Bounds:
        """Read them.

        Args:
            stated: Values by keyword of :data:`BOUNDS`.

        Raises:
            ConstraintError: One is no finite number below :data:`LARGEST`, or ``multipleOf`` is not above 0.
        """
        read = {name: _number(name, value) for name, value in stated.items()}
        low, high = read.get("minimum"), read.get("maximum")
        above, below, step = read.get("exclusiveMinimum"), read.get("exclusiveMaximum"), read.get("multipleOf")
        if step is not None and step <= 0:
            raise ConstraintError(f"multipleOf is above 0, got {_plain(step)}")
        open_low = above is not None and (low is None or above >= low)
        open_high = below is not None and (high is None or below <= high)
        return cls(above if open_low else low, below if open_high else high, open_low, open_high, step)

    def __str__(self) -> str:
        stated = (
            ("exclusiveMinimum" if self.open_low else "minimum", self.low),
            ("exclusiveMaximum" if self.open_high else "maximum", self.high),
            ("multipleOf", self.step),
        )
        return ", ".join(f"{name} {_plain(value)}" for name, value in stated if value is not None)

    def admit(self, value: float) -> bool:
        """Whether a number keeps them."""
        number = Fraction(repr(value))
        if self.low is not None and (number < self.low or (self.open_low and number == self.low)):
            return False
        if self.high is not None and (number > self.high or (self.open_high and number == self.high)):
            return False
        return self.step is None or number % self.step == 0

    def pattern(self, *, whole: bool) -> str:
        """The regular expression of the numbers that keep them.

        Args:
            whole: Whether they are whole numbers.

        Raises:
            ConstraintError: There is none, or they are multiples of a number of which too many would be listed.
        """
        whole = whole or self.step == 1
        if self.step is not None and self.step != 1:
            found = [*self._multiples(self.step, whole)]
        else:
            found = [*(_whole(*self._whole_ends()) if whole else self._decimals())]
        if not found:
            raise ConstraintError(f"no {'whole ' if whole else ''}number keeps {self}; change the bounds")
        return "|".join(found)

    def _multiples(self, step: Fraction, whole: bool) -> Iterator[str]:
        if self.low is None or self.high is None or (self.high - self.low) / step > MOST_VALUES:
            raise ConstraintError(
                f"multipleOf {_plain(step)} is enforced where minimum and maximum leave at most {MOST_VALUES} values; "
                "leave it out and check the answer, or narrow the bounds"
            )
        for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            value = number * step
            ends = (self.open_low and value == self.low) or (self.open_high and value == self.high)
            if not ends and not (whole and value.denominator > 1):
                yield _plain(value).replace(".", r"\.")

    def _whole_ends(self) -> tuple[int | None, int | None]:
        low = None if self.low is None else math.floor(self.low) + 1 if self.open_low else math.ceil(self.low)
        high = None if self.high is None else math.ceil(self.high) - 1 if self.open_high else math.floor(self.high)
        return low, high

    def _decimals(self) -> Iterator[str]:
        zero = Fraction(0)
        if self.low is None or self.low < 0:
            near, far = (zero, True), (None if self.low is None else -self.low, self.open_low)
            if self.high is not None and self.high < 0:
                near = (-self.high, self.open_high)
            yield from ("-" + part for part in _between(*near, *far))
        if self.high is None or self.high >= 0:
            near = (zero, False) if self.low is None or self.low < 0 else (self.low, self.open_low)
            yield from _between(*near, self.high, self.open_high)


def _number(name: str, value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConstraintError(f"{name} is a number, got {str(value)[:100]!r}")
    if value and not 1 / LARGEST < abs(value) < LARGEST:  # nor is what is no number
        raise ConstraintError(f"{name} is {str(value)[:40]}; bounds of a size between 1e-30 and 1e30 are enforced")
    return Fraction(repr(value))


def _plain(value: Fraction) -> str:
    """A decimal number without exponent, and without zeros that say nothing."""
    text = f"{_EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _whole(low: int | None, high: int | None) -> Iterator[str]:
    """Alternatives for the whole numbers between two, both included."""
    if low is None or low < 0:
        near = 1 if high is None or high >= 0 else -high
        yield from ("-" + part for part in _naturals(near, None if low is None else -low))
    if high is None or high >= 0:
        yield from _naturals(max(low or 0, 0), high)


def _naturals(low: int, high: int | None) -> Iterator[str]:
    """Alternatives for the whole numbers from ``low`` >= 0 on."""
    if high is not None and high < low:
        return
    first = len(str(low))
    last = first if high is None else len(str(high))
    if first == last and high is not None:
        yield from _alike(str(low), str(high))
        return
    yield from _alike(str(low), "9" * first)
    if high is None:
        yield f"[1-9][0-9]{{{first},}}"
        return
    if last - first > 1:
        yield f"[1-9][0-9]{{{first},{last - 2}}}"
    yield from _alike("1" + "0" * (last - 1), str(high))


def _alike(low: str, high: str) -> Iterator[str]:
    """Alternatives for the digits between two rows of equally many."""
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b), len(low))
    prefix, low, high = low[:same], low[same:], high[same:]
    if not low:
        yield prefix
        return
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        yield prefix + _digit(int(low[0]), int(high[0])) + _any(len(low) - 1)
        return
    if set(low[1:]) <= {"0"}:
        yield from ([prefix + _digit(int(low[0]), int(high[0]) - 1) + _any(len(low) - 1)])
    else:
        for i in range(len(low) - 1, 0, -1):
            if low[i] != "9":
                yield prefix + low[:i] + _digit(int(low[i]) + 1, 9) + _any(len(low) - 1 - i)
        yield prefix + low
        if int(high[0]) - int(low[0]) > 1:
            yield prefix + _digit(int(low[0]) + 1, int(high[0]) - 1) + _any(len(low) - 1)
    for i in range(1, len(high)):
        if high[i] != "0":
            yield prefix + high[:i] + _digit(0, int(high[i]) - 1) + _any(len(high) - 1 - i)
    yield prefix + high


def _digit(low: int, high: int) -> str:
    return str(low) if low == high else f"[{low}-{high}]"


def _any(count: int) -> str:
    return "" if count == 0 else "[0-9]" if count == 1 else f"[0-9]{{{count}}}"


def _between(low: Fraction, open_low: bool, high: Fraction | None, open_high: bool) -> Iterator[str]:
    """Alternatives for the decimal numbers from ``low`` >= 0 on."""
    if high is not None and high < low:
        return
    (least, after), (most, until) = _split(low), _split(low if high is None else high)
    if high is not None and least == most:
        places = max(_places(least), len(after), len(until))
        yield from _with_point(str(least), _fraction(after, open_low, until, open_high, places))
        return
    yield from _with_point(str(least), _fraction(after, open_low, None, False, _places(least, after)))
    if high is None:
        yield from (part + _FREE for part in _naturals(least + 1, None))
        return
    # Just below a number that is excluded, what is written with more digits would be read as that number.
    below = most - 1 if open_high and not until and least < most - 1 else most
    yield from (part + _FREE for part in _naturals(least + 1, below - 1))
    if below < most:
        yield from _with_point(str(below), _fraction("", False, None, False, _places(below)))
    yield from _with_point(str(most), _fraction("", False, until, open_high, _places(most, until)))


_FREE = f"(?:\\.[0-9]{{1,{DIGITS}}})?"


def _places(whole: int, digits: str = "") -> int:
    """Most digits behind the point of a number, as many as a bound has at least."""
    return max(DIGITS - len(str(whole)), len(digits), 0)


def _split(value: Fraction) -> tuple[int, str]:
    """The whole part, and the digits behind the point without zeros at the end."""
    whole, _, digits = _plain(value).partition(".")
    return int(whole), digits


_Digits = tuple[bool, str]
"""Whether no digit at all is right, and the pattern of one or more; empty where none are."""


def _with_point(whole: str, digits: _Digits) -> Iterator[str]:
    none, some = digits
    if some:
        yield f"{whole}(?:\\.(?:{some}))?" if none else f"{whole}\\.(?:{some})"
    elif none:
        yield whole


def _fraction(low: str, open_low: bool, high: str | None, open_high: bool, places: int) -> _Digits:
    """The digits behind a point of numbers between two in [0, 1).

    Args:
        low: The digits of the least, without zeros at the end.
        open_low: Whether it must be greater.
        high: Those of the greatest; None: any.
        open_high: Whether it must be less.
        places: Most digits.
    """
    none = not low and not open_low and not (high == "" and open_high)
    if places == 0 or (high == "" and (low or open_low or open_high)):
        return none, ""
    if not low and high is None:
        # Zeros count among the digits: many of them are nothing to whoever reads the number as a double.
        after = (f"0{{{zeros}}}[1-9][0-9]{{0,{places - 1 - zeros}}}" for zeros in range(places))
        return none, "|".join(after) if open_low else f"[0-9]{{1,{places}}}"
    if not low and high == "":
        return none, f"0{{1,{places}}}"
    first, last = int(low[:1] or 0), 10 if high is None else int(high[:1] or 0)
    parts: list[str] = []

    def add(digit: int, rest: _Digits) -> None:
        empty, more = rest
        if more:
            parts.append(f"{digit}(?:{more})?" if empty else f"{digit}(?:{more})")
        elif empty:
            parts.append(str(digit))

    if first == last:
        assert high is not None
        add(first, _fraction(low[1:], open_low, high[1:], open_high, places - 1))
        return none, "|".join(parts)
    add(first, _fraction(low[1:], open_low, None, False, places - 1))
    if last - first > 1:
        parts.append(_digit(first + 1, last - 1) + (f"[0-9]{{0,{places - 1}}}" if places > 1 else ""))
    if high is not None:
        add(last, _fraction("", False, high[1:], open_high, places - 1))
    return none, "|".join(parts)
