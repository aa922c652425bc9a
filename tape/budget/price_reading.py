"""Prices as configurations have them, and what ``@tool(cost=...)`` takes: amounts, or a table or list of tables.

=============================================================  ===========================================
part                                                           price
=============================================================  ===========================================
``{usd = "0.01"}``                                             the same for every call
``{each = {...}, per = "argument", argument = "pages"}``       for each unit of a number, item of a list, or
                                                               byte of a text
``{argument = "size", values = {small = {...}}}``              by the value of an argument
``{each = {...}, per = "input_tokens"}``                       for each token of the arguments
``{each = {...}, per = "output_tokens", at_most = 500}``       for each token of the result's text
``{worst = {...}, reported = "usage.cost"}``                   what the result reports, at most the worst case
=============================================================  ===========================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tape.budget.prices import ByValue, Cost, Fixed, PerArgument, PerToken, Price, Reported, highest, unpriced
from tape.budget.resources import MOST, Resources, kind_of, kinds, money_kinds
from tape.errors import ConfigError, FieldError
from tape.reading import short

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 that count as one token where a price has no other number."""

PRICE_WORDS: Mapping[str, str] = {
    "each": "The price of a unit; goes with `per`.",
    "per": "What is counted: `argument`, `input_tokens` or `output_tokens`.",
    "argument": "The argument that is counted, or whose value is looked up in `values`.",
    "at_most": "The most units of a call. Arguments with more are refused. `output_tokens` need it.",
    "bytes_per_token": f"Bytes of UTF-8 that count as one token, {BYTES_PER_TOKEN} by default.",
    "values": "A price for each value of the argument.",
    "otherwise": "The price for other values, and where the argument is left out. By default the highest of `values`.",
    "worst": "The most that a call takes.",
    "reported": "Keys in the structured content of the result that lead to what the call took, such as `usage.cost`.",
}
"""What a part of a price may say beside amounts."""

_PER = ("argument", "input_tokens", "output_tokens")
_MOST_PARTS = 20


def read_price(given: Any, path: Sequence[str | int]) -> Price:
    """Read a price of the configuration; one that names no money takes an unknown amount of it.

    Args:
        given: One part or a list of parts, as TOML has them.
        path: Where it stands.

    Raises:
        FieldError: It is malformed; names the field.
    """
    if isinstance(given, list):
        if not 0 < len(given) <= _MOST_PARTS:
            raise FieldError(path, f"a price is one part or a list of 1 to {_MOST_PARTS}")
        parts = [_part(item, (*path, i)) for i, item in enumerate(given)]
    else:
        parts = [_part(given, path)]
    return Price((*parts, *(() if _names_money(given) else unpriced().parts)))


def _names_money(given: Any) -> bool:
    """Whether amounts of money stand anywhere in a price."""
    if isinstance(given, Mapping):
        return any(name in money_kinds() or _names_money(item) for name, item in given.items())
    return isinstance(given, list) and any(map(_names_money, given))


def read_amounts(given: Any, path: Sequence[str | int]) -> Resources:
    """Amounts by resource.

    Raises:
        FieldError: A resource is not declared, or an amount is malformed.
    """
    if not isinstance(given, Mapping):
        raise FieldError(path, f'expected amounts by resource, for instance {{ usd = "$0.01" }}, got {short(given)}')
    counts = {name: count_of(name, amount, path) for name, amount in given.items()}
    if "steps" in counts or "wall_seconds" in counts:
        name = "steps" if "steps" in counts else "wall_seconds"
        why = "every call is one of them" if name == "steps" else "it is real time; call_seconds limits it"
        raise FieldError((*path, name), f"a price does not name {name}: {why}")
    return Resources(counts)


def count_of(name: str, amount: Any, path: Sequence[str | int]) -> int:
    """The count that an amount of a resource is.

    Raises:
        FieldError: The resource is not declared, or the amount is malformed.
    """
    try:
        return kind_of(name).count(amount)
    except ConfigError as error:
        message = str(error).partition(". Use tape.budget.declare")[0].removeprefix(f"{name}: ")
        hint = f"; declare it by [resources.{name}]" if name not in kinds() else ""
        raise FieldError((*path, name), f"{message}{hint}") from None


def _part(given: Any, path: Sequence[str | int]) -> Cost:
    if not isinstance(given, Mapping):
        raise FieldError(path, f'a price is amounts by resource, for instance {{ usd = "$0.01" }}, got {short(given)}')
    if not given:
        raise FieldError(path, "it names no amount; a call that costs nothing has { usd = 0 }")
    if not given.keys() & PRICE_WORDS.keys():
        return Fixed(read_amounts(given, path))
    if "worst" in given:
        _only(given, path, "worst", "reported")
        most = read_amounts(given["worst"], (*path, "worst"))
        reported = given.get("reported", "")
        if not isinstance(reported, str):
            raise FieldError((*path, "reported"), f'expected keys such as "usage.cost", got {short(reported)}')
        return Reported(most, tuple(filter(None, reported.split("."))))
    if "values" in given:
        return _by_value(given, path)
    return _per(given, path)


def _by_value(given: Mapping[str, Any], path: Sequence[str | int]) -> Cost:
    _only(given, path, "argument", "values", "otherwise")
    values = given["values"]
    if not isinstance(values, Mapping) or not values:
        raise FieldError((*path, "values"), "expected prices by value, for instance { large = { usd = 0.02 } }")
    prices = {name: read_amounts(value, (*path, "values", name)) for name, value in values.items()}
    if "otherwise" in given:
        otherwise = read_amounts(given["otherwise"], (*path, "otherwise"))
    else:
        otherwise = highest([*prices.values()])
    return ByValue(_argument(given, path), prices, otherwise)


def _per(given: Mapping[str, Any], path: Sequence[str | int]) -> Cost:
    per = given.get("per")
    if "each" not in given or per not in _PER:
        raise FieldError(
            (*path, "per") if "per" in given else path,
            f"a price by the unit has each = {{ ... }} and per = one of {', '.join(map(repr, _PER))}",
        )
    each = read_amounts(given["each"], (*path, "each"))
    at_most = given.get("at_most")
    if at_most is not None:
        _require_whole(at_most, 0, (*path, "at_most"))
    if per == "argument":
        _only(given, path, "each", "per", "argument", "at_most")
        return PerArgument(each, _argument(given, path), at_most)
    _only(given, path, "each", "per", "at_most", "bytes_per_token")
    size = given.get("bytes_per_token", BYTES_PER_TOKEN)
    _require_whole(size, 1, (*path, "bytes_per_token"))
    if per == "output_tokens" and at_most is None:
        raise FieldError(path, "the tokens of a result are not known before the call: add at_most = their number")
    return PerToken(each, per == "output_tokens", at_most, size)


def _require_whole(number: Any, least: int, path: Sequence[str | int]) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MOST:
        raise FieldError(path, f"a whole number >= {least} and <= {MOST}, got {short(number)}")


def _argument(given: Mapping[str, Any], path: Sequence[str | int]) -> str:
    name = given.get("argument")
    if not isinstance(name, str) or not name:
        raise FieldError(path, 'name the argument by argument = "NAME"')
    return name


def _only(given: Mapping[str, Any], path: Sequence[str | int], *known: str) -> None:
    if unknown := sorted(given.keys() - set(known)):
        raise FieldError((*path, unknown[0]), f"is none of {', '.join(known)}")
