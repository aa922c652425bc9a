"""How uncertain the costs of tools are: as declared, and as learned from traces of earlier episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tape.budget import Spread
from tape.budget.chances import Likely, spreads_of
from tape.budget.prices import Fixed
from tape.protocols import Action
from tape.protocols.parts import UncertainCosts
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.errors import InvalidCallError
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox
from tape.trace import ActedEvent, Event


class ToolCosts(UncertainCosts):
    """What the costs of tools declare; the calls of one tool are alike."""

    def __init__(self, find: Callable[[Call], Tool]) -> None:
        self._find = find

    def spreads(self, action: Action) -> Mapping[str, Spread]:
        """See :func:`tape.budget.chances.spreads_of`; none of what is no call of a tool."""
        try:
            call = parse(action)
            return {} if call.kind == ANSWER else spreads_of(self._find(call).cost)
        except InvalidCallError:
            return {}

    def family(self, action: Action) -> str:
        """The name of the tool."""
        return tool_of(action)


def uncertain_costs(toolbox: Toolbox) -> ToolCosts | None:
    """The part of a domain; None where every tool costs exactly what it declares."""
    uncertain = any(not isinstance(item.cost, Fixed) for item in toolbox.all())
    return ToolCosts(toolbox.find) if uncertain else None


def tool_of(action: Action) -> str:
    """The name of the tool that an action calls; the action itself where it is no call."""
    try:
        return parse(action).tool
    except InvalidCallError:
        return action


def learned(tools: Sequence[Tool], traces: Iterable[Iterable[Event]]) -> list[Tool]:
    """The tools with what their calls took in earlier episodes, for ``costs="expected"``.

    Means and deviations that are declared stay as they are, and so does what a call is charged.

    Args:
        tools: The tools.
        traces: Events of episodes with tools of these names, as of :func:`tape.trace.read_trace`.

    Returns:
        The tools in their order, those of uncertain cost with a :class:`tape.tools.Likely` as cost.

    Examples:
        >>> from tape import Resources
        >>> from tape.tools import PerUnit, learned, tool
        >>> from tape.trace import ActedEvent
        >>> @tool(cost=PerUnit(Resources.of(seconds=1), lambda arguments, result: len(arguments["site"]), at_most=10))
        ... def crawl(site: str) -> str:
        ...     "Fetch a site."
        ...     return site
        >>> call = ActedEvent(step=1, action='crawl(site="a.org")', text="", planned=None, cost={"seconds": 2000})
        >>> [after] = learned([crawl], [[call]])
        >>> after.cost.spreads["seconds"].mean
        2000.0
    """
    seen = [
        (tool_of(event.action), event.cost) for events in traces for event in events if isinstance(event, ActedEvent)
    ]
    result = []
    for item in tools:
        spreads = dict(spreads_of(item.cost))
        for name, cost in seen:
            for kind, spread in spreads.items() if name == item.name else ():
                if (amount := cost.get(kind)) is not None:
                    spreads[kind] = spread.after(amount)
        result.append(replace(item, cost=Likely(item.cost, spreads)) if spreads else item)
    return result
