"""The cost of a tool from what ``@tool`` is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from tape.budget import Resources, kind_of, undeclared
from tape.budget.chances import Likely
from tape.budget.price_reading import PRICE_WORDS, read_price
from tape.budget.prices import Amount, ByValue, Cost, Fixed, PerArgument, PerToken, Price

Declared = Cost | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A cost, or how a configuration writes it (:mod:`tape.budget.price_reading`)."""


def declared(given: Declared) -> Cost:
    """The cost that is given.

    Raises:
        FieldError: It is malformed; names the field.
    """
    if not isinstance(given, Mapping | Sequence):
        return given
    if isinstance(given, Mapping) and not given.keys() & PRICE_WORDS.keys():
        return amounts(given)
    price = read_price(given if isinstance(given, Mapping) else [*given], ("cost",))
    exact = all(isinstance(part, Fixed) for part in price.parts)
    return Fixed(price.worst()) if exact else price


def by_table(cost: Cost) -> bool:
    """Whether a cost is read from the arguments as JSON has them, as a table in a configuration says it."""
    inner = cost.cost if isinstance(cost, Likely) else cost
    return isinstance(inner, Price | PerArgument | PerToken | ByValue)


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has no form for as its text."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="constants")


def amounts(given: Mapping[str, Amount]) -> Fixed:
    """A fixed cost from the keyword arguments of :func:`tape.tools.tool.tool`; unknown money where none is named.

    Raises:
        ConfigError: A kind is not declared, or an amount is malformed.
    """
    named = any(kind_of(name).money for name in given)
    return Fixed.of(**given) if named else Fixed(Resources.of(**given) + undeclared())
