"""What a call costs by the configuration: the sum of parts, each with a worst case that the arguments may tighten.

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

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tape.budget import STEP, Resources, kind_of, kinds, money_kinds, undeclared
from tape.budget.resources import MOST
from tape.errors import ConfigError
from tape.guard.errors import ChargeError, FieldError
from tape.guard.numbers import may_be, units_of
from tape.guard.quotes import Answer, Part, Quote, copied
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
_MISSING = object()


@dataclass(frozen=True)
class Fixed(Part):
    """The same for every call."""

    amounts: Resources

    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The same."""
        del arguments
        return self.amounts


@dataclass(frozen=True)
class PerArgument(Part):
    """So much for each unit of an argument.

    Attributes:
        each: The price of a unit.
        argument: Its name.
        at_most: Units of the largest call; one with more is refused. None: no limit.
        default: The schema's default, which the server takes where the argument is left out.
        text: Whether it is a text by the schema.
    """

    each: Resources
    argument: str
    at_most: int | None
    default: Any = _MISSING
    text: bool = False

    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The price of the units that are asked for."""
        if arguments is None:
            return _times(self.each, self.at_most)
        value = arguments.get(self.argument, self.default)
        if value is _MISSING:  # the server takes what it likes
            return _times(self.each, self.at_most)
        units = units_of(value, self.text)
        if units is None:
            raise ChargeError(
                f"the argument {self.argument} is priced by the unit, and {short(value)} has none, or may be read as "
                "more than can be counted"
            )
        if self.at_most is not None and units > self.at_most:
            raise ChargeError(f"the argument {self.argument} has {units} units; at most {self.at_most} are priced")
        return _times(self.each, units)


@dataclass(frozen=True)
class ByValue(Part):
    """A price for each value of an argument.

    Attributes:
        argument: Its name.
        values: Prices by value, written as a text.
        otherwise: For any other value, or none.
    """

    argument: str
    values: Mapping[str, Resources] = field(hash=False)
    otherwise: Resources

    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The price of the value, and of what a receiver may take it for; of any call the highest of each resource."""
        if arguments is None:
            return highest([*self.values.values(), self.otherwise])
        value = arguments.get(self.argument)
        name = value if isinstance(value, str) else written(value)
        if name in self.values:
            return self.values[name]
        return highest([self.otherwise, *(price for key, price in self.values.items() if may_be(name, key))])


