"""What a recorded trajectory would have scored without VALIDATE, REPLAN or cascade (SDP appendix C): estimates.

Nothing is played: each estimate rescales the observed score by a factor of the trajectory. How far that is from what
really happens, ``experiments.studies.sdp.ablation`` measures by playing again.
"""

from __future__ import annotations

from dataclasses import dataclass

from tape.sdp.trajectory import CertifiedTrajectory


@dataclass(frozen=True)
class Estimates:
    """Estimated scores of one episode.

    Attributes:
        validate: Without VALIDATE: every action counts as having made its predicate true.
        replan: Without REPLAN: the episode ends where its attempts at a target are used up.
        cascade: Without cascade: an action certifies one predicate at most.
    """

    validate: float
    replan: float
    cascade: float


def estimates(trajectory: CertifiedTrajectory) -> Estimates:
    """The observed score times each factor."""
    score = trajectory.ending.score
    return Estimates(
        validate=score * action_fidelity(trajectory),
        replan=score * certified_prefix_ratio(trajectory),
        cascade=score * cascade_factor(trajectory),
    )


def action_fidelity(trajectory: CertifiedTrajectory) -> float:
    """f: of the m certified steps, the share whose first attempt was certified (SDP appendix C).

    A certified step is an action with k >= 1. Its attempts are those since the step before it; an action that only
    prepares one, such as a search, is none. A step that took a replan is not correct on first, whether its target had
    been tried or there was nothing to try [ours: the paper does not say]. 0 where nothing was certified.
    """
    steps = on_first = 0
    first = True
    replanned = {plan.after for plan in trajectory.plans[1:]}
    for number, move in enumerate(trajectory.moves, start=1):
        if move.k:
            steps, on_first, first = steps + 1, on_first + first, True
        elif move.rejected or number in replanned:
            first = False
    return on_first / steps if steps else 0.0


def certified_prefix_ratio(trajectory: CertifiedTrajectory) -> float:
    """r: how much of the plan was certified at the first replan; 1 where there was none (SDP appendix C).

    The plan is the one that was given up there.
    """
    if len(trajectory.plans) < 2:
        return 1.0
    first, second = trajectory.plans[:2]
    return second.certified / (first.certified + len(first.targets))


def extra_steps(trajectory: CertifiedTrajectory) -> int:
    """The further steps that the same certificates take one by one: the sum of k - 1 (SDP appendix C)."""
    return sum(move.k - 1 for move in trajectory.moves if move.k >= 2)


def cascade_factor(trajectory: CertifiedTrajectory) -> float:
    """1 where the steps without cascade fit into the budget, else the share of them that does (SDP appendix C).

    The budget is the loop's cap on steps and the episode's on ``steps``, whichever is tighter [ours: the paper says
    neither which nor how it scores proportionally]. Where neither is known there is no limit.
    """
    extra, ending = extra_steps(trajectory), trajectory.ending
    pairs = []
    if "steps" in ending.caps:
        pairs.append((ending.caps["steps"], len(trajectory.moves) + extra))
    if "steps" in trajectory.origin.budget:
        pairs.append((trajectory.origin.budget["steps"], len(ending.actions) + extra))
    return min((cap / used for cap, used in pairs if used > cap), default=1.0)
