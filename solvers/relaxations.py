"""Minimal relaxations: the least limits within which something can be done, each with an answer and a proof.

All that is asked of a caller is a question: what can be done within these limits? What can be done within some limits
can be done within larger ones, so a bisection whose every answer is proven finds the least value exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from solvers.errors import SolverError

Answer = TypeVar("Answer")


class OpenError(SolverError):
    """Neither an answer within some limits nor a proof that there is none: the time was up, or a solver failed."""


@dataclass(frozen=True)
class Least(Generic[Answer]):
    """The least value of one limit.

    Attributes:
        value: A value that does, with `answer`; None if none does (`proven`) or none was found.
        at_least: Every smaller value is proven not to do.
        answer: What can be done with `value`.
        proven: Whether `value` is the least one, or, if it is None, whether no value does.
    """

    value: int | None
    at_least: int
    answer: Answer | None
    proven: bool


@dataclass(frozen=True)
class Raised(Generic[Answer]):
    """Limits raised together.

    Attributes:
        limits: If `proven`, none that was raised could be raised less, with the others as here (Pareto-minimal).
        answer: What can be done within them.
        percent: The least whole percentage by which all have to be raised for anything to be done; None if that is not
            proven.
        proven: Whether the limits are proven minimal.
    """

    limits: tuple[int, ...]
    answer: Answer
    percent: int | None
    proven: bool


def least(
    low: int,
    high: int,
    ask: Callable[[int], Answer | None],
    needs: Callable[[Answer], int],
    known: Answer | None = None,
) -> Least[Answer]:
    """The least value in low..high that does.

    Args:
        low: Every smaller value is known not to do. It is tried first: where one limit alone is short, it is it.
        high: If this does not do, none does.
        ask: What can be done with a value; None if nothing. It may raise `OpenError`.
        needs: The least value with which an answer can be given.
        known: An answer with `high`, if there is one already.
    """
    value = None if known is None else max(low, min(high, needs(known)))
    first, tried, halve = low, low if value is None else value - 1, False
    try:
        while low <= high if value is None else low < value:
            item = ask(tried)
            if item is not None:
                known, value = item, max(low, min(tried, needs(item)))
            else:
                low = tried + 1
            if value is None:
                tried = high
            else:  # what an answer needs is most often the least; where it is not, halve what is left
                tried, halve = (low + value) // 2 if halve else value - 1, True
    except OpenError:
        return Least(value, low, known, proven=False)
    return Least(value, first if value is None else low, known, proven=True)


def together(
    given: Sequence[int],
    floors: Sequence[int],
    ample: Sequence[int],
    ask: Callable[[Sequence[int]], Answer | None],
    needs: Callable[[Answer], Sequence[int]],
) -> Raised[Answer] | None:
    """Limits raised by the least common percentage, and each in turn lowered as far as the others let it.

    A percentage is of what is given or, where that is not positive, of the floor, at least 1.

    Args:
        given: The limits as they are.
        floors: Nothing can be done with less of a limit, whatever the others are.
        ample: More of a limit than this changes nothing.
        ask: What can be done within some limits; None if nothing. It may raise `OpenError`.
        needs: The least limits with which an answer can be given, none below what is given.

    Returns:
        None if no limits do, or that is not known.
    """
    bases = [limit if limit > 0 else max(1, floor) for limit, floor in zip(given, floors, strict=True)]

    def percent(wanted: Sequence[int]) -> int:
        """The least percentage that raises every limit to what is wanted."""
        return max(-(-100 * max(0, w - g) // base) for w, g, base in zip(wanted, given, bases, strict=True))

    def raised(value: int) -> list[int]:
        return [limit + value * base // 100 for limit, base in zip(given, bases, strict=True)]

    even = least(
        max(1, percent(floors)), percent(ample), lambda value: ask(raised(value)), lambda entry: percent(needs(entry))
    )
    if even.answer is None:
        return None
    answer, proven = even.answer, True
    limits = [max(pair) for pair in zip(given, needs(answer), strict=True)]
    for k, limit in enumerate(given):
        # In one pass: what a limit cannot do without now, it cannot do without once the later ones are lower.
        item = least(
            max(limit, floors[k]),
            limits[k],
            lambda value, k=k: ask([*limits[:k], value, *limits[k + 1 :]]),  # type: ignore[misc]
            lambda entry, k=k: needs(entry)[k],  # type: ignore[misc]
            answer,
        )
        assert item.value is not None
        assert item.answer is not None
        limits[k], answer, proven = item.value, item.answer, proven and item.proven
    return Raised(tuple(limits), answer, even.value if even.proven else None, proven)
