"""Tools: plain Python functions with a schema, a declared cost and, where it is known, a quality."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Annotated, Any, Generic, Literal, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypeVar

from tape.budget import STEP, Resources, kind_of, undeclared
from tape.budget.chances import Likely
from tape.budget.deadline import MOST as MOST_SECONDS
from tape.budget.price_reading import PRICE_WORDS, read_price
from tape.budget.prices import Amount, Answer, ByValue, Cost, Fixed, PerArgument, PerToken, Price
from tape.budget.resources import MOST
from tape.errors import ChargeError
from tape.plan.open import key_of
from tape.reading import short
from tape.tools.calls import ANSWER, Call, as_text, can_be_written, is_placeholder
from tape.tools.copies.base import Use
from tape.tools.errors import InvalidCallError, ToolError
from tape.tools.state import Exact

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
    """A fixed cost from the keyword arguments of :func:`tape.tools.tool.tool`; unknown money where none is named."""
    named = any(kind_of(name).money for name in given)
    return Fixed.of(**given) if named else Fixed(Resources.of(**given) + undeclared())


Thread = Literal["own", "caller"]
"""Where a plain function is called: in a thread of its own where other agents or the clock may not wait for it, or
always in the thread that plays the episode."""

DepsT_contra = TypeVar("DepsT_contra", contravariant=True, default=Any)
"""The type of what a tool needs of the run that calls it."""

_FREE = "free text"
WORDING = 4
"""Words from which on a text is taken for one that could be worded otherwise."""
FreeText: TypeAlias = Annotated[str, _FREE]
"""The type of a parameter whose wording makes no other effect, such as the text of a mail."""

LONGEST_TYPE = 80
"""Characters of the name of a type of data."""


@dataclass(frozen=True, eq=False)
class Tool(Generic[DepsT_contra]):
    """One way to do what a kind of tool does.

    Attributes:
        kind: What it does; tools of one kind do the same at another price and quality.
        variant: Its name within the kind; empty where it is the only one.
        function: What is called, plain or asynchronous; its arguments have been validated.
        arguments: The arguments as a pydantic model.
        description: One sentence for the model.
        cost: What a call costs, its step not counted.
        quality: Probability in (0, 1] that a result is what was asked for; None where it is unknown.
        reads: The result is a text in which the model looks for the answer to the call; what it finds there, or that
            it is not there, is what was obtained.
        random: The name of the parameter that gets a seeded ``random.Random``, if there is one.
        pure: A call changes nothing, and returns the same while nothing else has been changed: so it may be made
            earlier or later, and once where a plan has it twice, as long as no call that is not pure stands between.
        destructive: A call may destroy what cannot be brought back.
        timeout: Seconds after which a call is given up, and has failed.
        thread: Where a plain function is called (:data:`Thread`). ``caller``: in the thread that has called
            ``agent.run``, or that runs the event loop of ``agent.arun``; such a call cannot be given up.
        loop: The event loop that the function needs, where it needs a certain one, as a session with a server does.
        takes: The types of data that it takes, one for each parameter in order; chains are made by them.
        gives: The type of data that it gives; empty where it is not typed.
        state: What it does with the states of the environment, by their names (:mod:`tape.tools.copies`).
        dry_run: What is called in its place on a copy; True: the function itself may be, without a state.
        fills: The function gets the defaults of arguments that a call leaves out; False where it has its own.
        key: The arguments that make two calls the same effect; None for all but wordings (:meth:`effect`).
        operator: The operator of programs that calls it, for instance ``*``; empty for none.
        context: The name of the parameter that gets a :class:`tape.tools.ToolContext`, if there is one.
        needs: The type of ``deps`` that it is declared with.
        idempotent: Calls with the key of one effect do it once.
        outcome: Says whether a call that may have been under way was made.

    Examples:
        >>> from tape import Tool, tool
        >>> @tool(pure=True, usd="0.001", seconds=2)
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> double.description, dict(double.worst)
        ('Double a number.', {'seconds': 2000, 'steps': 1, 'usd': 1000})
        >>> double(21)
        42
    """

    kind: str
    variant: str
    function: Callable[..., Any]
    arguments: type[BaseModel]
    description: str
    cost: Cost
    quality: float | None = None
    reads: bool = False
    random: str | None = None
    pure: bool = False
    destructive: bool = False
    timeout: float | None = None
    thread: Thread = "own"
    loop: asyncio.AbstractEventLoop | None = None
    takes: tuple[str, ...] = ()
    gives: str = ""
    state: Mapping[str, Use] = field(default_factory=dict)
    dry_run: bool | Callable[..., Any] = False
    fills: bool = True
    key: tuple[str, ...] | None = None
    operator: str = ""
    context: str | None = None
    needs: Any = None
    idempotent: bool = False
    outcome: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as before it was a tool: outside of episodes, without a budget."""
        return self.function(*args, **kwargs)

    def __post_init__(self) -> None:
        self._require_types()
        if self.kind == ANSWER:
            raise ToolError(f"{ANSWER!r} is what ends an episode; give the tool another name")
        if not can_be_written(self.kind, self.variant, self.arguments.model_fields):
            raise ToolError(
                f"{self.name}({', '.join(self.arguments.model_fields)}): names have letters, digits and _ only, those "
                "of tools and variants - too"
            )
        if self.key is not None and (unknown := {*self.key} - self.arguments.model_fields.keys()):
            raise ToolError(f"{self.name}: key= names {min(unknown)!r}, which is no parameter of it")
        if self.quality is not None and not 0 < self.quality <= 1:
            raise ToolError(f"{self.name}: the quality is a probability in (0, 1], got {self.quality}")
        for setting in ("pure", "destructive", "idempotent"):
            if not isinstance(value := getattr(self, setting), bool):
                raise ToolError(f"{self.name}: {setting} is True or False, got {value!r}")
        if self.pure and self.destructive:
            raise ToolError(
                f"{self.name}: a pure tool changes nothing, so it cannot be destructive; declare one of them"
            )
        if self.pure and (self.idempotent or self.outcome is not None):
            raise ToolError(f"{self.name}: a pure tool changes nothing; leave out idempotent= and outcome=")
        if self.outcome is not None and not callable(self.outcome):
            raise ToolError(f"{self.name}: outcome= is a function of the context, not {self.outcome!r:.80}")
        self._require_time_and_place()
        self._require_state()
        try:
            _checked(self.cost.worst())
        except Exception as error:  # whatever a cost of one's own raises
            raise ToolError(f"{self.name}: the worst case of its cost: {type(error).__name__}: {error}") from error

    def _require_time_and_place(self) -> None:
        if self.thread not in get_args(Thread):
            raise ToolError(f'{self.name}: thread is "own" or "caller", got {self.thread!r}')
        limit = self.timeout
        if limit is None:
            return
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= MOST_SECONDS:
            raise ToolError(f"{self.name}: timeout is a number of seconds above 0, for instance 5, got {limit!r}")
        if self.thread == "caller":
            raise ToolError(
                f'{self.name}: a call with thread="caller" cannot be given up; leave out that or timeout=...'
            )

    def _require_state(self) -> None:
        for name, use in self.state.items():
            if use not in get_args(Use):
                raise ToolError(f'{self.name}: what it does with {name!r} is "read" or "write", got {use!r}')
        if self.pure and self.writes:
            raise ToolError(f"{self.name}: it writes a state, so it is not pure; declare one of them")

    def _require_types(self) -> None:
        """Check the declared types of data."""
        if not self.gives:
            if self.takes:
                raise ToolError(f"{self.name}: it takes {', '.join(self.takes)} and gives nothing; declare gives=...")
            return
        for name in (*self.takes, self.gives):
            if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_TYPE or not name.isprintable():
                raise ToolError(
                    f"{self.name}: a type of data is a name of up to {LONGEST_TYPE} characters, got {name!r:.80}"
                )
        if len(set(self.takes)) < len(self.takes) or self.gives in self.takes:
            raise ToolError(
                f"{self.name}: it takes {', '.join(self.takes)} and gives {self.gives}; the types have to differ, so "
                "that a call changes what is at hand"
            )
        if len(self.takes) != len(self.arguments.model_fields):
            raise ToolError(
                f"{self.name}: takes= names {len(self.takes)} types for {len(self.arguments.model_fields)} parameters "
                f"({', '.join(self.arguments.model_fields) or 'none'}); give one for each, in their order"
            )

    def effect(self, arguments: Mapping[str, Any]) -> str:
        """What a call does for good: two calls of one effect do the same, whatever else they are given.

        Without a declared ``key`` the wording of texts does not count: of those that are typed
        :data:`~tape.tools.FreeText`, and of others from :data:`WORDING` words on. A shorter one may be an address.
        """
        if self.key is not None:
            kept = [name for name in self.key if name in arguments]
        else:
            kept = [name for name, value in arguments.items() if not self._is_wording(name, value)]
        return f"{self.kind}({', '.join(f'{name}={key_of(arguments[name])}' for name in kept)})"

    def _is_wording(self, name: str, value: Any) -> bool:
        field = self.arguments.model_fields.get(name)
        free = field is not None and _FREE in field.metadata
        return free or (isinstance(value, str) and len(value.split()) >= WORDING)

    @property
    def writes(self) -> bool:
        """Whether a call may change a state."""
        return "write" in self.state.values()

    @property
    def can_be_tried(self) -> bool:
        """Whether it may be called on a copy."""
        return bool(self.state) or self.dry_run is not False

    @property
    def exact(self) -> Exact:
        """What of a call counts in a state, where it may be tried; see :class:`tape.tools.state.Obtained`."""
        if not self.can_be_tried or self.reads:
            return ""
        return "call" if self.pure else "value"

    @property
    def name(self) -> str:
        """Its full name, ``KIND.VARIANT`` or ``KIND``."""
        return f"{self.kind}.{self.variant}" if self.variant else self.kind

    @cached_property
    def worst(self) -> Resources:
        """The most that a call uses, its step included."""
        return self.cost.worst() + STEP

    def used(self, arguments: Mapping[str, Any], result: Any, rng: Random) -> Resources:
        """What a call has used, its step included.

        Args:
            arguments: What it was asked for.
            result: What it returned; None where it failed.
            rng: Draws what is not fixed.
        """
        text = result if isinstance(result, str) else ""
        if by_table(self.cost):
            arguments, result = plain(arguments), plain(result)
            text = text or json.dumps(result, ensure_ascii=False)
        return _checked(self.cost.actual(arguments, Answer(text, result, rng))) + STEP

    @property
    def is_open(self) -> bool:
        """Whether it takes arguments of any name beside those that it lists."""
        return self.arguments.model_config.get("extra") == "allow"

    def checked(self, values: Mapping[str, Any], *, whole: bool = False) -> dict[str, Any]:
        """The arguments as the function takes them; the whole has all defaults, whether it takes them or not."""
        try:
            model = self.arguments.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "arguments"
            raise InvalidCallError(f"{self.name}: {where}: {first['msg']}") from None
        if by_table(self.cost):
            every = {name: getattr(model, name) for name in type(model).model_fields} | (model.model_extra or {})
            try:
                self.cost.worst(plain(every))
            except ChargeError as error:
                raise InvalidCallError(f"{self.name}: {error}") from None
        given = model.model_fields_set
        names = [name for name in type(model).model_fields if whole or self.fills or name in given]
        return {name: getattr(model, name) for name in names} | (model.model_extra or {})

    def filled(self, call: Call, results: Sequence[Any], *, whole: bool = False) -> dict[str, Any]:
        """The arguments of a call as the function takes them.

        A result that is no text is written as one where a text is asked for.
        """
        values = call.values(results)
        for name, written in call.args:
            field = self.arguments.model_fields.get(name)
            asked = None if field is None else field.annotation
            if is_placeholder(written) and (asked is str or (asked == str | None and values[name] is not None)):
                values[name] = as_text(values[name])
        return self.checked(values, whole=whole)

    def require_names(self, call: Call) -> None:
        """Check the names of a call's arguments, whose values may not be there yet."""
        given, fields = {name for name, _ in call.args}, self.arguments.model_fields
        missing = [name for name, field in fields.items() if field.is_required() and name not in given]
        if not self.is_open and (unknown := sorted(given - fields.keys())):
            raise InvalidCallError(f"{self.name} has no argument {unknown[0]}; it has {', '.join(fields) or 'none'}")
        if missing:
            raise InvalidCallError(f"{self.name} needs the argument {missing[0]}")


def _checked(amounts: Any) -> Resources:
    """An amount as a cost gives it."""
    if not isinstance(amounts, Resources):
        raise ToolError(f"a cost is given as Resources, not as {type(amounts).__name__}")
    for kind in amounts:
        if (amounts[kind] or 0) > MOST:
            raise ToolError(f"{kind}: a count of {short(amounts[kind])} is no credible amount")
    return amounts


@dataclass(frozen=True)
class ToolVariant:
    """One way to do what a kind of tool does.

    Attributes:
        name: Unique within its kind, for instance ``exact``.
        worst: The most that one call uses, ``steps`` included.
        quality: Probability in (0, 1] that the result is what was asked for; None where it is unknown.
    """

    name: str
    worst: Resources
    quality: float | None = None
