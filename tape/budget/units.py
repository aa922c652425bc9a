"""Amounts as people write them, read exactly: ``"$0.05"``, ``"5 cents"``, ``"250 ms"``, ``"2 min"``, ``"10k"``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from difflib import get_close_matches
from fractions import Fraction

from tape.errors import ConfigError
from tape.reading import short

MONEY = {
    **dict.fromkeys(("$", "usd", "us$", "dollar", "dollars", "us dollar", "us dollars"), Fraction(1)),
    **dict.fromkeys(("cent", "cents", "ct", "¢"), Fraction(1, 100)),
}
TIME = {
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), Fraction(1, 10**6)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), Fraction(1, 1000)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Fraction(1)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Fraction(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Fraction(3600)),
    **dict.fromkeys(("d", "day", "days"), Fraction(86400)),
}
_TABLES = (MONEY, TIME)
_A_SLIP = 0.9
"""How much alike words are of which one is the other, misspelt: ``secnds``."""
_EXAMPLES = {
    id(MONEY): "0.05, '$0.05', '0.05 usd' or '5 cents'",
    id(TIME): "1.5, '250 ms', '1.5 s', '2 min' or '1 h'",
}
_TIMES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6}

_AMOUNT = re.compile(
    r"(?P<sign>[-+]?)(?P<dollar>\$?)\s*(?P<minus>-?)"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,2})?"
    r"\s*(?:(?P<times>[kKM])(?![a-zA-Z]))?\s*(?P<unit>[^\d\s.,].*)?",
    re.DOTALL,
)
_LARGEST = 30
"""Amounts have no more digits than this before the point."""

_FINEST = 100
"""Nor after it: amounts are counted in units of their last digit."""
_LONGEST = 200
"""Characters of an amount: more are never needed, and exact arithmetic on many digits takes long."""

_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation, Overflow])


def parse_amount(kind: str, value: object, unit: str = "") -> Decimal:
    """Read an amount of a resource, exactly.

    A number is taken as it is, a float as the decimal of up to 15 digits that it stands for (so that 0.1 + 0.2 is 0.3).
    A text is a number with thousands commas or a multiplier (``"1,000"``, ``"10k"``, ``"1.5M"``), and the unit or the
    name of the resource if you like: money takes dollars and cents, time everything from ``us`` to ``days``.

    Args:
        kind: The resource, for instance ``"usd"``.
        value: The amount.
        unit: The unit that amounts of it are counted in, as `ResourceKind.unit`; empty for a kind that is not declared.

    Returns:
        The amount in that unit, >= 0.

    Raises:
        ConfigError: It is no amount, negative, or in a unit of something else; the message names what is allowed.
    """
    if isinstance(value, str):
        amount = _read(kind, value.strip(), unit) if len(value) <= _LONGEST else None
    else:
        amount = None if isinstance(value, bool) or value is None else _number(value)
    if amount is None:
        raise ConfigError(
            f"{kind}: {short(value)} is not a number of {_several(kind, unit)}; write {_examples(kind, unit)}"
        )
    if amount.is_finite() and amount.adjusted() > _LARGEST:
        raise ConfigError(f"{kind}: {short(value)} is too much; at most {_LARGEST} digits before the point")
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -_FINEST:
        raise ConfigError(f"{kind}: {short(value)} is too fine; at most {_FINEST} digits after the point")
    if not amount.is_finite() or amount < 0:
        raise ConfigError(f"{kind}: {short(value)} must be a finite number >= 0")
    return amount


def nearest(name: str, known: Iterable[str]) -> str:
    """Which of the known resources a name was probably meant for: ``" (did you mean 'usd'?)"``, or nothing."""
    listed = {text.lower(): text for text in known}
    word = name.strip().lower()
    alike = ("usd" if word in MONEY else "seconds" if word in TIME else word, *get_close_matches(word, listed, 1))
    meant = next((listed[text] for text in alike if text in listed), "")
    return f" (did you mean {meant!r}?)" if meant else ""


def alike(name: str, used: Iterable[str], declared: Iterable[str]) -> str | None:
    """The resource that an undeclared name is another spelling of, if any.

    It is a declared one in other letters (``USD``), its singular or a slip of it; or one that is used beside it, in
    other letters or by the name of a unit (``dollars`` beside ``usd``).
    """
    letters = {_singular(text): text for text in declared}
    units = {_singular(use): use for use in used if use != name}
    units |= {"usd" if word in MONEY else "second" if word in TIME else word: text for word, text in units.items()}
    word = _singular(name)
    slip = get_close_matches(word, letters, 1, _A_SLIP)
    unit = "usd" if word in MONEY else "second" if word in TIME else word
    return letters[slip[0]] if slip else units.get(unit)


def _singular(name: str) -> str:
    return name.strip().lower().removesuffix("s")


def unit_of(amount: str) -> str:
    """The unit that an amount is written in, ``$`` too; empty where it has none, or is no amount."""
    match = _AMOUNT.fullmatch(amount.strip()) if len(amount) <= _LONGEST else None
    return "" if match is None else " ".join((match["unit"] or match["dollar"] or "").lower().split())


def exactly(amount: Decimal, size: Decimal) -> Decimal | None:
    """How many times a size fits into an amount; None where that has too many digits."""
    try:
        return _EXACT.divide(amount, size)
    except (Inexact, Overflow):
        return None


def _number(value: object) -> Decimal | None:
    try:
        return Decimal(value if isinstance(value, int) else f"{value:.15g}" if type(value) is float else str(value))
    except (InvalidOperation, ValueError):
        return None


def _read(kind: str, text: str, unit: str) -> Decimal | None:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return _number(text) if text.lower().lstrip("+-") in ("inf", "infinity", "nan") else None
    named = " ".join((match["unit"] or "").split())
    size = _size(kind, named or match["dollar"], unit)
    if size is None or (match["dollar"] and named and _size(kind, "$", unit) is None):
        raise ConfigError(
            f"{kind}: {text!r} is in {named or match['dollar']!r}, not in {_several(kind, unit)}; "
            f"write {_examples(kind, unit)}"
        )
    number = Fraction(Decimal(match["number"].replace(",", "") + (match["exponent"] or "")))
    number *= size * _TIMES[match["times"] or ""] * (-1 if "-" in (match["sign"], match["minus"]) else 1)
    try:
        return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    except (Inexact, Overflow):
        raise ConfigError(
            f"{kind}: {text!r} cannot be written as a decimal number of {_several(kind, unit)}; "
            f"write {_examples(kind, unit)}"
        ) from None


def _size(kind: str, named: str, unit: str) -> Fraction | None:
    """How many of the kind's unit the named unit is; None where it measures something else."""
    # As `in_units` writes it: "5 coins of gold", "$20 of the trip".
    named = named.removesuffix(f"of {unit.partition(' of ')[2] or kind}").rstrip()
    if not named:
        return Fraction(1)
    table, base = _table(kind, unit)
    if table is not None and named.lower() in table:
        return table[named.lower()] / base
    own, _, rest = unit.partition(" of ")
    names = {text.lower() for name in (kind, own) if name for text in (name, f"{name}s", name.removesuffix("s"))}
    names |= {f"{name} of {rest}".lower() for name in (own, f"{own}s") if rest}
    return Fraction(1) if named.lower() in names else None


def _table(kind: str, unit: str) -> tuple[dict[str, Fraction] | None, Fraction]:
    """The units of what a kind measures, and the size of its own; None where it is only counted."""
    base = (unit or kind).partition(" of ")[0].lower()
    for table in _TABLES:
        if base in table:
            return table, table[base]
    return None, Fraction(1)


def _several(kind: str, unit: str) -> str:
    name, of, rest = unit.partition(" of ")
    return f"{name}s{of}{rest}" if name else kind


def _examples(kind: str, unit: str) -> str:
    table, _ = _table(kind, unit)
    return f"5000, '5k' or '5,000 {_several(kind, unit)}'" if table is None else _EXAMPLES[id(table)]
