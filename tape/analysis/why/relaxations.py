"""Minimal relaxations: the least larger budgets, one alone or several together, with which a better path is selected.

A question is asked of the agent's own rule, and :mod:`solvers.relaxations` finds the least counts. With more of a
budget more paths fit, but the horizon may grow too. Between two steps of the horizon what is best can only become
better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from solvers.relaxations import least, together
from tape.analysis.why.selections import Pick, Selections


@dataclass(frozen=True)
class Better:
    """Counts of some budgets (or of the horizon), and the better path that the rule picks with them."""

    counts: Mapping[str, int]
    pick: Pick


class Relaxations:
    """What more of the budgets would buy."""

    def __init__(self, selections: Selections, than: Pick) -> None:
        self._found, self._than = selections, than
        self._left = dict(selections.rule.left)

    def alone(self, kind: str) -> Better | None:
        """The smallest count of one budget, all others as they were, with which the rule picks a better path.

        Returns:
            None if no count would do.
        """
        start: int | None = self._left[kind] + 1
        if self._found.acyclic and self._found.rule.horizon >= len(self._found.graph.nodes) - 1:
            start = self._first_possible(kind)
        for low, high in () if start is None else self._ranges(kind, start):
            count: int | None = low
            while count is not None:
                better = self._better({kind: count})
                if better is not None:
                    return better
                changes = [self._next_change(number, kind, count, high) for number in range(self._than.stage + 1)]
                count = min((change for change in changes if change is not None), default=None)
        return None

    def longer(self) -> Better | None:
        """The smallest longer horizon with which the rule picks a better path, where the horizon is fixed.

        Looked at are as many more moves as there are nodes.

        Returns:
            None if none does, or the horizon follows from the budgets.
        """
        rule = self._found.rule
        if rule.patience is None:
            for horizon in range(rule.horizon + 1, rule.horizon + len(self._found.graph.nodes) + 1):
                pick = self._found.pick(horizon=horizon)
                if pick is not None and self._found.better(pick, self._than):
                    return Better({"horizon": horizon}, pick)
        return None

    def together(self, alone: Sequence[str]) -> Iterator[Better]:
        """Smallest sets of budgets that have to grow together for a better path.

        Args:
            alone: The budgets that suffice alone; no set holds one of them.

        Yields:
            For each set counts of which none can be less by one while the others stay.
        """
        rest = [kind for kind in self._found.kinds if kind not in alone]
        texts: list[set[str]] = []
        for size in range(2, len(rest) + 1):
            for kinds in combinations(rest, size):
                if not any(smaller <= set(kinds) for smaller in texts):
                    better = self._raised(kinds)
                    if better is not None:
                        texts.append(set(kinds))
                        yield better

    def _better(self, counts: Mapping[str, int]) -> Better | None:
        """The better path that some counts give; None where they give none."""
        pick = self._found.pick({**self._left, **counts})
        return Better(counts, pick) if pick is not None and self._found.better(pick, self._than) else None

    def _raised(self, kinds: Sequence[str]) -> Better | None:
        """Counts of some budgets, evenly raised as far as needed, and each then lowered as far as the others let it."""

        def ask(counts: Sequence[int]) -> Better | None:
            outcome = self._better(dict(zip(kinds, counts, strict=True)))
            if outcome is None:
                return None
            # With no more than the path needs the horizon may be shorter, and another path be picked.
            needed = {kind: max(self._left[kind], outcome.pick.cost[kind]) for kind in kinds}
            return self._better(needed) or outcome

        result = together(
            [self._left[kind] for kind in kinds],
            [0] * len(kinds),
            [self._found.ample[kind] for kind in kinds],
            ask,
            lambda better: [better.counts[kind] for kind in kinds],
        )
        return None if result is None else self._better(dict(zip(kinds, result.limits, strict=True)))

    # --- alone ------------------------------------------------------------------------------

    def _first_possible(self, kind: str) -> int | None:
        """A count below which none of a budget gives a better path; None where none does at all.

        How much better a path is than another is affine in the sum of discounts up to the horizon. So where every path
        fits into the shortest horizon, a path that is better with some horizon in between is better with the shortest
        or with the longest, too; and if one is so with a count, then one is with every larger count.
        """
        search = self._found

        def possible(count: int) -> Pick | None:
            left = {**self._left, kind: count}
            for number in range(self._than.stage + 1):
                for horizon in dict.fromkeys([search.horizon(left), search.rule.horizon]):
                    pick = search.best(number, left, horizon)
                    if pick is not None and search.better(pick, self._than):
                        return pick
            return None

        high = search.ample[kind]
        known = possible(high)
        if known is None:
            return None
        return least(self._left[kind] + 1, high, possible, lambda pick: pick.cost[kind], known).value

    def _ranges(self, kind: str, low: int) -> Iterator[tuple[int, int]]:
        """The counts of a budget from one on, as ranges with one horizon each, ascending; both ends belong to them."""
        high, cheapest = self._found.ample[kind], self._found.cheapest[kind]
        if self._found.rule.patience is not None and cheapest > 0:
            most = self._found.most_moves(self._found.unlimited(kind))
            for moves in range(low // cheapest, most):
                yield max(low, moves * cheapest), (moves + 1) * cheapest - 1
            low = max(low, most * cheapest)
        yield low, max(low, high)

    def _next_change(self, number: int, kind: str, count: int, high: int) -> int | None:
        """The least larger count, with the same horizon, at which a stage's best path is another; None if it never is.

        Of paths of equal value the solver has an order, so a path that has given way never comes back.
        """
        here, last = self._at(number, kind, count), self._at(number, kind, high)
        if last is None or (here is not None and here.path == last.path):
            return None

        def other(count: int) -> Pick | None:
            result = self._at(number, kind, count)
            return None if result is None or (here is not None and result.path == here.path) else result

        return least(count + 1, high, other, lambda pick: pick.cost[kind], last).value

    def _at(self, number: int, kind: str, count: int) -> Pick | None:
        left = {**self._left, kind: count}
        return self._found.best(number, left, self._found.horizon(left))
