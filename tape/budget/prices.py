"""What calls cost, for tools, guards and gateways alike: each cost has a worst case, and says what a call took.

A cost is the same for every call (:class:`Fixed`), by the unit (:class:`PerUnit`, :class:`PerArgument`,
:class:`PerToken`), by a value (:class:`ByValue`) or what a result reports (:class:`Reported`); :class:`Price` is a sum.
How configurations write them is in ``price_reading.py``; what varies by chance is in ``chances.py``.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from tape.budget.numbers import copied, may_be, units_of
from tape.budget.resources import MOST, STEP, Resources, kind_of, undeclared
from tape.errors import ChargeError, ConfigError
from tape.reading import short

Amount = int | float | str | Decimal | None

_MISSING = object()


@dataclass(frozen=True)
class Answer:
    """What prices read of a result.

    Attributes:
        text: The text of its contents.
        structured: Its structured content, or what a function returned; None where a call failed.
        rng: Draws what is simulated.

    Examples:
        >>> from tape.tools import Answer, Fixed
        >>> Fixed.of(usd="0.01").actual({}, Answer("a text"))["usd"]
        10000
    """

    text: str = ""
    structured: Any = None
    rng: random.Random = field(default_factory=lambda: random.Random(0), compare=False, repr=False)


class Cost(Protocol):
    """What a call of a tool costs."""

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; None for a kind of which that is unknown.

        Args:
            arguments: Of the call; None for any call.

        Raises:
            ChargeError: The arguments are beyond what the price was declared for.
        """

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What a call took that was answered.

        Args:
            arguments: Of the call, as they were before it.
            answer: What came back.
        """


@dataclass(frozen=True)
class Fixed:
    """The same for every call.

    Args:
        amounts: What each call uses, in counts; None for a resource whose amount is unknown.

    Examples:
        >>> from tape.tools import Fixed
        >>> Fixed.of(usd="0.01", seconds=0.2).worst()
        Resources({'seconds': 200, 'usd': 10000})
    """

    amounts: Resources

    @classmethod
    def of(cls, **amounts: Amount) -> Fixed:
        """In units, for instance ``Fixed.of(usd="0.01", seconds=0.2)``; None is an unknown amount."""
        return cls(Resources.of(**amounts))

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The same."""
        del arguments
        return self.amounts

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """The same."""
        del arguments, answer
        return self.amounts


@dataclass(frozen=True)
class PerArgument:
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

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
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

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """As it was asked for."""
        del answer
        return self.worst(arguments)


