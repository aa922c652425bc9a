"""The oracle: Dijkstra's algorithm on the offers of a problem, which plays as a labelled bound.

It shares no code with the exact planner of :mod:`envs.tool_chains.typed`, which it is the judge of. It reads the type
that is wanted from the problem, not from the words of the request, and it learns of a change when the change comes.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from envs.tool_chains.problem import Offer, Reference, Turn, named


@dataclass(frozen=True)
class Cheapest:
    """The cheapest chain.

    Attributes:
        tools: The names of its offers.
        cents: What it costs.
        ways: How many chains cost as little.
    """

    tools: tuple[str, ...]
    cents: int
    ways: int


def dijkstra(offers: Sequence[Offer], sources: Collection[str], want: str) -> Cheapest | None:
    """The chain of least cost from any of some types, all limits aside; None where there is none."""
    leaving = _leaving(offers)
    least: dict[str, tuple[int, int, Offer | None]] = dict.fromkeys(sources, (0, 1, None))
    queue = [(0, source) for source in sorted(sources)]
    done: set[str] = set()
    while queue:
        spent, here = heapq.heappop(queue)
        if here in done:
            continue
        done.add(here)
        for offer in leaving.get(here, ()):
            cost, known = spent + offer.cents, least.get(offer.gives)
            if known is None or cost < known[0]:
                least[offer.gives] = (cost, least[here][1], offer)
                heapq.heappush(queue, (cost, offer.gives))
            elif cost == known[0] and known[2] is not None:
                least[offer.gives] = (cost, known[1] + least[here][1], known[2])
    if want not in least:
        return None
    tools: list[str] = []
    at: Offer | None = least[want][2]
    while at is not None:
        tools.append(at.name)
        at = least[at.takes][2]
    return Cheapest(tuple(reversed(tools)), least[want][0], least[want][1])


def within(offers: Sequence[Offer], start: str, want: str, millis: int) -> Cheapest | None:
    """The chain of least cost that takes no longer than so many thousandths of a second: labels that none dominates."""
    leaving = _leaving(offers)
    queue: list[tuple[int, int, str, tuple[str, ...]]] = [(0, 0, start, ())]
    closed: dict[str, list[tuple[int, int]]] = {}
    cheapest: Cheapest | None = None
    while queue:
        cents, time, here, tools = heapq.heappop(queue)
        if cheapest is not None and cents > cheapest.cents:
            break
        if here == want:
            cheapest = Cheapest(tools, cents, 1 if cheapest is None else cheapest.ways + 1)
            continue
        if any(c < cents and t <= time for c, t in closed.get(here, ())):
            continue
        closed.setdefault(here, []).append((cents, time))
        for offer in leaving.get(here, ()):
            if time + offer.millis <= millis:
                heapq.heappush(queue, (cents + offer.cents, time + offer.millis, offer.gives, (*tools, offer.name)))
    return cheapest


def quickest(offers: Sequence[Offer], start: str, want: str) -> int | None:
    """The least time of any chain."""
    timed = [Offer(o.name, o.takes, o.gives, o.millis, o.millis) for o in offers]
    cheapest = dijkstra(timed, [start], want)
    return None if cheapest is None else cheapest.cents


def reference(offers: Sequence[Offer], start: str, want: str, turn: Turn | None) -> Reference | None:
    """What the oracle does with a change on the way.

    Returns:
        None where there is no chain, the cheapest is not the only one of its cost, or the change changes nothing.
    """
    first = dijkstra(offers, [start], want)
    if first is None or first.ways > 1:
        return None
    if turn is None:
        return _totals(offers, first.tools, first.tools)
    if not 0 < turn.after < len(first.tools):
        return None
    done = first.tools[: turn.after]
    now = tuple(turn.offers if turn.offers is not None else offers)
    by_name, known = named(now), list(now)
    at_hand, rest = [named(offers)[done[-1]].gives], list[str]()
    # What refuses is known only once it has been called, which costs no money and gives nothing.
    while True:
        cheapest = dijkstra(known, [start, *at_hand], turn.want or want)
        if cheapest is None or cheapest.ways > 1:
            return None
        wall = next(
            (number for number, name in enumerate(cheapest.tools) if name in turn.refusing), len(cheapest.tools)
        )
        for name in cheapest.tools[:wall]:
            offer = by_name[name]
            if offer.takes in at_hand:
                at_hand.remove(offer.takes)
            at_hand.append(offer.gives)
            rest.append(name)
        if wall == len(cheapest.tools):
            break
        known = [offer for offer in known if offer.name != cheapest.tools[wall]]
    if tuple(rest) == first.tools[turn.after :]:
        return None
    totals, two = _totals(offers, done, first.tools), _totals(now, tuple(rest), ())
    return Reference((*done, *rest), totals.cents + two.cents, totals.millis + two.millis, first.tools)


def _totals(offers: Sequence[Offer], tools: tuple[str, ...], first: tuple[str, ...]) -> Reference:
    by_name = named(offers)
    return Reference(tools, sum(by_name[t].cents for t in tools), sum(by_name[t].millis for t in tools), first)


def _leaving(offers: Sequence[Offer]) -> dict[str, list[Offer]]:
    mapping: dict[str, list[Offer]] = {}
    for offer in offers:
        mapping.setdefault(offer.takes, []).append(offer)
    return mapping
