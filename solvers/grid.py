"""The exact grid on which objectives are compared: rewards, times their discount, rounded once to a decimal.

A path of m moves is worth its moves' rewards, and the rest of the horizon at its end. Where the best paths make at most
M moves (`solvers.horizon`), every path of interest stays from step M on: all that its end decides there is one number,
its *rest*. Only differences between rests matter; so the richest end gets 0, and a difference that no M moves could
make up for is cut to just that. The order of the paths stays what it was, and long horizons take no digits away from
the rewards on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from solvers.deadline import NEVER, SolveDeadline
from solvers.horizon import useful_moves
from solvers.memory import require_memory
from solvers.problem import PathProblem

_LARGEST_UNITS = 2.0**49
_LARGEST_SCORE = 2.0**58
_NO_DOUBT = 1e-7
"""Objectives that are told apart by this are so by any measure."""


class Grid(NamedTuple):
    """How paths of at most so many moves are compared.

    Attributes:
        moves: M, at most the horizon.
        weights: The weight of each of the M steps; empty without a discount, where all are 1.
        scale: Units of the exact objective per objective, a power of ten.
        rests: For each node the units of staying there after M steps; empty where M is the horizon. 0 for nodes that
            are no terminals.
        beyond: What the richest end earns after M steps: the objective of a path is at most this more than its units.
    """

    moves: int
    weights: tuple[float, ...]
    scale: float
    rests: tuple[int, ...] = ()
    beyond: float = 0.0

    def weight(self, step: int) -> float:
        """The weight of a step."""
        return self.weights[step] if self.weights else 1.0

    def bound(self, units: int) -> float:
        """The greatest objective that a path of at most so many units can have, rounding included."""
        return (units + (self.moves + 1) / 2) / self.scale + self.beyond

    def rest(self, node: int) -> float:
        """The rest of a node, as an objective."""
        return self.rests[node] / self.scale if self.rests else 0.0


def score_grid(problem: PathProblem, wanted: int = 1, deadline: SolveDeadline = NEVER) -> Grid:
    """The grid for the `wanted` best paths of a problem."""
    horizon, rewards = problem.steps, problem.rewards
    moves = useful_moves(problem, wanted, deadline)
    weights: tuple[float, ...] = ()
    if problem.discount < 1.0:
        require_memory(40 * moves, f"the discounts of {moves:,} steps")
        weights = tuple(problem.discount**step for step in deadline.each(range(moves)))
    total = math.fsum(weights) if weights else float(moves)
    largest = max(map(abs, rewards)) * total
    if moves == horizon:
        return Grid(moves, weights, decimal_scale(largest, _room(moves)))
    spare = tail_weight(problem.discount, moves, horizon)
    ends = sorted({rewards[terminal] for terminal in problem.terminals}, reverse=True)
    widest = (max(rewards) - min(rewards)) * total
    span = sum(min(spare * (earlier_end - two), widest) for earlier_end, two in pairwise(ends))
    span = min(span, spare * (ends[0] - ends[-1])) if ends else 0.0
    scale = decimal_scale(largest + span, _room(moves))
    while True:
        rests = _rests(problem, moves, ends, scale, spare, widest)
        furthest = max(map(abs, rests.values()), default=0)
        if (largest * scale + furthest) * (moves + 1) <= _LARGEST_SCORE or scale <= 1e-300:
            break
        scale /= 10
    by_node = [0] * problem.n_nodes
    for terminal in problem.terminals:
        by_node[terminal] = rests[rewards[terminal]]
    beyond = spare * ends[0] if ends else 0.0
    return Grid(moves, weights, scale, tuple(by_node), beyond)


def _rests(
    problem: PathProblem, moves: int, ends: Sequence[float], scale: float, spare: float, widest: float
) -> dict[float, int]:
    """The rest in units for each reward of a terminal; `ends` descend."""
    rests = dict.fromkeys(ends[:1], 0)
    decisive = math.ceil(widest * scale) + moves + 1  # more than the units of any M moves can differ by
    for richer, poorer in pairwise(ends):
        if problem.discount < 1.0:
            apart = round(min(spare * (richer - poorer) * scale, 2.0 * decisive))
        else:
            apart = (problem.steps - moves) * (round(richer * scale) - round(poorer * scale))
        rests[poorer] = rests[richer] - min(apart, decisive)
    return rests


def doubt(problem: PathProblem, grid: Grid) -> float:
    """By so much, at most, a path may be better than one that is the best on the grid; 0 where rounding loses nothing.

    Rewards of magnitudes far apart, such as a penalty of -1e14 beside rewards below 1, leave much of it.
    """
    if problem.discount < 1.0 or problem.steps <= _NO_DOUBT * grid.scale:
        return (grid.moves + 1) / grid.scale
    lost = [abs(reward * grid.scale - round(reward * grid.scale)) for reward in problem.rewards]
    ends = max((lost[terminal] for terminal in problem.terminals), default=0.0)
    return 2 * (grid.moves * max(lost) + (problem.steps - grid.moves) * ends) / grid.scale


def tail_weight(discount: float, first: int, horizon: int) -> float:
    """The sum of the weights of the steps `first` .. `horizon` - 1, by its closed form."""
    if discount == 1.0:
        return float(horizon - first)
    rate = math.log1p(discount - 1.0) if discount > 0.5 else math.log(discount)
    return math.exp(rate * first) * (math.expm1(rate * (horizon - first)) / (discount - 1.0))


def most_objective(problem: PathProblem) -> float:
    """No path has a greater objective: what the richest node earns at every step, a little rounding allowed for."""
    most = max(problem.rewards) * tail_weight(problem.discount, 0, problem.steps)
    return most + 1e-9 * abs(most)


def decimal_scale(largest: float, room: float) -> float:
    """The greatest power of ten with `largest * scale <= room` , within 1e-300..1e300."""
    if largest == 0:
        return 1e300
    exponent = math.floor(math.log10(room) - math.log10(largest))
    return 10.0 ** max(-300, min(300, exponent))


def _room(moves: int) -> float:
    """The most units: those of a score, which counts moves as well, must fit into 64 bits."""
    return min(_LARGEST_UNITS, _LARGEST_SCORE / (moves + 1))


def largest_reward(horizon: int) -> int:
    """The largest whole reward with which the objectives of `horizon` moves are exact, however they are compiled."""
    moves = 2 * horizon + 1  # those of `solvers.visit`
    return int(min(_LARGEST_UNITS, _LARGEST_SCORE // (moves + 2))) // moves
