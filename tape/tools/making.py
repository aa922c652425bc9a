"""Making a tool of a function: its schema from type hints, its description from the docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, get_type_hints, overload

from pydantic import ConfigDict, create_model

from tape.budget.prices import Amount
from tape.tools.context import ToolContext, context_parameter, deps_of
from tape.tools.copies.base import Use
from tape.tools.errors import ToolError
from tape.tools.tool import Declared, Thread, Tool, amounts, declared

_AS_GIVEN = (
    "variant", "quality", "reads", "destructive", "timeout", "thread", "gives", "dry_run", "operator", "idempotent",
    "outcome",
)  # fmt: skip
"""Settings that a tool has as they are given; what else is named is an amount."""

D = TypeVar("D")
P = ParamSpec("P")


class ToolDecorator(Protocol):
    """Makes a tool of the function below."""

    @overload
    def __call__(self, function: Callable[Concatenate[ToolContext[D], P], Any], /) -> Tool[D]: ...

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Tool[object]: ...


def make_tool(
    function: Callable[..., Any],
    *,
    kind: str | None = None,
    cost: Declared | None = None,
    pure: bool = False,
    takes: str | Sequence[str] = (),
    state: Mapping[str, Use] | None = None,
    key: str | Sequence[str] | None = None,
    **more: Any,
) -> Tool:
    """Make a tool of a function; see :func:`tool`."""
    kept = {setting: more[setting] for setting in _AS_GIVEN if setting in more}
    fixed = {setting: amount for setting, amount in more.items() if setting not in kept}
    name = str(kind or getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise ToolError(f"a tool needs a name; give kind=..., got {name!r}")
    if cost is not None and fixed:
        raise ToolError(f"{name}: give either cost=... or amounts ({', '.join(fixed)}), not both")
    used = dict(state or {})
    if missing := used.keys() - inspect.signature(function).parameters.keys():
        raise ToolError(f"{name}: it uses the state {min(missing)!r} and has no parameter of this name, which gets it")
    hints = _hints(name, function)
    context = context_parameter(name, function, hints)
    fields, drawn = _parameters(name, function, {*used, context}, hints)
    try:
        arguments = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **cast("Any", fields))
        arguments.model_json_schema()
        if hidden := fields.keys() - arguments.model_fields.keys():
            raise TypeError(f"{min(hidden)} is private")
    except Exception as error:  # pydantic has no common base of what it refuses
        raise ToolError(f"{name}: its parameters have no JSON schema: {error}") from error
    described = inspect.getdoc(function) or ""
    if not described:
        raise ToolError(f"{name}: the function needs a docstring, which describes it to the model")
    settings: dict[str, Any] = {
        "variant": "",
        "random": drawn,
        "pure": pure or (bool(used) and "write" not in used.values()),
        "takes": (takes,) if isinstance(takes, str) else tuple(takes),
        "state": used,
        "key": (key,) if isinstance(key, str) else None if key is None else tuple(key),
        "context": context,
        "needs": deps_of(hints[context]) if context else None,
        **kept,
    }
    return Tool(
        kind=name,
        function=function,
        arguments=arguments,
        description=described.split("\n\n")[0].replace("\n", " "),
        cost=amounts(fixed) if cost is None else declared(cost),
        **settings,
    )


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:  # whatever evaluating a hint raises
        raise ToolError(f"{name}: its type hints cannot be read: {error}") from error


def _parameters(
    name: str, function: Callable[..., Any], given: Collection[str | None], hints: Mapping[str, Any]
) -> tuple[dict[str, tuple[Any, Any]], str | None]:
    """The parameters that a model fills, with their types and defaults; and the one that gets a generator."""
    fields: dict[str, tuple[Any, Any]] = {}
    drawn = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolError(f"{name}: the parameter {parameter} cannot be given by name")
        if parameter.name not in hints and parameter.name not in given:
            raise ToolError(f"{name}: the parameter {parameter.name} needs a type hint, else it has no schema")
        if parameter.name in given:
            continue
        if hints[parameter.name] is Random:
            drawn = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    return fields, drawn


@overload
def tool(function: Callable[Concatenate[ToolContext[D], P], Any], /) -> Tool[D]: ...


@overload
def tool(function: Callable[..., Any], /) -> Tool[object]: ...


@overload
def tool(
    *,
    kind: str | None = None,
    variant: str = "",
    cost: Declared | None = None,
    quality: float | None = None,
    reads: bool = False,
    pure: bool = False,
    destructive: bool = False,
    timeout: float | None = None,
    thread: Thread = "own",
    takes: str | Sequence[str] = (),
    gives: str = "",
    state: Mapping[str, Use] | None = None,
    dry_run: bool | Callable[..., Any] = False,
    key: str | Sequence[str] | None = None,
    operator: str = "",
    idempotent: bool = False,
    outcome: Callable[..., Any] | None = None,
    **fixed: Amount,
) -> ToolDecorator: ...


def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Tool | ToolDecorator:
    """Make a tool of the function below: ``@tool(usd="0.01", seconds=0.2)``, or ``@tool`` alone.

    The arguments' schema comes from the type hints, the description from the docstring. A parameter of the type
    ``random.Random`` is not the model's: it gets a generator that depends on the episode's seed and the call alone. A
    first parameter of the type :class:`tape.tools.ToolContext` gets what the run hands its tools.

    Args:
        function: The function, where nothing is declared of it.
        **settings: What is declared of it, by the names that follow.
        kind: What it does; by default the function's name. Of several of one kind, which do the same at other prices
            or qualities, the solver chooses.
        variant: Its name within the kind.
        cost: A cost other than a fixed one (:mod:`tape.budget.prices`), or as a gateway's configuration writes it.
        quality: Probability in (0, 1] that a result is what was asked for.
        reads: The result is a text in which the model looks for the answer.
        pure: A call changes nothing, and returns the same while nothing else has been changed, so it is not repeated.
        destructive: A call may destroy what cannot be brought back; approval can be asked for such calls.
        timeout: Seconds after which a call is given up; a plain function is left behind in its thread.
        thread: ``"caller"`` for a plain function that uses what belongs to the playing thread, such as a connection of
            ``sqlite3``. Such a call cannot be given up, and other agents of the event loop wait for it.
        takes: For a typed tool, of which chains are made, the types of data of its parameters; a text is one type.
        gives: For a typed tool the type of data that it gives.
        state: What it does with the environment's states, ``"read"`` or ``"write"`` by their names; a parameter of
            each name gets it (:mod:`tape.tools.copies`). One that only reads is pure.
        dry_run: A function that is called in its place on a copy; True where the tool may be, since it only computes.
        key: The arguments that make two calls one effect, where it is not pure: with ``key="to"`` a mail in other words
            is the same mail. By default all but wordings (:meth:`~tape.tools.Tool.effect`).
        operator: The operator of programs, such as ``"*"``, that is a call of this tool of two parameters.
        idempotent: Calls with the key of one effect (``ctx.key``) do it once, so one that may be under way is made
            again.
        outcome: A function of the context, and of those arguments that it names, that is asked after a worker has
            ended amid a call: it returns ``Happened(result)``, or False where the call was not made and never will be;
            None where it cannot tell.
        fixed: The fixed cost of a call in units; None for an unknown amount.

    Raises:
        ToolError: The function has no type hints or no docstring, or the declarations contradict each other.
        ConfigError: A resource is not declared.

    Examples:
        >>> from tape import tool
        >>> @tool(kind="rate", variant="live", pure=True, usd="0.02", seconds=1.5)
        ... def live_rate(currency: str) -> float:
        ...     "Ask the exchange for the rate of this minute."
        ...     return 1.25
        >>> live_rate.name, live_rate.worst["usd"], live_rate("EUR")
        ('rate.live', 20000, 1.25)
    """
    if function is not None:
        return make_tool(function)
    return lambda below: make_tool(below, **settings)
