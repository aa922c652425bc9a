"""What a tool learns of the run that calls it: the request's own things, what is left, and the key of its effect."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, get_args, get_origin

from typing_extensions import TypeVar

from tape.budget.claims import Effect
from tape.protocols.surroundings import Surroundings, nobody_is_asked
from tape.tools.errors import ToolError

if TYPE_CHECKING:
    from tape.tools.tool import Tool

DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)
"""The type of what a run hands its tools."""

KEY_CHARACTERS = 32
"""Of the key of an effect."""

AskApproval = Callable[[str], Awaitable[bool]]
"""Asks a person a question in words."""


@dataclass(frozen=True)
class ToolContext(Generic[DepsT_co]):
    """What a tool gets as its first parameter, where that is typed so; no model sees it and no trace has it.

    Attributes:
        deps: What the run was given as ``deps=``, such as the user and a connection; None where nothing was.
        budget: What is left of every cap of the run, in units, when the call begins.
        key: Names the effect of this call: the same in each retry, whatever else the plan does. Pass it on as an
            idempotency key.
        run: The name of the run.
        step: The number of the call, from 1.
        attempt: How often this call was made in the run, this time included.
        ask_approval: Asks the run's approver a question in words; False where there is none.

    Examples:
        >>> from tape import TapeAgent, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.tools import ToolContext
        >>> @tool(pure=True, usd=0)
        ... def orders(ctx: ToolContext[dict[str, int]], name: str) -> int:
        ...     "How many orders a customer has."
        ...     return ctx.deps[name]
        >>> agent = TapeAgent(ScriptedLM(["answer(orders('ann'))"]), tools=[orders], deps_type=dict)
        >>> agent.run("How many orders has Ann?", deps={"ann": 3}).answer
        3
    """

    deps: DepsT_co
    budget: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))
    key: str = ""
    run: str = ""
    step: int = 1
    attempt: int = 1
    ask_approval: AskApproval = nobody_is_asked


Instructions: TypeAlias = str | Callable[[ToolContext[DepsT_co]], str | Awaitable[str]]
"""How to work, in words, or a function of the run's context that says so."""


def is_context(hint: Any) -> bool:
    """Whether a parameter of this type gets the context."""
    return hint is ToolContext or get_origin(hint) is ToolContext


def deps_of(hint: Any) -> Any:
    """The type of ``deps`` that a context is declared with; ``Any`` where it is not."""
    return next(iter(get_args(hint)), Any)


def context_parameter(name: str, function: Callable[..., Any], hints: Mapping[str, Any]) -> str | None:
    """The parameter that gets the context.

    Raises:
        ToolError: There are two, or it is not the first.
    """
    parameters = [*inspect.signature(function).parameters]
    contexts = [parameter for parameter in parameters if is_context(hints.get(parameter))]
    if len(contexts) > 1:
        raise ToolError(f"{name}: {contexts[0]} and {contexts[1]} both take the context; leave one out")
    if contexts and contexts[0] != parameters[0]:
        raise ToolError(f"{name}: the context is the first parameter; put {contexts[0]} before {parameters[0]}")
    return next(iter(contexts), None)


def effect_key(run: str, effect: str, count: int) -> str:
    """The key of an effect.

    Args:
        run: The run's own name.
        effect: What is done for good (:meth:`tape.tools.Tool.effect`).
        count: How often the run has done it before.
    """
    text = "\n".join((run, effect, str(count)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARACTERS]


class Contexts:
    """Makes the contexts of a run's calls.

    Args:
        deps: What the run hands its tools.
    """

    def __init__(self, deps: Any) -> None:
        self._deps, self.surroundings = deps, Surroundings()
        self.claimed: Effect | None = None
        """The effect of the call that begins now."""
        self._times: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._made = 0

    def begin(self) -> None:
        """Nothing has been called yet."""
        self._times.clear()
        self._failed.clear()
        self._made = 0

    def of(self, item: Tool | None = None, asked: str = "{}") -> ToolContext:
        """The context of a call.

        Args:
            item: Its tool; None of a check that calls none.
            asked: Its arguments, in JSON.
        """
        around, effect = self.surroundings, "" if item is None else item.effect(json.loads(asked))
        return ToolContext(
            self._deps,
            MappingProxyType(dict(around.left())),
            key := self.key(effect),
            around.run,
            1 + self._made,
            max(1 + self._failed[effect], self._attempt(key)),
            around.ask,
        )

    def _attempt(self, key: str) -> int:
        """How often an effect was begun, by other workers too."""
        claimed = None if self.claimed is None else self.claimed.claimed
        return claimed.attempt if claimed is not None and claimed.key == key else 1

    def key(self, effect: str) -> str:
        """The key of what a call does for good, as often as it was done before."""
        return effect_key(self.surroundings.run, effect, self._times[effect])

    def key_of(self, item: Tool, asked: str) -> str:
        """The key that goes along with a call; none of one that changes nothing, or in a run without a name."""
        return "" if item.pure or not self.surroundings.run else self.key(item.effect(json.loads(asked)))

    def came(self, item: Tool, asked: str, *, failed: bool) -> None:
        """Note what came of a call: after a failure it may be tried again, and else done a second time."""
        effect = item.effect(json.loads(asked))
        self._made += 1
        if failed:
            self._failed[effect] += 1
        else:
            self._times[effect] += 1
            self._failed.pop(effect, None)


def require_deps(tools: Iterable[Tool], deps: Any) -> None:
    """Refuse a run without what its tools need.

    Raises:
        ToolError: Names a tool and the type that it needs.
    """
    for item in tools:
        if item.context is not None and not fits(deps, item.needs):
            given = "no deps= are given" if deps is None else f"deps= is of the type {type(deps).__name__}"
            raise ToolError(f"{item.name} takes a context with deps of the type {_name(item.needs)}, and {given}")


def fits(deps: Any, needed: Any) -> bool:
    """Whether a value can be what is needed, as far as that can be told."""
    kind = get_origin(needed) or needed
    return kind is Any or not isinstance(kind, type) or isinstance(deps, kind)


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
