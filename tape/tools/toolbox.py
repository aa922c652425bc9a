"""The tools of an environment, by what they do and which of them does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import create_model

from tape.budget import Resources
from tape.budget.prices import Fixed
from tape.plan.vocabulary import ASK, Vocabulary
from tape.tools.calls import Call, as_text
from tape.tools.errors import InvalidCallError, ToolError
from tape.tools.results import LONGEST_TEXT, cut
from tape.tools.tool import Tool


def _texts(question: str, values: list[Any]) -> str:
    """What is read, one text below the other; of long ones the beginning."""
    del question
    return "\n\n".join(cut(as_text(value), LONGEST_TEXT // max(1, len(values))) for value in values)


ASKING = Tool(
    kind=ASK,
    variant="",
    function=_texts,
    arguments=create_model("ask_arguments", question=(str, ...), values=(list[Any], ...)),
    description="Read results for the answer to a question.",
    cost=Fixed(Resources()),
    reads=True,
    pure=True,
)
"""A step of its own, which costs what the model costs that reads."""


class Toolbox:
    """The tools of an environment, by kind and variant.

    Args:
        tools: Tools; those of one kind in the order from the cheapest to the dearest.

    Raises:
        ToolError: There is none, two have the same name, or tools of one kind take different arguments or are not all
            pure where one is.

    Examples:
        >>> from tape.tools import Toolbox, tool
        >>> @tool(kind="rate", variant="cached", usd="0.001")
        ... def cached(currency: str) -> float:
        ...     "Look up yesterday's rate."
        ...     return 1.1
        >>> @tool(kind="rate", variant="live", usd="0.02")
        ... def live(currency: str) -> float:
        ...     "Ask for the rate of this minute."
        ...     return 1.25
        >>> [item.name for item in Toolbox([cached, live]).of_kind("rate")]
        ['rate.cached', 'rate.live']
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        if not tools:
            raise ToolError("an environment needs at least one tool")
        self.vocabularies: dict[Any, Vocabulary] = {}
        """What programs may call, for :mod:`tape.tools.words`: it is the same in each run."""
        self._kinds: dict[str, dict[str, Tool]] = {}
        self._known = {ASK: {"": ASKING}}
        for number, item in enumerate(tools):
            if not isinstance(item, Tool):
                raise ToolError(
                    f"tools[{number}] is {item!r:.80}, which is no tool"
                    + ("; put @tool above it" if callable(item) else "")
                )
            variants = self._kinds.setdefault(item.kind, {})
            if item.variant in variants:
                raise ToolError(f"there are two tools named {item.name}; give each its own variant=...")
            first = next(iter(variants.values()), item)
            if first.arguments.model_fields.keys() != item.arguments.model_fields.keys():
                raise ToolError(f"{first.name} and {item.name} are of one kind but take different arguments")
            if first.pure != item.pure:
                pure, other = (first, item) if first.pure else (item, first)
                raise ToolError(
                    f"{pure.name} and {other.name} are of one kind, but only {pure.name} is pure; declare both pure or "
                    "neither, or give them different kinds"
                )
            variants[item.variant] = item
        self._known |= self._kinds

    @property
    def kinds(self) -> tuple[str, ...]:
        """What can be done."""
        return tuple(self._kinds)

    def of_kind(self, kind: str) -> tuple[Tool, ...]:
        """The tools of a kind; none of an unknown one."""
        return tuple(self._known.get(kind, {}).values())

    def named(self, kind: str, variant: str) -> Tool:
        """The tool of this kind and variant, which is there."""
        return self._known[kind][variant]

    def all(self) -> tuple[Tool, ...]:
        """Every tool."""
        return tuple(item for variants in self._kinds.values() for item in variants.values())

    def is_pure(self, call: Call) -> bool:
        """Whether a call changes nothing, whichever tool of its kind makes it; an unknown kind is not trusted to."""
        return any(item.pure for item in self.of_kind(call.kind))

    def find(self, call: Call) -> Tool:
        """The tool that a call names."""
        tool = self._known.get(call.kind, {}).get(call.variant)
        if tool is None:
            raise InvalidCallError(f"there is no tool {call.tool}; there is: {', '.join(t.name for t in self.all())}")
        return tool
