"""The smallest larger budgets with which a better path is selected: of one kind alone, or of several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tape.analysis.why.relaxation import Pick, Selections

_PARTS = 100
"""Budgets that have to grow together are raised in so many parts of what was left."""


class Rises:
    """What more of the budgets would buy.

    Args:
        found: The graph and the budgets.
        than: The path that the rule picks under them.
    """

    def __init__(self, found: Selections, than: Pick) -> None:
        self._found, self._than = found, than
        self._left = dict(found.rule.left)

    def alone(self, kind: str) -> tuple[int, Pick] | None:
        """The smallest count of one budget, all others as they were, with which the rule picks a better path.

        With more of a budget more paths fit, and the horizon may grow. Between two steps of the horizon what is best
        can only become better, so a bisection is exact; the steps are looked at one after the other, but for those
        that can be ruled out together (:meth:`_first_possible`).

        Args:
            kind: The budget.

        Returns:
            The count and the path; None if no count would do.
        """
        least: int | None = self._left[kind] + 1
        found = self._found
        if found.acyclic and found.rule.horizon >= len(found.graph.nodes) - 1:
            least = self._first_possible(kind)
        if least is None:
            return None
        for low, high in self._ranges(kind, least):
            count = self._least(kind, low, high)
            if count is not None:
                return count, self._picked({kind: count})
        return None

    def longer(self) -> tuple[int, Pick] | None:
        """The smallest longer horizon with which the rule picks a better path, where the horizon is fixed.

        Looked at are as many more moves as there are nodes.

        Returns:
            The horizon and the path; None if none does, or the horizon follows from the budgets.
        """
        rule = self._found.rule
        if rule.patience is None:
            for horizon in range(rule.horizon + 1, rule.horizon + len(self._found.graph.nodes) + 1):
                pick = self._found.pick(horizon=horizon)
                if pick is not None and self._found.better(pick, self._than):
                    return horizon, pick
        return None

    def together(self, alone: Sequence[str]) -> Iterator[tuple[dict[str, int], Pick]]:
        """Smallest sets of budgets that have to grow together for a better path.

        Args:
            alone: The budgets that do by themselves; no set holds one of them.

        Yields:
            For each set the counts that would do, of which none can be less by one while the others stay, and the path.
        """
        rest = [kind for kind in self._found.kinds if kind not in alone]
        found: list[set[str]] = []
        for size in range(2, len(rest) + 1):
            for kinds in combinations(rest, size):
                if any(smaller <= set(kinds) for smaller in found):
                    continue
                if self._better(self._found.unlimited(*kinds)) is not None:
                    found.append(set(kinds))
                    counts = self._lowered(self._evenly(kinds))
                    yield counts, self._picked(counts)

    def _picked(self, counts: Mapping[str, int]) -> Pick:
        pick = self._found.pick({**self._left, **counts})
        assert pick is not None, "the budgets only grew"
        return pick

    def _better(self, counts: Mapping[str, int]) -> Pick | None:
        """The better path that some counts give; None where they give none."""
        pick = self._found.pick({**self._left, **counts})
        return pick if pick is not None and self._found.better(pick, self._than) else None

    # --- together ---------------------------------------------------------------------------

    def _evenly(self, kinds: Sequence[str]) -> dict[str, int]:
        """Counts of some budgets, raised by the same share of what was left as far as needed, for a better path."""
        left, ample = self._left, self._found.ample

        def raised(part: int) -> dict[str, int]:
            return {kind: min(ample[kind], left[kind] + -(-max(1, left[kind]) * part // _PARTS)) for kind in kinds}

        low, high = 1, 1
        while (found := self._better(raised(high))) is None:
            low, high = high + 1, 4 * high  # ends where all is ample
        while low < high:
            middle = (low + high) // 2
            there = self._better(raised(middle))
            low, high, found = (middle + 1, high, found) if there is None else (low, middle, there)
        needed = {kind: max(left[kind], found.cost[kind]) for kind in kinds}
        return needed if self._better(needed) is not None else raised(high)

    def _lowered(self, counts: dict[str, int]) -> dict[str, int]:
        """Each of some counts in turn lowered as far as the others let it."""
        for kind, count in tuple(counts.items()):
            low, high = self._left[kind], count
            middle = high - 1  # most often it is what the path needs already
            while low < high:
                found = self._better({**counts, kind: middle})
                if found is None:
                    low = middle + 1
                else:
                    high = middle
                middle = (low + high) // 2
            counts = {**counts, kind: high}
        return counts

    # --- alone ------------------------------------------------------------------------------

    def _first_possible(self, kind: str) -> int | None:
        """A count below which none of a budget gives a better path; None where none does at all.

        How much better a path is than another is affine in the sum of discounts up to the horizon. So where every path
        fits into the shortest horizon, a path that is better with some horizon in between is better with the shortest
        or with the longest, too; and if one is so with a count, then one is with every larger count.
        """
        search, than = self._found, self._than

        def possible(count: int) -> Pick | None:
            left = {**self._left, kind: count}
            for number in range(than.stage + 1):
                for horizon in dict.fromkeys([search.horizon(left), search.rule.horizon]):
                    pick = search.best(number, left, horizon)
                    if pick is not None and search.better(pick, than):
                        return pick
            return None

        low, high = self._left[kind] + 1, search.ample[kind]
        found = possible(high)
        if found is None:
            return None
        while low < high:
            # What the path needs is most often the answer; then what is one less is ruled out, and that is all.
            needed = found.cost[kind]
            middle = needed if low <= needed < high else high - 1 if needed == high else (low + high) // 2
            there = possible(middle)
            low, high, found = (middle + 1, high, found) if there is None else (low, middle, there)
        return high

    def _ranges(self, kind: str, low: int) -> Iterator[tuple[int, int]]:
        """The counts of a budget from one on, as ranges with one horizon each, ascending; both ends belong to them."""
        high, cheapest = self._found.ample[kind], self._found.cheapest[kind]
        if self._found.rule.patience is not None and cheapest > 0:
            most = self._found.most_moves(self._found.unlimited(kind))
            for moves in range(low // cheapest, most):
                yield max(low, moves * cheapest), (moves + 1) * cheapest - 1
            low = max(low, most * cheapest)
        yield low, max(low, high)

    def _least(self, kind: str, low: int, high: int) -> int | None:
        """The least count of a budget in a range with one horizon at which the rule picks a better path."""
        least: int | None = None
        for number in range(self._than.stage + 1):
            end = high if least is None else least - 1
            if end < low:
                break
            goal_only = self._found.rule.stages[number].goal_only
            found = (self._first_goal if goal_only else self._first_better)(number, kind, low, end)
            least = least if found is None else found
        return least

    def _at(self, number: int, kind: str, count: int) -> Pick | None:
        left = {**self._left, kind: count}
        return self._found.best(number, left, self._found.horizon(left))

    def _first_better(self, number: int, kind: str, low: int, high: int) -> int | None:
        """The least count at which a stage's best path is better: from there on it always is."""
        found = self._at(number, kind, high)
        if found is None or not self._found.better(found, self._than):
            return None
        high = max(low, found.cost[kind])
        while low < high:
            middle = (low + high) // 2
            found = self._at(number, kind, middle)
            if found is not None and self._found.better(found, self._than):
                high = max(low, found.cost[kind])
            else:
                low = middle + 1
        return high

    def _first_goal(self, number: int, kind: str, low: int, high: int) -> int | None:
        """The least count at which a stage's best path is better and ends at a goal, as that stage asks for.

        With more of a budget a path without a goal may become the best, so each path that is best is looked at. Of
        paths of equal worth the solver has an order, so one that has given way never comes back.
        """
        last = self._at(number, kind, high)
        while True:
            here = self._at(number, kind, low)
            if here is not None and self._found.at_goal(here) and self._found.better(here, self._than):
                return low
            if last is None or (here is not None and here.path == last.path):
                return None
            first, end = low + 1, max(low + 1, last.cost[kind])
            while first < end:
                middle = (first + end) // 2
                found = self._at(number, kind, middle)
                if found is not None and (here is None or found.path != here.path):
                    end = max(first, found.cost[kind])
                else:
                    first = middle + 1
            low = end
