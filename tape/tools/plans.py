"""Plans of calls with the pure ones in one canonical order, so that plans which do the same fold into the same path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tape.tools.calls import ANSWER, Call


def in_order(
    calls: Sequence[Call], obtained: Sequence[Call] = (), *, pure: Callable[[Call], bool], outdated: int = 0
) -> list[Call]:
    """The calls of a plan; pure ones each after those that it needs, else in the order of their texts, equal ones once.

    A call that is not pure stays where it is and is made as often as the plan has it. None is moved or merged across
    it: what is read after a write is not what was read before it.

    A pure call whose result is there already is none that is still to be made: what refers to it gets that result.

    The answer comes last; what is planned after it is dropped.

    Args:
        calls: The plan; placeholders above the number of ``obtained`` stand for its own calls in order.
        obtained: The calls whose results are there already.
        pure: Whether a call changes nothing.
        outdated: So many of the obtained results are from before the last call that is not pure; they stand in for no
            call of the plan.

    Returns:
        The same calls with new numbers in their placeholders. A plan that refers to a later call, or to one that is not
        there, comes back as it was: its execution fails there.
    """
    ends = next((i for i, found in enumerate(calls) if found.kind == ANSWER), len(calls))
    calls, final = calls[:ends], calls[ends : ends + 1]
    known = len(obtained)
    numbered = [*enumerate(calls, known + 1), *((known + len(calls) + 1, found) for found in final)]
    if any(not 0 < k < own for own, found in numbered for k in found.references):
        return [*calls, *final]
    number = {k: k for k in range(1, known + 1)}
    placed = {made.symbol: k for k, made in reversed([*enumerate(obtained, 1)][outdated:])}
    ordered: list[Call] = []
    for waiting in _between_changes(dict(enumerate(calls, known + 1)), pure):
        while waiting:
            ready = {
                k: c.renumbered(number.__getitem__) for k, c in waiting.items() if number.keys() >= set(c.references)
            }
            # One that is there already goes first: what waits for it must not have to wait longer than for its twin.
            chosen = min(ready, key=lambda k: (ready[k].symbol not in placed, ready[k].symbol, k))
            found = ready[chosen]
            if found.symbol not in placed:
                ordered.append(found)
                placed[found.symbol] = known + len(ordered)
            number[chosen] = placed[found.symbol]
            del waiting[chosen]
        placed = {}
    return [*ordered, *(found.renumbered(number.__getitem__) for found in final)]


def _between_changes(calls: dict[int, Call], pure: Callable[[Call], bool]) -> Iterator[dict[int, Call]]:
    """The pure calls that stand together, and each other call alone, in the order of the plan."""
    together: dict[int, Call] = {}
    for number, found in calls.items():
        if pure(found):
            together[number] = found
            continue
        yield together
        yield {number: found}
        together = {}
    yield together
