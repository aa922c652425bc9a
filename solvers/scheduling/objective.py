"""Which plan is the best, as one whole number that both searches maximise.

First comes what is aimed at, then the value, then the least of the budgets (the sum of the shares of each that it
takes), then the earliest end, then the variants given first (the sum of their places). Each rank is multiplied by more
than all that come after it can add up to, so that a higher number is a better plan, and nothing is rounded: of shares
that have too many digits for it decimals count, of places that have too many none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from solvers.errors import ProblemError
from solvers.scheduling.problem import ScheduleProblem

LARGEST = 2**52
"""The objective of any plan is below: then floats hold it exactly."""


@dataclass(frozen=True)
class Objective:
    """What is maximised: the gains of the chosen variants, less `late` for each unit of the end.

    Attributes:
        gains: By step and variant.
        late: The price of a unit of time of the end, at least 0.
    """

    gains: tuple[tuple[int, ...], ...]
    late: int

    def of(self, chosen: tuple[int, ...], end: int) -> int:
        """The objective of a plan."""
        return sum(row[index] for row, index in zip(self.gains, chosen, strict=True)) - self.late * end


def objective_of_schedule(problem: ScheduleProblem) -> Objective:
    """The objective of a problem.

    Raises:
        ProblemError: Values, amounts and times together have too many digits.
    """
    exact = math.lcm(*(budget for budget in problem.budgets if budget))
    for parts in (exact, *(10**n for n in range(9, 1, -1)), 0):
        for places in (1, 0):
            ranked = _ranked(problem, parts, places)
            largest = sum(max(map(abs, row)) for row in ranked.gains) + ranked.late * problem.latest
            if largest <= LARGEST:
                return ranked
    raise ProblemError("steps", None, largest, f"values, amounts and times add up to more than {LARGEST}; scale them")


def _ranked(problem: ScheduleProblem, parts: int, places: int) -> Objective:
    """The ranks in one number, with shares as numbers of `parts`."""
    capped = [(k, budget) for k, budget in enumerate(problem.budgets) if budget]
    steps = problem.steps
    place = [[places * number for number in range(len(variants))] for variants in steps]
    share = [[sum(round(Fraction(variant.use[k] * parts, b)) for k, b in capped) for variant in row] for row in steps]
    value = [[variant.value - min(other.value for other in row) for variant in row] for row in steps]
    longest = problem.latest + 1
    below = 1 + _most(place)
    # Without its aim: the value, the shares and the places; the end stands between the last two, except as the aim.
    ends_last = problem.aim != "time"
    unit = below * longest if ends_last else below
    beside = 1 + _most(share)
    gains = [
        [(v * beside - s) * unit - p for v, s, p in zip(*row, strict=True)]
        for row in zip(value, share, place, strict=True)
    ]
    if isinstance(problem.aim, int):
        all_else = 1 + _most(value) * beside * unit + _most(share) * unit + below * longest
        least = [min(variant.use[problem.aim] for variant in row) for row in steps]
        aimed = [[variant.use[problem.aim] - low for variant in row] for row, low in zip(steps, least, strict=True)]
        gains = [[g - all_else * u for g, u in zip(*row, strict=True)] for row in zip(gains, aimed, strict=True)]
    late = below if ends_last else 1 + _most(value) * beside * unit + _most(share) * unit + below
    return Objective(tuple(map(tuple, gains)), late)


def _most(rows: list[list[int]]) -> int:
    return sum(map(max, rows))
