"""Plans of calls in one canonical order, so that plans which do the same fold into the same walk."""

from __future__ import annotations

from collections.abc import Sequence

from envs.tools.calls import ANSWER, Call


def in_order(calls: Sequence[Call], obtained: int = 0) -> list[Call]:
    """The calls of a plan, each after those that it needs, else in the order of their texts; equal ones once.

    The answer comes last; what is planned after it is dropped.

    Args:
        calls: The plan; placeholders above ``obtained`` stand for its own calls in order.
        obtained: Results that are there already.

    Returns:
        The same calls with new numbers in their placeholders. A plan that refers to a later call, or to one that is not
        there, comes back as it was: whoever executes it will see.
    """
    ends = next((i for i, found in enumerate(calls) if found.kind == ANSWER), len(calls))
    calls, final = calls[:ends], calls[ends : ends + 1]
    numbered = [*enumerate(calls, obtained + 1), *((obtained + len(calls) + 1, found) for found in final)]
    if any(not 0 < k < own for own, found in numbered for k in found.references):
        return [*calls, *final]
    number = {k: k for k in range(1, obtained + 1)}
    waiting = dict(enumerate(calls, obtained + 1))
    ordered: list[Call] = []
    placed: dict[str, int] = {}
    while waiting:
        ready = {k: c.renumbered(number.__getitem__) for k, c in waiting.items() if number.keys() >= set(c.references)}
        # One that is there already goes first: what waits for it must not have to wait longer than for its twin.
        chosen = min(ready, key=lambda k: (ready[k].symbol not in placed, ready[k].symbol, k))
        found = ready[chosen]
        if found.symbol not in placed:
            ordered.append(found)
            placed[found.symbol] = obtained + len(ordered)
        number[chosen] = placed[found.symbol]
        del waiting[chosen]
    return [*ordered, *(found.renumbered(number.__getitem__) for found in final)]
