"""What `select` should answer, by trying everything: written from the words of its documentation alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

from tests.tape.choice.instances import Edge, Graph, Lists


class TooManyError(Exception):
    """There is more to try than a test can."""


MOST = 3_000


@dataclass(frozen=True)
class Found:
    """A plan that fits, in the order in which plans are preferred."""

    loss: Fraction
    share: Fraction
    moves: int
    order: tuple[int, ...]
    steps: list[Any]
    spent: dict[str, Decimal]

    @property
    def key(self) -> Any:
        """Smaller is better."""
        return self.loss, self.share, self.moves, self.order


def share_of(spent: dict[str, Decimal], caps: dict[str, Decimal]) -> Fraction:
    return sum(
        (Fraction(spent.get(kind, Decimal(0))) / Fraction(cap) for kind, cap in caps.items() if cap), Fraction(0)
    )


def total(costs: list[dict[str, Decimal]]) -> dict[str, Decimal]:
    return {kind: sum((cost.get(kind, Decimal(0)) for cost in costs), Decimal(0)) for cost in costs for kind in cost}


def fits(spent: dict[str, Decimal], caps: dict[str, Decimal]) -> bool:
    return all(spent.get(kind, Decimal(0)) <= cap for kind, cap in caps.items())


@lru_cache
def exact(number: float) -> Fraction:
    return Fraction(repr(number))


# --- lists ----------------------------------------------------------------------------------------


def combinations(given: Lists) -> Iterator[tuple[Fraction, tuple[int, ...], list[str]]]:
    """Every plan with every choice of variants: its value, its place in the order given, its steps."""
    for i, plan in enumerate(given.plans):
        choices = [list(enumerate(given.variants.get(step, [step]))) for step in plan]
        for taken in product(*choices):
            steps = [step for _, step in taken]
            if isinstance(given.value, list):
                value = exact(given.value[i])
            else:
                value = sum((exact((given.value or {}).get(step, 0.0)) for step in steps), Fraction(0))
            yield value, (i, *(place for place, _ in taken)), steps


def ranked_lists(given: Lists, caps: dict[str, Decimal]) -> list[Found]:
    """All plans that keep some budgets, best first, no two with the same steps; shares are of the given budgets."""
    result = []
    for value, order, steps in combinations(given):
        spent = total([given.cost[step] for step in steps])
        if fits(spent, caps):
            result.append(Found(-value, share_of(spent, given.caps), len(steps), order, steps, spent))
    result.sort(key=lambda item: item.key)
    return [item for i, item in enumerate(result) if all(item.steps != before.steps for before in result[:i])]


# --- graphs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends:
    """Where a path may end, and whether it may do so without a step, or only at the start after one."""

    nodes: set[str]
    at_once: bool


def ends_of(given: Graph) -> Ends | None:
    """None where there is nothing to end at."""
    if given.goals:
        return Ends(set(given.goals), given.start in given.goals)
    ends = {plan[-1].head for plan in given.folded}
    return Ends(ends, False) if ends else None


def earned(given: Graph, edge: Edge) -> Fraction:
    return exact(edge.reward) + exact(given.nodes[edge.head])


def is_free(edge: Edge, caps: dict[str, Decimal]) -> bool:
    return not any(edge.cost.get(kind) for kind in caps)


def endless(given: Graph, ends: Ends, caps: dict[str, Decimal]) -> bool:
    """Whether a simple circle earns and is free, on the way from the start to an end by edges each of which fits."""
    edges = [edge for edge in given.edges if fits(edge.cost, caps)]
    forth, back = {given.start}, set(ends.nodes)
    for _ in given.nodes:
        forth |= {edge.head for edge in edges if edge.tail in forth}
        back |= {edge.tail for edge in edges if edge.head in back}
    way = [edge for edge in edges if {edge.tail, edge.head} <= forth & back]

    def circles(path: list[Edge]) -> Iterator[list[Edge]]:
        for edge in way:
            if edge.tail != path[-1].head or not is_free(edge, caps):
                continue
            if edge.head == path[0].tail:
                yield [*path, edge]
            elif edge.head not in {item.head for item in path}:
                yield from circles([*path, edge])

    for edge in way:
        if not is_free(edge, caps):
            continue
        every = [[edge]] if edge.tail == edge.head else list(circles([edge]))
        if any(sum(earned(given, item) for item in circle) > 0 for circle in every):
            return True
    return False


def walks(given: Graph, ends: Ends, caps: dict[str, Decimal], *, simple: bool = False) -> Iterator[list[Edge]]:
    """Every walk from the start to an end that keeps some budgets, but those with a circle that is for nothing."""
    leading = set(ends.nodes)
    for _ in given.nodes:
        leading |= {edge.tail for edge in given.edges if edge.head in leading and fits(edge.cost, caps)}
    tried = 0
    waiting: list[tuple[list[Edge], bool]] = [([], True)]
    while waiting:
        taken, goes_on = waiting.pop()
        tried += 1
        if tried > MOST:
            raise TooManyError
        node = taken[-1].head if taken else given.start
        if node in ends.nodes and (taken or ends.at_once):
            yield taken
        for edge in given.edges if goes_on else ():
            if (
                edge.tail != node
                or edge.head not in leading
                or not fits(total([item.cost for item in [*taken, edge]]), caps)
            ):
                continue
            longer = [*taken, edge]
            again = for_nothing(given, longer, simple=simple)
            # To cut out all of a path is no way to do without a circle where a path has to have a step.
            if again == [0] and edge.head in ends.nodes and not ends.at_once:
                waiting.append((longer, False))
            elif not again:
                waiting.append((longer, True))


def for_nothing(given: Graph, taken: list[Edge], *, simple: bool) -> list[int]:
    """Where the circles begin that the last step closes and that earn nothing in all; with `simple`, all of them."""
    met = [given.start, *(edge.head for edge in taken)]
    return [
        i
        for i, node in enumerate(met[:-1])
        if node == met[-1] and (simple or sum((earned(given, edge) for edge in taken[i:]), Fraction(0)) <= 0)
    ]


def ranked_graph(given: Graph, ends: Ends, caps: dict[str, Decimal], *, simple: bool = False) -> list[Found]:
    """All such walks, best first; shares are of the given budgets."""
    place = {edge.action: i for i, edge in enumerate(given.edges)}
    result = []
    for taken in walks(given, ends, caps, simple=simple):
        assert all(a.head == b.tail for a, b in pairwise(taken))
        spent = total([edge.cost for edge in taken])
        value = sum((earned(given, edge) for edge in taken), Fraction(0))
        order = tuple(place[edge.action] for edge in taken)
        steps = [edge.action for edge in taken]
        result.append(Found(-value, share_of(spent, given.caps), len(taken), order, steps, spent))
    return sorted(result, key=lambda item: item.key)


def least(spents: list[dict[str, Decimal]], caps: dict[str, Decimal], kind: str) -> Decimal | None:
    """The least budget of one kind with which one of these fits, the others as they are."""
    others = {name: cap for name, cap in caps.items() if name != kind}
    return min((spent.get(kind, Decimal(0)) for spent in spents if fits(spent, others)), default=None)
