"""What the simulated agents achieve exactly, by dynamic programming over (state, steps taken, plan aligned)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb, fsum

from experiments.studies.toy.bounds import ErrorRates
from experiments.studies.toy.world import N_ACTIONS, Shares, World


@dataclass(frozen=True)
class Setting:
    """The injected errors and the switches of the agents.

    Attributes:
        epsilon_p: Planning error per planned action.
        epsilon_s: Sampling error per executed action.
        p_follow: How often Plan-and-Act follows a plan that still describes the state.
        plans: M, the plans that TAPE samples.
        slack: Steps of budget beyond T*.
    """

    epsilon_p: float = 0.25
    epsilon_s: float = 0.20
    p_follow: float = 0.9
    plans: int = 4
    slack: int = 2


@dataclass(frozen=True)
class Exact:
    """An exact answer.

    Attributes:
        success: Chance of the goal within the budget.
        failures: For each of the first T* steps the chance that it is not viable, given that all before it were.
        alpha: Mean over the same steps of the chance that the plan is aligned, given the same (0 without a plan).
    """

    success: float
    failures: tuple[float, ...]
    alpha: float


Acted = Iterator[tuple[int, bool, float]]
"""Action, whether the plan is still aligned after it, and chance."""


def react(world: World, setting: Setting) -> Exact:
    """ReAct: a fresh planned action each step, executed with sampling error."""

    def act(state: Hashable, remaining: int, _: bool) -> Acted:
        for action, share in enumerate(_executed(world.planned(state, remaining, setting.epsilon_p), setting)):
            yield action, False, share

    return _forward(world, setting, act, has_plan=False)


def plan_and_act(world: World, setting: Setting) -> Exact:
    """Plan-and-Act: one plan made at the start; while the episode is on the plan, it is mostly followed."""

    def act(state: Hashable, remaining: int, aligned: bool) -> Acted:
        plan = world.planned(state, remaining, setting.epsilon_p)
        own = 1.0 - setting.p_follow if aligned else 1.0
        for action, share in enumerate(_executed(plan, setting)):
            if aligned:  # the fallback keeps to the plan where it happens to do what is planned
                yield action, True, plan[action] * (setting.p_follow + own * share)
            yield action, False, own * share * (1.0 - plan[action] if aligned else 1.0)

    return _forward(world, setting, act, has_plan=True)


def tape_step(world: World, setting: Setting) -> Exact:
    """TAPE as proposition 4.4 models it: M fresh actions each step, the best viable one is executed as chosen."""

    def act(state: Hashable, remaining: int, _: bool) -> Acted:
        shares, after = world.planned(state, remaining, setting.epsilon_p), world.after(state, remaining)
        above = 0.0
        for action in sorted((a for a in range(N_ACTIONS) if after[a] is not None), key=lambda a: (after[a], a)):
            # chosen: some draw is at least as good as this action, and none is better
            chosen = (1.0 - above) ** setting.plans - max(0.0, 1.0 - above - shares[action]) ** setting.plans
            above += shares[action]
            yield action, False, chosen

    return _forward(world, setting, act, has_plan=False)


def tape_folded(horizon: int, setting: Setting, *, replan: bool) -> float:
    """TAPE with M whole plans folded by state, where every planning error is fatal (the narrow corridor).

    A plan is cut at its first non-viable action, so at each cell only the plans that got there offer one. Where the
    walk ends, M new plans are sampled if ``replan``; a start that offers nothing is the end.
    """
    good, m = 1.0 - setting.epsilon_p, setting.plans
    alive = [[comb(n, k) * good**k * (1.0 - good) ** (n - k) for k in range(n + 1)] for n in range(m + 1)]
    value = [1.0] * (m + 1)
    for _ in range(horizon):
        onwards = [fsum(alive[n][k] * value[k] for k in range(1, n + 1)) for n in range(m + 1)]
        value = [onwards[n] + (alive[n][0] * onwards[m] if replan and n else 0.0) for n in range(m + 1)]
    return onwards[m] if horizon else 1.0


def critical_steps(world: World, setting: Setting) -> int:
    """The least number of steps on which something could go wrong, over all successful episodes."""

    @cache
    def least(state: Hashable, remaining: int) -> int:
        if world.cost(state) == 0:
            return 0
        after = world.after(state, remaining)
        viable = (world.move(state, action) for action in range(N_ACTIONS) if after[action] is not None)
        return (None in after) + min(least(following, remaining - 1) for following in viable)

    return least(world.start, world.horizon + setting.slack)


def best_rates(world: World, setting: Setting) -> ErrorRates:
    """The rates kindest to the agent over all critical states that viable steps reach (valid in every bound).

    A fatal action more raises delta_b and lowers delta_r, so the same state is kindest in both.
    """
    numbers: set[tuple[float, float]] = set()
    layer: set[Hashable] = {world.start}
    for remaining in range(world.horizon + setting.slack, 0, -1):
        following: set[Hashable] = set()
        for state in layer:
            if world.cost(state) == 0:
                continue
            after = world.after(state, remaining)
            if None in after:
                rates = world.rates(state, remaining, setting.epsilon_p, setting.epsilon_s)
                numbers.add((rates.delta_b, rates.delta_r))
            following |= {world.move(state, a) for a in range(N_ACTIONS) if after[a] is not None}
        layer = following
    breaks, recovers = (min(b for b, _ in numbers), max(r for _, r in numbers)) if numbers else (0.0, 1.0)
    return ErrorRates(setting.epsilon_p, setting.epsilon_s, breaks, recovers)


def mean_distinct_bound(world: World, setting: Setting) -> float:
    """The mean of ``U_ours`` read literally: exponents are the numbers of distinct actions among M draws.

    For a corridor in which every step of TAPE looks like the first one; the draws of different steps are
    independent, so the mean of the product is the product of the means.
    """
    shares = world.planned(world.start, world.horizon + setting.slack, setting.epsilon_p)
    seen: dict[int, float] = {0: 1.0}
    for _ in range(setting.plans):
        following: dict[int, float] = defaultdict(float)
        for mask, chance in seen.items():
            for action in range(N_ACTIONS):
                following[mask | 1 << action] += chance * shares[action]
        seen = following
    one_step = fsum(chance * (1.0 - setting.epsilon_p ** mask.bit_count()) for mask, chance in seen.items())
    return float(one_step**world.horizon)


def _executed(plan: Shares, setting: Setting) -> list[float]:
    """Chances of the executed action: a deviation goes to each other action alike."""
    deviate = setting.epsilon_s / (N_ACTIONS - 1)
    return [share * (1.0 - setting.epsilon_s) + (1.0 - share) * deviate for share in plan]


def _forward(
    world: World,
    setting: Setting,
    act: Callable[[Hashable, int, bool], Acted],
    *,
    has_plan: bool,
) -> Exact:
    """Pushes the chances of (state, plan aligned) through the steps; what is not viable is dropped."""
    horizon = world.horizon
    occupied: dict[tuple[Hashable, bool], float] = {(world.start, has_plan): 1.0}
    reached, aligned, failures = [], [], []
    for taken in range(horizon + setting.slack):
        remaining = horizon + setting.slack - taken
        following: dict[tuple[Hashable, bool], float] = defaultdict(float)
        arrived = []
        for (state, on), chance in occupied.items():
            after = world.after(state, remaining)
            for action, still, share in act(state, remaining, on):
                if after[action] == 0:
                    arrived.append(chance * share)
                elif after[action] is not None and share > 0.0:
                    following[world.move(state, action), still] += chance * share
        if taken < horizon:
            before, viable = fsum(occupied.values()), fsum([*following.values(), *arrived])
            failures.append(min(1.0, max(0.0, 1.0 - viable / before)) if before > 0.0 else 1.0)
            aligned.append(fsum(chance for (_, on), chance in occupied.items() if on) / before if before > 0.0 else 0.0)
        reached += arrived
        occupied = following
    return Exact(min(1.0, fsum(reached)), tuple(failures), min(1.0, fsum(aligned) / horizon))
