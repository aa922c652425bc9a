"""The success bounds of TAPE's section 4 as functions: ReAct, Plan-and-Act and TAPE.

A step is *viable* if the goal can still be reached within the remaining budget after it (definition 2.1; with a
budget the remaining budget is part of the state). Success needs every step up to the goal to be viable, and at
least T of them. So a chance of a viable step that never exceeds q, whatever came before, bounds success by ``q**T``.
Each function states what else it assumes; ``docs/evidence/theory.md`` has the proofs, and says where the paper's
statements had to be corrected. ``python -m experiments.studies.toy`` compares the bounds with simulated agents.

Every bound is computed from the chance of a *non-viable* step, a sum of non-negative terms, and powers are taken
through ``log1p``: errors far below 1e-16 and horizons of millions keep full precision. ``log=True`` gives the natural
logarithm, which stays finite where the bound itself is smaller than any float.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tape.errors import ConfigError


@dataclass(frozen=True)
class ErrorRates:
    """The four rates of section 2.3, each conditional on everything that happened before the step.

    Attributes:
        epsilon_p: Planning error: chance that the planned action is not viable (assumption 2.2, eq. 4).
        epsilon_s: Sampling error: chance that another action than the planned one is executed, whether or not the
            planned one is viable (assumption 2.3, eq. 5).
        delta_b: Chance that such a deviation from a viable planned action breaks viability (assumption 2.4).
        delta_r: Chance that such a deviation from a non-viable planned action recovers viability (assumption 2.4).

    Raises:
        ConfigError: A rate is not a number in [0, 1].
    """

    epsilon_p: float
    epsilon_s: float = 0.0
    delta_b: float = 1.0
    delta_r: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon_p", "epsilon_s", "delta_b", "delta_r"):
            _check_share(f"ErrorRates.{name}", getattr(self, name))

    @property
    def step_failure(self) -> float:
        """Chance that a ReAct step is not viable: ``ep (1 - es dr) + (1 - ep) es db``.

        The complement of the paper's one-step success (eq. 21 in appendix D.1), as a sum without cancellation.
        """
        lost = self.epsilon_p * (1.0 - self.epsilon_s * self.delta_r)
        return min(1.0, lost + (1.0 - self.epsilon_p) * self.epsilon_s * self.delta_b)

    @property
    def deviation_harm(self) -> float:
        """What a deviation costs: ``(1 - ep) db - ep dr``.

        Where it is >= 0, fewer sampling errors mean a higher bound (proposition 4.2, eq. 26), and so
        ``U_PA >= U_ReAct`` and ``U_ours >= U_PA``. Where it is negative all three turn round: deviating from bad
        plans is then a gain, and suppressing it a loss.
        """
        return (1.0 - self.epsilon_p) * self.delta_b - self.epsilon_p * self.delta_r

    @property
    def falls_with_planning_error(self) -> bool:
        """Whether a higher ``epsilon_p`` lowers the ReAct bound: ``es (db + dr) <= 1``.

        Proposition 4.2 claims it under the condition of :attr:`deviation_harm`, which is not enough: with
        ``es = db = dr = 1`` and ``ep < 1/2`` that condition holds, yet one step succeeds with probability ``ep``.
        """
        return self.epsilon_s * (self.delta_b + self.delta_r) <= 1.0


def react_bound(horizon: int, rates: ErrorRates, *, log: bool = False) -> float:
    """The upper bound of ReAct's success, ``U_ReAct`` (proposition 4.2, eq. 12).

    ``U_ReAct = ((1 - ep)(1 - es db) + ep es dr) ** T``.

    Assumes that every successful episode takes at least ``horizon`` steps, and that at each of them, given any
    viable past, the planned action is non-viable with probability ``epsilon_p``, deviates with ``epsilon_s``
    independently of that, and breaks or recovers viability with ``delta_b`` and ``delta_r``. Rates that vary may be
    replaced by the ones that are best for the agent (smallest step failure). Rates that differ between episodes (easy
    and hard tasks, good and bad days of a model) must not be pooled: those that have survived for long are the easy
    ones, and their mean success is above the bound of the mean rate. Steps at which nothing can go wrong
    must not be counted: where the budget has slack or no action is fatal, the rate is not ``epsilon_p`` but 0; pass
    the least number of critical steps instead of T then (``docs/evidence/theory.md``).

    Equality holds where T viable steps are the goal, for instance where the budget is T steps exactly.

    Args:
        horizon: T, the least number of steps to the goal, >= 0.
        rates: The rates of section 2.3.
        log: Return the natural logarithm (-inf for a bound of 0).

    Returns:
        The bound, in [0, 1].

    Raises:
        ConfigError: ``horizon`` is not a whole number >= 0.
    """
    _check_count("horizon", horizon, least=0)
    return _power(rates.step_failure, horizon, log)


def effective_sampling_error(epsilon_s: float, alpha: float, p_follow: float) -> float:
    """The sampling error that following a plan leaves: ``(1 - alpha p_follow) es`` (proposition 4.3).

    Args:
        epsilon_s: Sampling error of the fallback, a ReAct step.
        alpha: Chance that the plan still describes the current state.
        p_follow: Chance that a plan that does is followed (section 2.2, eq. 2).

    Raises:
        ConfigError: An argument is not a number in [0, 1].
    """
    for name, value in (("epsilon_s", epsilon_s), ("alpha", alpha), ("p_follow", p_follow)):
        _check_share(name, value)
    return (1.0 - alpha * p_follow) * epsilon_s


def plan_and_act_bound(horizon: int, rates: ErrorRates, *, alpha: float, p_follow: float) -> float:
    """The upper bound of Plan-and-Act's success, ``U_PA`` (proposition 4.3, eq. 34).

    ``U_ReAct`` with the sampling error of :func:`effective_sampling_error`.

    Assumes what :func:`react_bound` assumes; that an action of the plan made in advance is non-viable with
    ``epsilon_p`` given that the steps before were viable; and that whether it is followed does not depend on that.
    The paper's constant ``alpha`` cannot be meant literally: a plan that was left once stays left. The bound holds
    if ``alpha`` is the mean over the T steps of the chance that the plan is aligned *given that all steps so far
    were viable*. Where ``rates.deviation_harm >= 0``, as the comparison with ReAct also needs, any larger ``alpha``,
    such as 1, is valid too.

    Args:
        horizon: T, the least number of steps to the goal, >= 0.
        rates: The rates of section 2.3; ``epsilon_s`` is that of the fallback.
        alpha: Chance of alignment, see above.
        p_follow: Chance that an aligned plan is followed.

    Returns:
        The bound, in [0, 1]; at least :func:`react_bound` where ``rates.deviation_harm >= 0``.

    Raises:
        ConfigError: An argument is out of range.
    """
    left = effective_sampling_error(rates.epsilon_s, alpha, p_follow)
    return react_bound(horizon, ErrorRates(rates.epsilon_p, left, rates.delta_b, rates.delta_r))


def tape_bound(horizon: int, epsilon_p: float, draws: int | Sequence[int], *, log: bool = False) -> float:
    """The upper bound of TAPE's success, ``U_ours`` (proposition 4.4, eq. 36), with draws as the exponent.

    ``U_ours = prod over t of (1 - ep ** draws_t)``.

    Assumes what :func:`react_bound` assumes of the horizon; no sampling error (constrained execution); and that the
    ``draws_t`` actions that were ever sampled at the state of step t are non-viable with ``epsilon_p`` each,
    independently or positively dependent (independent given something that they share, such as a blind spot of the
    model at that state). It is reached where the solver takes a viable action whenever one was sampled and T viable
    steps are the goal.

    **The exponent.** The paper puts ``d(v_t)``, the number of *distinct* sampled actions, there, and calls them
    independent. Neither holds together: M independent samples all fail with ``ep ** M``, however many of them
    coincide, and since ``d <= M`` the product with ``d`` lies *below* what the agent can reach: it is no upper bound.
    Pass the number of draws. A state that is sampled again (replanning there, or a plan that passes it twice)
    counts all of its draws; unlimited resampling has only the trivial bound 1. Draws that repel each other, as
    sampling without replacement does, are not covered.

    Args:
        horizon: T, the least number of steps to the goal, >= 0.
        epsilon_p: Planning error of one draw.
        draws: Draws per state: one number for all steps (M, where every plan reaches every state), or T numbers.
        log: Return the natural logarithm.

    Returns:
        The bound, in [0, 1].

    Raises:
        ConfigError: An argument is out of range, or there is not one number of draws per step.
    """
    _check_count("horizon", horizon, least=0)
    _check_share("epsilon_p", epsilon_p)
    if isinstance(draws, int):
        _check_count("draws", draws, least=1)
        return _power(epsilon_p**draws, horizon, log)
    if len(draws) != horizon:
        raise ConfigError(
            f"draws: {len(draws)} numbers for a horizon of {horizon}; give one per step, or one for all steps"
        )
    for step, count in enumerate(draws):
        _check_count(f"draws[{step}]", count, least=1)
    return path_bound([epsilon_p**count for count in draws], log=log)


def path_bound(failures: Sequence[float], *, log: bool = False) -> float:
    """The bound behind all others (appendix D, eq. 22): ``prod (1 - f_t)``.

    Assumes only that step t is non-viable with probability at least ``failures[t]``, given any viable past. Use it
    where rates change along the way.

    Args:
        failures: The chance of a non-viable step, for each step that a success must take.
        log: Return the natural logarithm.

    Raises:
        ConfigError: A chance is not a number in [0, 1].
    """
    for step, failure in enumerate(failures):
        _check_share(f"failures[{step}]", failure)
    total = -math.inf if 1.0 in failures else math.fsum(math.log1p(-failure) for failure in failures)
    return total if log else math.exp(total)


def _power(failure: float, horizon: int, log: bool) -> float:
    """``(1 - failure) ** horizon``; an empty product is 1 even of zeros."""
    if horizon == 0:
        return 0.0 if log else 1.0
    total = -math.inf if failure == 1.0 else horizon * math.log1p(-failure)
    return total if log else math.exp(total)


def _check_share(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name} is {value!r}; a probability is a number from 0 to 1")


def _check_count(name: str, value: int, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} is {value!r}; give a whole number of at least {least}")
