"""The cost of a tool from what ``@tool`` is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tape.budget import Resources, kind_of, undeclared
from tape.budget.price_reading import read_price
from tape.budget.prices import Amount, Cost, Fixed

Declared = Cost | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A cost, or how a configuration writes it (:mod:`tape.budget.price_reading`)."""


def declared(given: Declared) -> Cost:
    """The cost that is given.

    Raises:
        FieldError: It is malformed; names the field.
    """
    return read_price(given, ("cost",)) if isinstance(given, Mapping | Sequence) else given


def amounts(given: Mapping[str, Amount]) -> Fixed:
    """A fixed cost from the keyword arguments of :func:`tape.tools.tool.tool`; unknown money where none is named.

    Raises:
        ConfigError: A kind is not declared, or an amount is malformed.
    """
    named = any(kind_of(name).money for name in given)
    return Fixed.of(**given) if named else Fixed(Resources.of(**given) + undeclared())
