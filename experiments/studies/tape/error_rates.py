"""Planning and sampling errors (TAPE sections 2.3 and 5.2, appendix G.1) from decisions that an oracle has judged.

A decision is one executed action together with the one that the agent meant to execute. An action is *viable* in a
state with R steps left if the goal is at most R - 1 steps away after it; an invalid action leaves the state as it is
and costs its step all the same. To judge it takes an environment's oracle: for Sokoban, that is in
``experiments.studies.tape.error_analysis``. ``docs/evidence/error-analysis.md`` says how each rate is defined and what
it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from experiments.studies.toy.bounds import ErrorRates, path_bound, react_bound, tape_bound
from tape.errors import ConfigError
from tape.protocols import Action
from tape.statistics import wilson

Method = Literal["clustered", "wilson-levels", "none"]


@dataclass(frozen=True)
class Decision:
    """One executed action and the intention behind it.

    Attributes:
        step: Steps taken before it.
        remaining: Steps left before it, or None where nothing limits them.
        state_viable: Some action is viable: the goal is at most ``remaining`` steps away.
        executed: The executed action.
        executed_viable: Whether it is viable.
        intended: What the thought names, or the planned action where no thought was written; None where the thought
            names no action.
        intended_viable: Whether that is viable; None where there is no intention.
        planned: What the plan or path in force says, if there is one.

    Raises:
        ConfigError: The judgements contradict each other.
    """

    step: int
    remaining: int | None
    state_viable: bool
    executed: Action
    executed_viable: bool
    intended: Action | None = None
    intended_viable: bool | None = None
    planned: Action | None = None

    def __post_init__(self) -> None:
        if (self.intended is None) != (self.intended_viable is None):
            raise ConfigError(f"step {self.step}: an intention and its viability are known together or not at all")
        if self.intended == self.executed and self.intended_viable != self.executed_viable:
            raise ConfigError(f"step {self.step}: {self.executed!r} cannot be both viable and not")
        if not self.state_viable and (self.executed_viable or self.intended_viable):
            raise ConfigError(f"step {self.step}: no action is viable in a state from which the goal is out of reach")

    @property
    def deviates(self) -> bool:
        """Another action than the intended one was executed: a sampling error."""
        return self.intended is not None and self.intended != self.executed


@dataclass(frozen=True)
class JudgedEpisode:
    """What one episode adds to the rates.

    Attributes:
        level: The level, within which episodes are not independent.
        horizon: T, the least number of steps from the start to the goal.
        success: The goal was reached.
        decisions: The executed actions, in order.
        draws: For each plan sampled in a viable state to select a path from, whether its first action is viable there;
            an empty plan is not.
    """

    level: Hashable
    horizon: int
    success: bool
    decisions: tuple[Decision, ...]
    draws: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Rate:
    """A share of decisions with its 95 % interval.

    Attributes:
        value: ``count / n``; None where n is 0.
        count: Decisions that count.
        n: Decisions that they are among.
        levels: Distinct levels that these come from.
        low: Lower end of the interval; 0 where n is 0.
        high: Upper end; 1 where n is 0.
        method: How it was made, see :func:`ratio_interval`.
    """

    value: float | None
    count: int
    n: int
    levels: int
    low: float
    high: float
    method: Method


Test = Callable[[Decision], bool]

RATES: Mapping[str, tuple[Test, Test]] = {
    "planning_error": (lambda d: not d.intended_viable, lambda d: d.intended is not None),
    "planning_error_viable": (lambda d: not d.intended_viable, lambda d: d.intended is not None and d.state_viable),
    "sampling_error": (lambda d: d.deviates, lambda d: d.intended is not None),
    "sampling_error_viable": (lambda d: d.deviates, lambda d: d.intended is not None and d.state_viable),
    "delta_b": (lambda d: not d.executed_viable, lambda d: d.deviates and d.intended_viable is True),
    "delta_r": (lambda d: d.executed_viable, lambda d: d.deviates and d.intended_viable is False),
    "delta_r_viable": (
        lambda d: d.executed_viable,
        lambda d: d.deviates and d.intended_viable is False and d.state_viable,
    ),
    "nonviable_executed": (lambda d: not d.executed_viable, lambda _: True),
    "nonviable_executed_viable": (lambda d: not d.executed_viable, lambda d: d.state_viable),
    "unparsed": (lambda d: d.intended is None, lambda _: True),
    "off_plan": (lambda d: d.executed != d.planned, lambda d: d.planned is not None),
}
"""Per rate, what counts and what it is among; the names that end in ``_viable`` are about states still viable."""


def error_rates(episodes: Sequence[JudgedEpisode]) -> dict[str, Rate]:
    """All rates of :data:`RATES`, and ``draw_error``: the share of sampled plans that begin with a non-viable action.

    Args:
        episodes: Of one agent; their order makes no difference.
    """
    levels = [episode.level for episode in episodes]
    found = {}
    for name, (counts, among) in RATES.items():
        chosen = [[d for d in episode.decisions if among(d)] for episode in episodes]
        numerators = [sum(map(counts, decisions)) for decisions in chosen]
        found[name] = _rate(numerators, [len(decisions) for decisions in chosen], levels)
    failed = [episode.draws.count(False) for episode in episodes]
    found["draw_error"] = _rate(failed, [len(episode.draws) for episode in episodes], levels)
    return found


def clustered_ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable],
    seed: int = 0,
    resamples: int = 10_000,
) -> tuple[float, float]:
    """95 % percentile bootstrap interval of ``sum(numerators) / sum(denominators)``, resampling whole clusters.

    Args:
        numerators: Of each item.
        denominators: Of each item, >= 0; their sum is above 0.
        clusters: What each item belongs to.
        seed: The same seed and items give the same interval, whatever the items' order and the clusters' names.
        resamples: How many.

    Raises:
        ConfigError: The sequences differ in length, or there is nothing to divide by.
    """
    totals = _totals(numerators, denominators, clusters)
    if not totals:
        raise ConfigError("a ratio needs a denominator above 0; nothing was counted")
    return _resampled(tuple(totals), seed, resamples)


@lru_cache(maxsize=1_000)
def _resampled(totals: tuple[tuple[float, float], ...], seed: int, resamples: int) -> tuple[float, float]:
    """The percentiles of resampled ratios; a report asks for the same ones several times."""
    pairs = np.array(totals)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=resamples) @ pairs
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    above, below = pairs.sum(axis=0)
    return min(float(low), float(above / below)), max(float(high), float(above / below))


def ratio_interval(
    numerators: Sequence[int],
    denominators: Sequence[int],
    clusters: Sequence[Hashable],
    seed: int = 0,
    resamples: int = 10_000,
) -> tuple[float, float, Method]:
    """A 95 % interval of a share, and how it was made.

    ``clustered``: :func:`clustered_ratio`. Where all clusters have one and the same share, as where nothing ever
    counted, that would be a point; then ``wilson-levels``, Wilson's interval as if each cluster were one observation.
    ``none``: nothing was counted, so nothing is known.

    Raises:
        ConfigError: The sequences differ in length.
    """
    totals = _totals(numerators, denominators, clusters)
    if not totals:
        return 0.0, 1.0, "none"
    shares = {numerator / denominator for numerator, denominator in totals}
    if len(shares) > 1:
        return *clustered_ratio(numerators, denominators, clusters, seed, resamples), "clustered"
    [share] = shares
    return *wilson(share * len(totals), len(totals)), "wilson-levels"


def _totals(
    numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Hashable]
) -> list[tuple[float, float]]:
    """Sums per cluster, of those with a denominator, in an order that depends on the sums alone."""
    if not len(numerators) == len(denominators) == len(clusters):
        raise ConfigError(
            f"{len(numerators)} numerators, {len(denominators)} denominators and {len(clusters)} clusters; "
            "give one of each per item"
        )
    sums: dict[Hashable, tuple[float, float]] = {}
    for numerator, denominator, cluster in zip(numerators, denominators, clusters, strict=True):
        above, below = sums.get(cluster, (0, 0))
        sums[cluster] = above + numerator, below + denominator
    return sorted(pair for pair in sums.values() if pair[1] > 0)


def _rate(numerators: Sequence[int], denominators: Sequence[int], levels: Sequence[Hashable]) -> Rate:
    count, n = sum(numerators), sum(denominators)
    low, high, method = ratio_interval(numerators, denominators, levels)
    met = len({level for level, among in zip(levels, denominators, strict=True) if among})
    return Rate(count / n if n else None, count, n, met, low, high, method)


@dataclass(frozen=True)
class Bounds:
    """A level's measured success beside the bounds of :mod:`experiments.studies.toy.bounds` at the measured rates.

    Attributes:
        level: The level.
        horizon: T.
        episodes: How many were played there.
        success: Share of them that reached the goal.
        path: ``path_bound`` at the level's own rate of non-viable actions at each of the first T steps. Never below
            ``success``, whatever the world.
        react: ``react_bound`` at the rates of all episodes in viable states; None where nothing was parsed. For
            Plan-and-Act this is ``U_PA`` too: the measured sampling error is what following the plan left of it.
        ours: ``tape_bound`` at ``draw_error``; None without sampled plans.
    """

    level: Hashable
    horizon: int
    episodes: int
    success: float
    path: float
    react: float | None
    ours: float | None


def bounds(episodes: Sequence[JudgedEpisode], draws: int | None = None) -> list[Bounds]:
    """Measured success beside the bounds, per level, in the order in which levels first appear.

    ``react`` and ``ours`` assume one rate at every step of every level. Rates that differ between levels, slack in
    the budget and states that are sampled again break that, and success may then exceed them
    (``docs/evidence/theory.md``). A ``delta`` that was never observed is put in as is kindest to the agent.

    Args:
        episodes: Of one agent.
        draws: M, plans sampled at a state; None leaves ``ours`` out.

    Raises:
        ConfigError: ``draws`` is below 1, or a level has two horizons.
    """
    chosen = [d for episode in episodes for d in episode.decisions]
    shares = {name: _share(chosen, *RATES[name]) for name in RATES}
    planning, sampling = shares["planning_error_viable"], shares["sampling_error_viable"]
    harm, rescue = shares["delta_b"], shares["delta_r_viable"]
    drawn = [viable for episode in episodes for viable in episode.draws]
    rates = None
    if planning is not None and sampling is not None:
        rates = ErrorRates(planning, sampling, 0.0 if harm is None else harm, 1.0 if rescue is None else rescue)
    rows = []
    for level in dict.fromkeys(episode.level for episode in episodes):
        own = [episode for episode in episodes if episode.level == level]
        horizons = {episode.horizon for episode in own}
        if len(horizons) > 1:
            raise ConfigError(f"level {level!r} has the horizons {sorted(horizons)}; it can have but one")
        [horizon] = horizons
        row = Bounds(
            level,
            horizon,
            len(own),
            sum(episode.success for episode in own) / len(own),
            path_bound([_failure_at(own, step) for step in range(horizon)]),
            None if rates is None else react_bound(horizon, rates),
            None if draws is None or not drawn else tape_bound(horizon, drawn.count(False) / len(drawn), draws),
        )
        rows.append(row)
    return rows


def _share(decisions: Sequence[Decision], counts: Test, among: Test) -> float | None:
    chosen = [counts(decision) for decision in decisions if among(decision)]
    return sum(chosen) / len(chosen) if chosen else None


def _failure_at(episodes: Sequence[JudgedEpisode], step: int) -> float:
    """Share of non-viable actions at one step among the episodes still viable there; 0 where none is left."""
    at_step = [d for episode in episodes for d in episode.decisions if d.step == step and d.state_viable]
    return _share(at_step, lambda d: not d.executed_viable, lambda _: True) or 0.0