@dataclass(frozen=True)
class ByValue:
    """A price for each value of an argument.

    Attributes:
        argument: Its name.
        values: Prices by value, written as a text.
        otherwise: For any other value, or none.
    """

    argument: str
    values: Mapping[str, Resources] = field(hash=False)
    otherwise: Resources

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The price of the value, and of what a receiver may take it for; of any call the highest of each resource."""
        if arguments is None:
            return highest([*self.values.values(), self.otherwise])
        value = arguments.get(self.argument)
        name = value if isinstance(value, str) else written(value)
        if name in self.values:
            return self.values[name]
        return highest([self.otherwise, *(price for key, price in self.values.items() if may_be(name, key))])

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """As it was asked for."""
        del answer
        return self.worst(arguments)


@dataclass(frozen=True)
class PerToken:
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

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The price of the arguments, or of the longest result."""
        if self.output or arguments is None:
            return _times(self.each, self.at_most)
        tokens = self._tokens(written(arguments))
        if self.at_most is not None and tokens > self.at_most:
            raise ChargeError(f"the arguments have {tokens} tokens; at most {self.at_most} are priced")
        return _times(self.each, tokens)

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """The price of the tokens that were."""
        return _times(self.each, self._tokens(answer.text)) if self.output else self.worst(arguments)

    def _tokens(self, text: str) -> int:
        return -(-len(text.encode("utf-8", "replace")) // self.size)


@dataclass(frozen=True)
class Reported:
    """What the server reports; the worst case where it reports nothing that can be read.

    Attributes:
        most: The worst case.
        path: Keys in the structured content: to amounts by resource, in units, or to the amount of the only resource.
    """

    most: Resources
    path: tuple[str, ...]

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The declared one."""
        del arguments
        return self.most

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What is reported."""
        del arguments
        structured = answer.structured
        for key in self.path:
            structured = structured.get(key) if isinstance(structured, Mapping) else None
        if not isinstance(structured, Mapping):
            structured = {next(iter(self.most)): structured} if len(self.most) == 1 else {}
        counts: dict[str, int | None] = {}
        for name, most in self.most.items():
            try:
                # A report finer than what is counted is rounded up.
                amount = kind_of(name).resolution
                counts[name] = math.ceil(round(float(structured[name]) / float(amount), 6))
                if isinstance(structured[name], bool) or not 0 <= (counts[name] or 0) <= MOST:
                    counts[name] = most
            except (KeyError, TypeError, ValueError, OverflowError):
                counts[name] = most
        return Resources(counts)


@dataclass(frozen=True)
class PerUnit:
    """So much for each unit, for instance for each character of an argument.

    Args:
        each: The cost of one unit, in counts.
        units: Counts the units of a call from its arguments and its result, which is None for a call that failed; where
            it cannot count those, the worst case is charged.
        at_most: Units of the largest call. One that has more is paid in full and reported as a cost above the
            declared bound.

    Raises:
        ConfigError: ``at_most`` is no whole number >= 0.

    Examples:
        >>> from tape.tools import PerUnit
        >>> from tape import Resources
        >>> from tape.tools import Answer
        >>> cost = PerUnit(Resources.of(usd="0.0001"), lambda arguments, result: len(arguments["text"]), at_most=500)
        >>> cost.worst()["usd"], cost.actual({"text": "bread"}, Answer(structured="Brot"))["usd"]
        (50000, 500)
    """

    each: Resources
    units: Callable[[Mapping[str, Any], Any], int] = field(repr=False)
    at_most: int

    def __post_init__(self) -> None:
        self.worst()

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The cost of the largest call."""
        del arguments
        return self._times(self.at_most)

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """The cost of the units that were used."""
        return self._times(self.units(arguments, answer.structured))

    def _times(self, units: int) -> Resources:
        if isinstance(units, bool) or not isinstance(units, int) or units < 0:
            raise ConfigError(f"a tool's units are a whole number >= 0, got {units!r}")
        each = self.each
        return Resources({kind: None if (count := each[kind]) is None else count * units for kind in each})


@dataclass(frozen=True)
class Price:
    """The price of a tool: the sum of its parts."""

    parts: tuple[Cost, ...]

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; see :class:`Cost`."""
        return sum((part.worst(arguments) for part in self.parts), Resources())

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What a call took; see :class:`Cost`."""
        return sum((part.actual(arguments, answer) for part in self.parts), Resources())

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
        parts: list[Cost] = []
        for part in self.parts:
            if isinstance(part, PerArgument):
                schema = properties.get(part.argument)
                schema = schema if isinstance(schema, Mapping) else {}
                default, text = schema.get("default", _MISSING), schema.get("type") == "string"
                parts.append(PerArgument(part.each, part.argument, part.at_most, default, text))
            else:
                parts.append(part)
        return Price(tuple(parts))


@dataclass(frozen=True)
class Quote:
    """The price of one call, which nothing that happens to its arguments changes any more.

    Attributes:
        arguments: Of the call, as they were; not to be changed.
        parts: The parts of the price, with what each takes at most.
    """

    arguments: Mapping[str, Any] = field(hash=False)
    parts: tuple[tuple[Cost, Resources], ...] = field(hash=False)

    @property
    def worst(self) -> Resources:
        """What has to be reserved."""
        return sum((worst for _, worst in self.parts), STEP)

    def actual(self, answer: Answer) -> Resources:
        """What the call took that was answered; None for a resource of which that is unknown."""
        took = (part.actual(self.arguments, answer) if reads_answer(part) else worst for part, worst in self.parts)
        return sum(took, STEP)


def reads_answer(part: Cost) -> bool:
    """Whether what a part takes depends on the answer; else it takes what was reserved."""
    return not isinstance(part, Fixed | PerArgument | ByValue) and getattr(part, "output", True)


def unpriced() -> Price:
    """The price of a tool that declares none: an unknown amount of money (:func:`tape.budget.undeclared`)."""
    return Price((Fixed(undeclared()),))


def highest(several: Sequence[Resources]) -> Resources:
    """The largest amount of each resource; unknown where one is."""
    names = {name for amounts in several for name in amounts}
    numbers: dict[str, int | None] = {}
    for name in names:
        counts = [amounts[name] for amounts in several]
        numbers[name] = None if None in counts else max(count or 0 for count in counts)
    return Resources(numbers)


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
