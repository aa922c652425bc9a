"""One point of the figure: an agent in a family of worlds at one horizon, exact, sampled, and beside its bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from random import Random
from statistics import fmean
from typing import Any

from experiments.studies.toy import exact, sampled
from experiments.studies.toy.bounds import ErrorRates, path_bound, plan_and_act_bound, react_bound, tape_bound
from experiments.studies.toy.exact import Setting
from experiments.studies.toy.world import KINDS, World, make
from tape.seeds import derive
from tape.statistics import wilson

AGENTS = {
    "react": "ReAct-like",
    "plan_and_act": "Plan-and-Act-like",
    "tape_step": "TAPE-like, M actions per step",
    "tape_folded": "TAPE-like, folded plans, replanning",
    "tape_once": "TAPE-like, folded plans, sampled once",
}
_PLAYERS: Mapping[str, sampled.Player] = {
    "react": sampled.play_react,
    "plan_and_act": sampled.play_plan_and_act,
    "tape_step": sampled.play_tape_step,
    "tape_folded": partial(sampled.play_tape_folded, replan=True),
    "tape_once": partial(sampled.play_tape_folded, replan=False),
}
TOLERANCE = 1e-9
ASSUMPTIONS = {
    "varying": "assumption 2.2 (a constant rate): where nothing is fatal, a planning error only costs slack",
    "distinct": "independence: d distinct actions come from M >= d draws, which all fail less often than d draws do",
    "redrawn": "M draws per state: replanning where a walk ends samples that state again",
    "varying, redrawn": "assumption 2.2 (a constant rate), and M draws per state: a state is sampled again by "
    "replanning and by plans that pass it twice",
}


@dataclass(frozen=True)
class Bound:
    """A bound beside a point.

    Attributes:
        name: What it is.
        value: Its value, averaged over the worlds of the point.
        broken: The assumption that does not hold here, a key of ``ASSUMPTIONS``; None if the bound is proven.
    """

    name: str
    value: float
    broken: str | None = None


@dataclass(frozen=True)
class Job:
    """What one process measures.

    Attributes:
        kind: A family of worlds, a key of ``KINDS``.
        agent: A key of ``AGENTS``.
        horizon: T*.
        setting: Errors and switches.
        seeds: Root seeds of the episodes; the worlds are the same for all.
        episodes: Episodes per seed, spread evenly over the worlds of the family.
    """

    kind: str
    agent: str
    horizon: int
    setting: Setting
    seeds: tuple[int, ...]
    episodes: int


def jobs(kinds: Sequence[str], limit: int | None, setting: Setting, seeds: Sequence[int], episodes: int) -> list[Job]:
    """Every point, in the order of the report; ``limit`` keeps the first horizons of each family."""
    return [
        Job(kind, agent, horizon, setting, tuple(seeds), episodes)
        for kind in kinds
        for agent in AGENTS
        for horizon in KINDS[kind].horizons[:limit]
    ]


def measure(job: Job) -> dict[str, Any]:
    """The point as data; the same for the same job in every process."""
    worlds = [make(job.kind, job.horizon, instance) for instance in range(KINDS[job.kind].instances)]
    values = [_exact(job, world) for world in worlds]
    known = [value.success for value in values if value is not None]
    success = fmean(known) if len(known) == len(worlds) else None
    episodes = max(1, job.episodes // len(worlds))
    successes = sum(_play(job, index, world, episodes) for index, world in enumerate(worlds))
    n = episodes * len(job.seeds) * len(worlds)
    low, high = wilson(successes, n)
    each = [_bounds(job, world, value) for world, value in zip(worlds, values, strict=True)]
    bounds = [
        Bound(some[0].name, fmean(item.value for item in some), some[0].broken) for some in zip(*each, strict=True)
    ]
    return {
        "kind": job.kind,
        "agent": job.agent,
        "T": job.horizon,
        "budget": job.horizon + job.setting.slack,
        "worlds": len(worlds),
        "exact": None if success is None else _short(success),
        "sampled": {"n": n, "successes": successes, "rate": _short(successes / n), "ci95": [_short(low), _short(high)]},
        "exact_in_ci95": None if success is None else low - TOLERANCE <= success <= high + TOLERANCE,
        "bounds": [
            {**asdict(bound), "value": _short(bound.value), "exceeded": _exceeded(bound, success, low)}
            for bound in bounds
        ],
    }


def _short(value: float) -> float:
    """Ten digits after the point: enough for every comparison, and free of the last bits' noise."""
    return round(value, 10)


