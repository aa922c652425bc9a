"""The order of `select`: greater value, then smaller shares of the budgets, fewer steps, edges first seen; exactly.

Solvers add up rewards in 64-bit integers. Values that do not fit are written smaller, in the same order, where their
magnitudes are far apart (a penalty of -1e14 beside values below 1). Else they are rounded, and the best paths of the
rounded problem are looked at until no other one can be better; where many are nearly as good, the search in Python
decides, whose integers have any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import solvers
from solvers import PathProblem, Status
from solvers.deadline import NEVER
from solvers.grid import largest_reward
from solvers.rcsp.plain import searched
from solvers.rcsp.plain_net import Net
from tape.errors import ConfigError, TapeError

LOOK = 4096
"""At most so many paths, or beginnings of paths in a graph with circles, are looked at for alternatives."""

_NEAR = 256
"""So many paths of a rounded problem are looked at, at most."""

_FEW_MOVES, _MOST_MOVES = 5_000, 100_000
"""Moves by step that the search in Python decides between: plans of equal value, and others; some seconds."""

_MOST_SUMS = 30_000
"""So many sums of values are compared with the rounded ones; some 40 ms."""

_LONGER = 10
"""Numbers that are written smaller compare rightly on paths so many times as long, too: those of larger budgets."""


class Ranking:
    """The paths of a problem, best first."""

    def __init__(self, problem: PathProblem, worth: Sequence[int]) -> None:
        numbers, self._rounded = comparable(worth, problem.steps, len(problem.budgets))
        capped = [k for k, budget in enumerate(problem.budgets) if budget > 0]
        self._shares = [
            [Fraction(min(row[k], problem.budgets[k]), problem.budgets[k]) for k in capped] for row in problem.costs
        ]
        self._worth, self.plain = worth, replace(problem, edge_rewards=numbers)
        self._rewards, self._slack, self._exact = self._cheapest_first(numbers, len(capped))
        self._searched = replace(problem, edge_rewards=self._rewards)

    def best(self, k: int, skip: Callable[[tuple[int, ...]], bool] | None = None) -> list[tuple[int, ...]]:
        """The k best paths by their edges, or all there are; `skip` as for `solvers.k_best`.

        Raises:
            ConfigError: Too many paths of a large graph are too near each other; says which values can be compared.
            TapeError: The solver has failed.
        """
        asked = k if self._exact else k + 1
        while asked <= max(_NEAR, k + 1):
            best_paths = solvers.k_best(self._searched, asked, skip=skip)
            if best_paths.status not in (
                Status.OPTIMAL,
                Status.INFEASIBLE,
            ):  # without a time limit it proves what it says
                raise TapeError(f"the solver has failed ({best_paths.status}): {best_paths.message}")
            paths = [solution.edges for solution in best_paths]
            if self._exact:
                return paths
            ranked = sorted(paths, key=self._key)[:k]
            if len(paths) < asked or self._of(paths[-1]) < self._of(ranked[-1]) - self._slack:
                return ranked
            asked *= 4
        if (net := self._layers()) is None:
            return ranked  # equal in value, and in all the digits of their shares that fit
        asked = k
        while True:
            paths = [path[:-1] for path in searched(net, asked, NEVER).paths]
            kept = [path for path in paths if skip is None or not skip(path)][:k]
            if len(kept) == k or len(paths) < asked or asked >= _NEAR:
                return kept
            asked *= 4

    def _layers(self) -> Net | None:
        """The moves at each step, with the whole order of paths as one cost; the last move of a path ends it.

        None where there are too many, and all that is rounded is the shares.
        """
        problem, steps, edges = self.plain, self.plain.steps, len(self.plain.edges)
        unit = math.lcm(*(share.denominator for row in self._shares for share in row))
        shares = [int(unit * sum(row, Fraction(0))) for row in self._shares]
        above = 1 + steps * max(shares)
        ranks = [(share - above * worth) * (steps + 1) + 1 for worth, share in zip(self._worth, shares, strict=True)]
        names, here, rows = {(0, problem.start): 0}, {problem.start}, list[tuple[int, int, int, tuple[int, ...], int]]()
        for step in range(steps + 1):
            now = [(edge, *ends) for edge, ends in enumerate(problem.edges) if ends[0] in here and step < steps]
            for edge, tail, head in now:
                cost = ranks[edge] * edges**steps + edge * edges ** (steps - 1 - step)
                to = names.setdefault((step + 1, head), len(names))
                rows.append((names[step, tail], to, cost, tuple(problem.costs[edge]), edge))
            ends = (names[step, node] for node in here.intersection(problem.terminals))
            rows += [(tail, -1, 0, (0,) * len(problem.budgets), edges) for tail in ends]
            here = {head for _, _, head in now}
            if len(rows) > _FEW_MOVES and not self._rounded:
                return None
            if len(rows) > _MOST_MOVES:
                largest = Decimal(max(map(abs, self._worth)))
                raise ConfigError(
                    f"too many plans are nearly as good as each other: the largest value is {largest:.3g} times what "
                    "all are multiples of, and in so large a graph values compare up to "
                    f"{largest_reward(steps):,} times; round them, or give a smaller horizon="
                )
        tails, heads, costs, use, ids = zip(*rows, strict=True)
        to_end = [len(names) if head < 0 else head for head in heads]
        no_least, most = (0,) * len(problem.budgets), tuple(problem.budgets)
        return Net(len(names) + 1, tails, to_end, costs, use, ids, no_least, most, 0, len(names), layered=True)

    def _of(self, path: Sequence[int]) -> int:
        """What the solver takes a path to be worth."""
        return sum(self._rewards[edge] for edge in path)

    def _key(self, path: tuple[int, ...]) -> tuple[int, Fraction, int, tuple[int, ...]]:
        value = sum(self._worth[edge] for edge in path)
        share = sum((fraction for edge in path for fraction in self._shares[edge]), Fraction(0))
        return -value, share, len(path), path

    def _cheapest_first(self, numbers: list[int], capped: int) -> tuple[list[int], int, bool]:
        """Rewards such that of paths of equal value the one with the smaller shares of the budgets comes first.

        Values are multiplied by more than the shares of any path can add up to, and the shares are taken off. Shares
        are exact, as numbers of the least common multiple of the budgets, where such numbers leave the objectives
        exact; else they are rounded to a decimal, or left out where none fits.

        Returns:
            The rewards; by how much more of them a path may seem better than one that is; whether none seems so.
        """
        moves, rows = self.plain.steps, self._shares
        lost = moves if self._rounded else 0  # on each edge of two paths half a unit
        largest, most = max(map(abs, numbers), default=0), largest_reward(moves)
        exact = math.lcm(*(share.denominator for row in rows for share in row))
        for parts in (exact, *(10**n for n in range(15, 0, -1))) if capped else ():
            bound = capped * (parts + moves)  # what a path's shares, each rounded, add up to at most
            if (largest + 1) * (bound + 1) <= most:
                shares = [sum(round(share * parts) for share in row) for row in rows]
                rewards = [number * (bound + 1) - share for number, share in zip(numbers, shares, strict=True)]
                slack = lost * (bound + 1) + bound if lost else 0 if parts == exact else capped * moves
                return rewards, slack, not lost and parts == exact
        return numbers, lost, not lost and not capped


def comparable(worth: Sequence[int], moves: int, budgets: int) -> tuple[list[int], bool]:
    """Values as whole numbers whose sums solvers compare exactly, and whether they are rounded for that.

    Rounded ones have nine digits at least, and leave digits for the shares of the budgets, which order equal values.
    """
    most, numbers = largest_reward(moves), [*worth]
    if max(map(abs, numbers), default=0) > most:
        numbers = _narrowed(numbers, _LONGER * moves)
    if (largest := max(map(abs, numbers), default=0)) <= most:
        return numbers, False
    finest = max(1, most // (budgets * (1000 + moves) + 2), min(most, 10**9))
    coarse = [round(Fraction(number * finest, largest)) for number in numbers]
    return coarse, not _in_order({*zip(numbers, coarse, strict=True)} - {(0, 0)}, moves)


def _in_order(values: set[tuple[int, int]], terms: int) -> bool:
    """Whether all sums of at most so many terms compare as their rounded ones do: tried where values are few."""
    if math.comb(terms + len(values), terms) > _MOST_SUMS:
        return False
    sums = [(terms, 0, 0)]
    for value, rounded in values:
        sums = [(left - n, a + n * value, b + n * rounded) for left, a, b in sums for n in range(left + 1)]
    ordered = sorted({(a, b) for _, a, b in sums})
    return all(earlier < other and below < above for (earlier, below), (other, above) in pairwise(ordered))


def _narrowed(numbers: Sequence[int], terms: int) -> list[int]:
    """Smaller numbers, of which any two sums of at most so many terms each compare as those of the given ones do.

    Each is a multiple of a unit and a rest: where no rests add up to a unit, sums compare by multiples, then by rests.
    """
    magnitudes = sorted({abs(number) for number in numbers if number})
    for small, unit in pairwise(magnitudes):
        many = [round(Fraction(number, unit)) for number in numbers] if unit > 2 * terms * small else []
        rests = [number - unit * index for number, index in zip(numbers, many, strict=False)]
        if rests and unit > 2 * terms * max(map(abs, rests)):
            many, rests = _narrowed(many, terms), _narrowed(rests, terms)
            smaller = 2 * terms * max(map(abs, rests)) + 1
            numbers = [smaller * index + rest for index, rest in zip(many, rests, strict=True)]
            break
    shared = math.gcd(*numbers) or 1
    return [number // shared for number in numbers]
