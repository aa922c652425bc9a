"""The exact planner: the cheapest chains of typed tools within limits. No model is asked.

A chain is found backwards. What is still needed is a collection of types, at first the wanted one alone; a tool that
gives one of them puts what it takes in its place. So collections are the nodes of a graph, tools its edges, and a
chain is a path from the wanted type to nothing needed: :func:`solvers.shortest_path` finds the cheapest that keeps all
limits, with a proof. Where every tool takes one type, the nodes are the types themselves.

Which of the needed types comes first makes no difference to what the calls cost, so always the first by name does:
without that every order of the same calls would be a path. A needed type that is at hand is taken, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from solvers import ShortestPath, Status, shortest_path, shortest_paths
from solvers.errors import SolverError
from tape.budget import Resources
from tape.errors import TapeError
from tape.tools.errors import ToolError
from tape.tools.tool import Tool

MOST_NODES = 20_000
"""Collections of needed types that are looked at. Tools that take one type each have as many as there are types."""

_COST = "cost"

_Need = tuple[tuple[str, ...], tuple[str, ...]]
"""What is still needed, and what is at hand and not taken yet; both sorted."""


class PlanningError(TapeError, SolverError):
    """The exact planner has given up; the message gives the reason.

    Examples:
        >>> from envs.tool_chains.typed import cheapest_chains
        >>> cheapest_chains([], "forecast", ["address"]).best
        Traceback (most recent call last):
            ...
        envs.tool_chains.typed.planner.PlanningError: no chain of tools fits: ...
    """


@dataclass(frozen=True)
class Chain:
    """Calls that give the wanted type.

    Attributes:
        tools: Their names, in an order in which they can be made.
        cost: The worst case of all of them together, in counts, a step each.

    Examples:
        >>> from tape import Resources
        >>> from envs.tool_chains.typed import Chain
        >>> chain = Chain(("locate", "forecast"), Resources.of(usd="0.09", steps=2))
        >>> chain.tools[0], chain.cost["usd"]
        ('locate', 90000)
    """

    tools: tuple[str, ...]
    cost: Resources


@dataclass(frozen=True)
class Chains:
    """What was found; false where no chain keeps the limits.

    Attributes:
        chains: The best ones, best first.
        status: OPTIMAL: proved the best; INFEASIBLE: proved that none fits.
        reason: Where none fits, which limits are short and what would do, or that the types cannot be chained.

    Examples:
        >>> from tape.tools import tool
        >>> from envs.tool_chains.typed import cheapest_chains
        >>> @tool(takes="address", gives="forecast", usd="0.07")
        ... def bureau(address: str) -> str:
        ...     "Ask the weather bureau."
        ...     return f"rain at {address}"
        >>> found = cheapest_chains([bureau], "forecast", ["address"], limits={"usd": 50_000})
        >>> bool(found), found.status.value, found.reason
        (False, 'INFEASIBLE', 'usd is short: 50000 given, 70000 would do, everything else unchanged.')
    """

    chains: tuple[Chain, ...]
    status: Status
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.chains)

    @property
    def best(self) -> Chain:
        """The cheapest.

        Raises:
            PlanningError: There is none.
        """
        if not self.chains:
            raise PlanningError(f"no chain of tools fits: {self.reason}")
        return self.chains[0]


def cheapest_chains(
    tools: Sequence[Tool],
    want: str,
    have: Collection[str] = (),
    *,
    at_hand: Sequence[str] = (),
    saves: str = "usd",
    limits: Mapping[str, int] | None = None,
    count: int = 1,
) -> Chains:
    """The cheapest chains of typed tools that give a type, best first; false, with a reason, where none is possible.

    Args:
        tools: The tools; those without types are left out.
        want: The type that is wanted.
        have: Types that are there from the start and are never used up.
        at_hand: Types that calls have given; each can be taken once.
        saves: The resource of which as little as possible is to be used, in the worst case.
        limits: Counts of resources that the calls together may use, by their names; a call is a step.
        count: How many chains.

    Raises:
        ToolError: What a tool costs in a limited resource, or in the one that is saved, is not known.
        PlanningError: There are more than :data:`MOST_NODES` collections of needed types.

    Examples:
        >>> from tape.tools import tool
        >>> from envs.tool_chains.typed import cheapest_chains
        >>> @tool(takes="address", gives="place", usd="0.04")
        ... def locate(address: str) -> str:
        ...     "Find an address."
        ...     return f"place of {address}"
        >>> @tool(takes="place", gives="forecast", usd="0.05")
        ... def forecast(place: str) -> str:
        ...     "Tomorrow's weather at a place."
        ...     return f"rain at the {place}"
        >>> cheapest_chains([locate, forecast], "forecast", ["address"]).best.tools
        ('locate', 'forecast')
    """
    typed = [item for item in tools if item.gives]
    kept = {kind: left for kind, left in (limits or {}).items() if any(item.worst[kind] for item in typed)}
    start = _taken((want,), tuple(sorted(at_hand)), frozenset(have))
    edges, names, nodes = _graph(typed, want, start, frozenset(have), saves, kept)
    if nodes[0] == _NOTHING:
        return Chains((Chain((), Resources()),), Status.OPTIMAL)
    if _NOTHING not in nodes:
        within = " within the steps" if "steps" in kept else ""
        return Chains((), Status.INFEASIBLE, f"no chain of these tools gives {want!r} from what is there{within}")
    target = nodes.index(_NOTHING)
    short = next((kind for kind, left in (limits or {}).items() if left < 0), None)
    if short is not None:
        return Chains((), Status.INFEASIBLE, f"nothing is left of {short}")
    if count == 1:
        paths: Sequence[ShortestPath] = [shortest_path(edges, 0, target, kept, cost=_COST)]
    else:
        paths = shortest_paths(edges, 0, target, kept, k=count, cost=_COST, elementary=True)
    by_name = {item.name: item for item in typed}
    chains = []
    for path in paths:
        if path.status not in (Status.OPTIMAL, Status.FEASIBLE):
            if path.status is Status.INFEASIBLE:
                break
            raise PlanningError(f"the search for a chain has failed: {path.message or path.status.value}")
        used = tuple(names[edge] for edge in reversed(path.edges))
        chains.append(Chain(used, sum((by_name[name].worst for name in used), Resources())))
    if chains:
        return Chains(tuple(chains), Status.OPTIMAL)
    explained = paths[0].explanation if paths else shortest_path(edges, 0, target, kept, cost=_COST).explanation
    return Chains((), Status.INFEASIBLE, str(explained))


_NOTHING: _Need = ((), ())


def _graph(
    tools: Sequence[Tool], want: str, start: _Need, have: frozenset[str], saves: str, limits: Mapping[str, int]
) -> tuple[list[tuple[int, int, dict[str, int]]], list[str], list[_Need]]:
    """Edges with what they use, the tool of each, and the nodes; the first node is what is wanted."""
    there = _obtainable(tools, {*have, *start[1]})
    giving: dict[str, list[Tool]] = {}
    for item in tools:
        if there.issuperset(item.takes):
            giving.setdefault(item.gives, []).append(item)
    steps = limits.get("steps")
    nodes, index, depths = [start], {start: 0}, [0]
    edges: list[tuple[int, int, dict[str, int]]] = []
    names: list[str] = []
    for number, (needed, left) in enumerate(nodes):  # grows while it is read
        # Each call gives one type, so what is needed takes so many calls at least.
        if not needed or (steps is not None and depths[number] + len(needed) > steps):
            continue
        for item in giving.get(needed[0], ()):
            after = _taken((*needed[1:], *item.takes), left, have)
            if after not in index:
                index[after] = len(nodes)
                nodes.append(after)
                depths.append(depths[number] + 1)
            edges.append((number, index[after], {_COST: _known(item, saves)} | {k: _known(item, k) for k in limits}))
            names.append(item.name)
        if len(nodes) > MOST_NODES:
            raise PlanningError(
                f"the chains of {len(tools)} tools to {want!r} go through more than {MOST_NODES} collections of needed "
                "types; use fewer tools that take several types, or a model's plans (proposer='lm')"
            )
    return edges, names, nodes


def _obtainable(tools: Sequence[Tool], there: set[str]) -> set[str]:
    """What can be had at all, in whatever numbers."""
    grew = True
    while grew:
        more = {item.gives for item in tools if there.issuperset(item.takes)} - there
        there |= more
        grew = bool(more)
    return there


def _taken(needed: Sequence[str], left: Sequence[str], have: frozenset[str]) -> _Need:
    """What is needed once what is there has been taken; with nothing needed what is left over does not matter."""
    rest, open_ = list(left), []
    for need in sorted(needed):
        if need in have:
            continue
        if need in rest:
            rest.remove(need)
        else:
            open_.append(need)
    return (tuple(open_), tuple(rest)) if open_ else _NOTHING


def _known(item: Tool, kind: str) -> int:
    count = item.worst[kind]
    if count is None:
        raise ToolError(f"{item.name}: what a call costs in {kind} is not known; declare it, else no chain is cheapest")
    return count


def require_typed(tools: Sequence[Tool], saves: str) -> None:
    """Check tools of which chains are to be made.

    Raises:
        ToolError: One has no types, or an unknown cost in what is to be saved.
    """
    for item in tools:
        if not item.gives:
            raise ToolError(
                f"{item.name}: it has no types; declare what it takes and gives, "
                'for instance @tool(takes="address", gives="coordinates")'
            )
        _known(item, saves)


def thriftiest(
    tools: Sequence[Tool], want: str, have: Collection[str], at_hand: Sequence[str], kinds: Sequence[str]
) -> list[Chain]:
    """For each of some resources the chain that uses least of it, whatever it uses of the others; each once."""
    chains: dict[tuple[str, ...], Chain] = {}
    for kind in kinds:
        for chain in cheapest_chains(tools, want, have, at_hand=at_hand, saves=kind).chains:
            chains.setdefault(chain.tools, chain)
    return list(chains.values())
