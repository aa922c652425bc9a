"""Costs, values and budgets as users write them, read exactly.

What is malformed raises a `ConfigError` that names it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from tape.budget import Budget, Resources, in_units, kind_of, kinds
from tape.budget.units import alike, parse_amount
from tape.errors import ConfigError
from tape.reading import short

Amounts = Mapping[str, Decimal]

LARGEST = 30
"""Values have no more digits than this before the point."""

MOST_FINE = 400
"""Digits after the point of the smallest value: below what a float holds."""

WIDE = Context(prec=200)
"""No amount has as many digits: nothing is rounded."""


def caps_of(budget: object) -> dict[str, Decimal]:
    """The budgets, in the units of their resources."""
    if isinstance(budget, str):
        budget = Budget.parse(budget)
    if budget is None:
        return {}
    if not isinstance(budget, Mapping):
        raise ConfigError(f'budget={budget!r}: expected amounts by resource, for instance {{"usd": "$0.05"}}')
    return _read(budget, "the budget", "leave it out where nothing caps it")


def require_apart(names: Iterable[str]) -> None:
    """Refuse two names of one resource: what takes some of it by the one would not count under the other."""
    used = list(names)
    for name in used:
        declared = {*kinds(), "value"}
        if name not in declared and (meant := alike(name, used, declared)):
            raise ConfigError(
                f"resource {name!r} is not declared (did you mean {meant!r}?): {name!r} and {meant!r} would be counted "
                "apart; use one name, or tape.budget.declare both"
            )


def as_written(budget: object) -> dict[str, str]:
    """The budgets that were written with a unit, as they were."""
    if not isinstance(budget, Mapping):
        return {}
    texts = {name: amount.strip() for name, amount in budget.items() if isinstance(amount, str)}
    return {name: amount for name, amount in texts.items() if not re.fullmatch(r"[\d.eE+-]*", amount)}


def cost_reader(cost: object, caps: Mapping[str, Decimal]) -> Callable[[Any], Amounts | None]:
    """What reads the cost of a step: its amounts by resource, or None where `cost` has no entry for it.

    Args:
        cost: A dict by step or a function, or None.
        caps: The budgets; where there is just one, a cost may be an amount of that alone.

    Raises:
        ConfigError: It is neither; the reader raises it for what is no amount.
    """
    look_up = _entries(cost, "cost")

    def read(step: Any) -> Amounts | None:
        given = look_up(step)
        if given is MISSING:
            return None
        return amounts_of(given, caps, f"the cost of step {step!r}")

    return read


def amounts_of(given: object, caps: Mapping[str, Decimal], what: str) -> dict[str, Decimal]:
    """Amounts by resource, none of them unknown."""
    if given is None:
        raise ConfigError(f"{what} is None: an unknown cost is not 0; give the most that it can be")
    if not isinstance(given, Mapping):
        if len(caps) != 1:
            raise ConfigError(f'{what} is {given!r}: name its resource, for instance {{"usd": "$0.05"}}')
        given = {next(iter(caps)): given}
    return _read(given, what, "an unknown cost is not 0; give the most that it can be")


def _read(given: Mapping[Any, Any], what: str, unknown: str) -> dict[str, Decimal]:
    """Amounts in units."""
    read: dict[str, Decimal] = {}
    for name, amount in given.items():
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{what}: {name!r} is no name of a resource")
        if amount is None:
            raise ConfigError(f"{what} in {name} is None: {unknown}")
        if isinstance(given, Budget | Resources):  # these hold counts
            read[name] = kind_of(name).amount(amount) if name in kinds() else Decimal(amount)
        else:
            try:
                read[name] = parse_amount(name, amount, kind_of(name).unit if name in kinds() else "")
            except ConfigError as error:
                raise ConfigError(f"{what}: {error}") from None
    return read


def value_reader(value: object) -> Callable[[Any], Fraction]:
    """What reads the value of a step; 0 where a dict has no entry for it."""
    look_up = _entries(value, "value")

    def read(step: Any) -> Fraction:
        given = look_up(step)
        return Fraction(0) if given is MISSING else number(given, f"the value of step {step!r}")

    return read


def number(given: object, what: str) -> Fraction:
    """A finite number as the decimal that it is written as; a float has up to 15 digits."""
    if isinstance(given, Fraction) and abs(given) < 10**LARGEST and given.denominator < 10**LARGEST:
        return given
    try:
        if isinstance(given, bool | str):
            read = None
        elif isinstance(given, int):
            read = Decimal(given)
        else:
            read = Decimal(f"{given:.15g}" if type(given) is float else str(given))
    except (InvalidOperation, ValueError):
        read = None
    if read is None or not read.is_finite() or not -MOST_FINE <= read.adjusted() <= LARGEST:
        raise ConfigError(
            f"{what} must be a finite number (of at most {LARGEST} digits before the point), got {short(given)}"
        )
    return Fraction(read)


MISSING = object()


def _entries(given: object, what: str) -> Callable[[Any], object]:
    """A dict or function of steps as a function, which gives MISSING where a dict has no entry."""
    if given is None:
        return lambda _: MISSING
    if isinstance(given, Mapping):
        table = given

        def look_up(step: Any) -> object:
            try:
                return table.get(step, MISSING)
            except TypeError:
                raise ConfigError(f"step {step!r} cannot be looked up in a dict; give {what}= as a function") from None

        return look_up
    if callable(given):
        return given
    raise ConfigError(f"{what}={given!r}: expected a dict by step, or a function of a step")


def whole(gains: Sequence[Fraction]) -> list[int]:
    """Numbers in their largest common unit."""
    unit = math.lcm(*(gain.denominator for gain in gains))
    whole = [int(gain * unit) for gain in gains]
    shared = math.gcd(*whole) or 1
    return [index // shared for index in whole]


def digits(amounts: Iterable[Decimal]) -> int:
    """How many digits after the point are needed to write all of them."""
    exponents = (amount.normalize(WIDE).as_tuple().exponent for amount in amounts)
    return max((-index for index in exponents if isinstance(index, int)), default=0)


def written(name: str, amount: Decimal) -> str:
    """An amount as people read it: ``$0.05``, ``10,000 tokens``."""
    if name in kinds():
        count = WIDE.divide(amount, kind_of(name).resolution)
        if count == count.to_integral_value():
            return in_units(name, int(count))
    return f"{plain(amount):,f} {name}"


def told_apart(better: float, worse: float) -> tuple[str, str]:
    """Two values as people read them, in as many digits as tell them apart."""
    digits = 12 if f"{better:.12g}" != f"{worse:.12g}" else 17
    return f"{better:.{digits}g}", f"{worse:.{digits}g}"


def plain(amount: Decimal) -> Decimal:
    """An amount without zeros at its end, and without an exponent."""
    short = amount.normalize(WIDE)
    exponent = short.as_tuple().exponent
    return short.quantize(Decimal(1), context=WIDE) if isinstance(exponent, int) and exponent > 0 else short
