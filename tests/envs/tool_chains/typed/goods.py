"""Typed tools that the tests share, and an exhaustive search to compare the planner with."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from envs.tool_chains.typed.loader import tools_of
from tape.budget import Resources
from tape.tools import Fixed, Tool, tool


@tool(takes="ore", gives="iron", usd="0.40", seconds=1)
def smelt(ore: str) -> str:
    """Smelt ore."""
    return f"iron of {ore}"


@tool(takes="iron", gives="blade", usd="0.30", seconds=1)
def forge(iron: str) -> str:
    """Forge a blade."""
    return f"blade of {iron}"


@tool(takes="ore", gives="blade", usd="0.60", seconds=9)
def foundry(ore: str) -> str:
    """Smelt and forge at once."""
    return f"cast blade of {ore}"


@tool(takes=("blade", "wood"), gives="axe", usd="0.20")
def haft(blade: str, wood: str) -> str:
    """Put a blade on wood."""
    return f"{blade} on {wood}"


TOOLS = [smelt, forge, foundry, haft]
HAVE = {"ore": "ore", "wood": "ash"}


def priced(name: str, takes: Sequence[str], gives: str, cents: int, seconds: int = 1) -> Tool:
    """A tool whose result is simulated."""
    cost = {"usd": cents / 100, "seconds": seconds}
    [made] = tools_of([{"name": name, "takes": list(takes), "gives": gives, "cost": cost}], "test")
    return made


def dearer(item: Tool, cents: int) -> Tool:
    """The same at another price."""
    return replace(item, cost=Fixed(Resources({"usd": cents * 10_000, "seconds": item.worst["seconds"] or 0})))


def exhaustive(
    tools: Sequence[Tool], want: str, have: Collection[str], limits: Mapping[str, int], at_hand: Sequence[str] = ()
) -> int | None:
    """The least ``usd`` of any sequence of calls within the limits: every sequence is tried, the cheapest first."""
    order = count()
    kinds = sorted(limits)
    queue = [(0, next(order), tuple(sorted(at_hand)), tuple(limits[kind] for kind in kinds))]
    seen: set[tuple[tuple[str, ...], int, tuple[int, ...]]] = set()
    while queue:
        spent, _, held, left = heapq.heappop(queue)
        if want in held or want in have:
            return spent
        if (held, spent, left) in seen:
            continue
        seen.add((held, spent, left))
        for item in tools:
            rest, taken = Counter(held), Counter(name for name in item.takes if name not in have)
            after = tuple(n - (item.worst[kind] or 0) for kind, n in zip(kinds, left, strict=True))
            if taken <= rest and min(after, default=0) >= 0:
                state = tuple(sorted([*(rest - taken).elements(), item.gives]))
                heapq.heappush(queue, (spent + (item.worst["usd"] or 0), next(order), state, after))
    return None