def _exceeded(bound: Bound, success: float | None, low: float) -> bool:
    """Whether success is above the bound: exactly, or beyond the interval where nothing exact is known."""
    return (low if success is None else success) > bound.value + TOLERANCE


def _play(job: Job, index: int, world: World, episodes: int) -> int:
    """Successes of all episodes in one world."""
    budget, won = world.horizon + job.setting.slack, 0
    for seed in job.seeds:
        rng = Random(derive(seed, "toy", job.kind, job.agent, job.horizon, index))
        won += sum(_PLAYERS[job.agent](world, job.setting, rng, budget) for _ in range(episodes))
    return won


def _exact(job: Job, world: World) -> exact.Exact | None:
    """The exact answer, where there is a dynamic programme for it."""
    if job.agent == "react":
        return exact.react(world, job.setting)
    if job.agent == "plan_and_act":
        return exact.plan_and_act(world, job.setting)
    if job.agent == "tape_step":
        return exact.tape_step(world, job.setting)
    if not KINDS[job.kind].constant_rates:
        return None
    return exact.Exact(exact.tape_folded(job.horizon, job.setting, replan=job.agent == "tape_folded"), (), 0.0)


def _bounds(job: Job, world: World, value: exact.Exact | None) -> list[Bound]:
    """The bounds beside a point: the paper's with T*, then what is proven here, tightest last."""
    setting, horizon = job.setting, job.horizon
    constant = KINDS[job.kind].constant_rates
    broken = None if constant else "varying"
    rates, steps = exact.best_rates(world, setting), exact.critical_steps(world, setting)
    if job.agent == "react":
        bounds = [Bound("U_ReAct", react_bound(horizon, rates), broken)]
        critical = react_bound(steps, rates)
    elif job.agent == "plan_and_act":
        assert value is not None
        bounds = [
            Bound("U_PA, alpha 1", _kindest_alpha(horizon, rates, setting), broken),
            Bound(
                "U_PA, mean alpha",
                plan_and_act_bound(horizon, rates, alpha=value.alpha, p_follow=setting.p_follow),
                broken,
            ),
        ]
        critical = _kindest_alpha(steps, rates, setting)
    elif job.agent == "tape_step":
        bounds = [Bound("U_ours, M draws", tape_bound(horizon, setting.epsilon_p, setting.plans), broken)]
        if constant:
            bounds.append(Bound("U_ours, d distinct", exact.mean_distinct_bound(world, setting), "distinct"))
        critical = tape_bound(steps, setting.epsilon_p, setting.plans)
    else:
        again = ("redrawn" if constant else "varying, redrawn") if job.agent == "tape_folded" else broken
        bounds = [Bound("U_ours, M draws", tape_bound(horizon, setting.epsilon_p, setting.plans), again)]
        if job.agent == "tape_folded" and constant:
            bounds.append(Bound("U_ours, 2M draws", tape_bound(horizon, setting.epsilon_p, 2 * setting.plans)))
        return bounds
    if not constant:
        bounds.append(Bound("critical steps", critical))
    assert value is not None
    return [*bounds, Bound("measured rates", path_bound(value.failures))]


def _kindest_alpha(horizon: int, rates: ErrorRates, setting: Setting) -> float:
    """The larger of the bounds for a plan that is always and never aligned: it is monotone in between."""
    return max(plan_and_act_bound(horizon, rates, alpha=alpha, p_follow=setting.p_follow) for alpha in (0.0, 1.0))