@dataclass(frozen=True)
class PerToken(Part):
    """So much for each token of the arguments, as JSON, or of the result's text.

    Attributes:
        each: The price of a token.
        output: Of the result; else of the arguments.
        at_most: Tokens of the largest call. Arguments with more are refused; a result with more is paid in full.
        size: Bytes of a token.
    """

    each: Resources
    output: bool
    at_most: int | None
    size: int

    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The price of the arguments, or of the longest result."""
        if self.output or arguments is None:
            return _times(self.each, self.at_most)
        tokens = self._tokens(written(arguments))
        if self.at_most is not None and tokens > self.at_most:
            raise ChargeError(f"the arguments have {tokens} tokens; at most {self.at_most} are priced")
        return _times(self.each, tokens)

    def actual(self, worst: Resources, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """The price of the tokens that were."""
        del arguments
        return _times(self.each, self._tokens(answer.text)) if self.output else worst

    def _tokens(self, text: str) -> int:
        return -(-len(text.encode("utf-8", "replace")) // self.size)


@dataclass(frozen=True)
class Reported(Part):
    """What the server reports; the worst case where it reports nothing that can be read.

    Attributes:
        most: The worst case.
        path: Keys in the structured content: to amounts by resource, in units, or to the amount of the only resource.
    """

    most: Resources
    path: tuple[str, ...]

    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The declared one."""
        del arguments
        return self.most

    def actual(self, worst: Resources, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What is reported."""
        del worst, arguments
        found = answer.structured
        for key in self.path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            found = {next(iter(self.most)): found} if len(self.most) == 1 else {}
        counts: dict[str, int | None] = {}
        for name, most in self.most.items():
            try:
                # A report finer than what is counted is rounded up.
                amount = kind_of(name).resolution
                counts[name] = math.ceil(round(float(found[name]) / float(amount), 6))
                if isinstance(found[name], bool) or not 0 <= (counts[name] or 0) <= MOST:
                    counts[name] = most
            except (KeyError, TypeError, ValueError, OverflowError):
                counts[name] = most
        return Resources(counts)


@dataclass(frozen=True)
class Price:
    """The price of a tool: the sum of its parts, and one of ``steps``."""

    parts: tuple[Part, ...]

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; see :class:`Part`."""
        return sum((part.worst(arguments) for part in self.parts), STEP)

    def quote(self, arguments: Mapping[str, Any]) -> Quote:
        """What one call takes.

        Raises:
            ChargeError: The arguments are beyond what the price was declared for.
        """
        kept = copied(arguments)
        return Quote(kept, tuple((part, part.worst(kept)) for part in self.parts))

    def with_schema(self, schema: Any) -> Price:
        """The same with the defaults of a tool's arguments, which count where an argument is left out."""
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        properties = properties if isinstance(properties, Mapping) else {}
        parts: list[Part] = []
        for part in self.parts:
            if isinstance(part, PerArgument):
                schema = properties.get(part.argument)
                schema = schema if isinstance(schema, Mapping) else {}
                default, text = schema.get("default", _MISSING), schema.get("type") == "string"
                parts.append(PerArgument(part.each, part.argument, part.at_most, default, text))
            else:
                parts.append(part)
        return Price(tuple(parts))


def unpriced() -> Price:
    """The price of a tool that declares none: an unknown amount of money (:func:`tape.budget.undeclared`)."""
    return Price((Fixed(undeclared()),))


def highest(several: Sequence[Resources]) -> Resources:
    """The largest amount of each resource; unknown where one is."""
    names = {name for amounts in several for name in amounts}
    found: dict[str, int | None] = {}
    for name in names:
        counts = [amounts[name] for amounts in several]
        found[name] = None if None in counts else max(count or 0 for count in counts)
    return Resources(found)


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
        parts = [_part(one, (*path, i)) for i, one in enumerate(given)]
    else:
        parts = [_part(given, path)]
    return Price((*parts, *(() if _names_money(given) else unpriced().parts)))


def _names_money(given: Any) -> bool:
    """Whether amounts of money stand anywhere in a price."""
    if isinstance(given, Mapping):
        return any(name in money_kinds() or _names_money(one) for name, one in given.items())
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


def _part(given: Any, path: Sequence[str | int]) -> Part:
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


def _by_value(given: Mapping[str, Any], path: Sequence[str | int]) -> Part:
    _only(given, path, "argument", "values", "otherwise")
    values = given["values"]
    if not isinstance(values, Mapping) or not values:
        raise FieldError((*path, "values"), "expected prices by value, for instance { large = { usd = 0.02 } }")
    prices = {name: read_amounts(one, (*path, "values", name)) for name, one in values.items()}
    if "otherwise" in given:
        otherwise = read_amounts(given["otherwise"], (*path, "otherwise"))
    else:
        otherwise = highest([*prices.values()])
    return ByValue(_argument(given, path), prices, otherwise)


def _per(given: Mapping[str, Any], path: Sequence[str | int]) -> Part:
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


def _times(each: Resources, units: int | None) -> Resources:
    return Resources(
        {name: None if units is None or count is None else min(count * units, MOST) for name, count in each.items()}
    )


def written(value: Any) -> str:
    """An argument or all of them as JSON.

    Raises:
        ChargeError: They cannot be written so.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        raise ChargeError(f"the price depends on arguments that cannot be written as JSON: {short(value)}") from None
