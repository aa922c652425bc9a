"""What certified trajectories show (SDP section 4.2), as numbers: cascades, replans, progress, failures, verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tape.sdp.records import Judged, Move
from tape.sdp.trajectory import CertifiedTrajectory
from tape.statistics import clustered, success_interval, wilson

Trajectories = Sequence[CertifiedTrajectory]
MOST = 3
"""Cascade depths and replan counts from here on are one row."""


@dataclass(frozen=True)
class Share:
    """A mean within [0, 1].

    Attributes:
        n: Of how many.
        value: The mean; None where n is 0.
        low: Of the 95 % interval.
        high: Of the 95 % interval.
    """

    n: int
    value: float | None
    low: float
    high: float

    @property
    def shown(self) -> str:
        """For a table."""
        return "-" if self.value is None else f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def share(found: Iterable[tuple[bool, Hashable]]) -> Share:
    """A rate of what is yes or no, each with what it is repeated within: an episode, or a task."""
    pairs = list(found)
    if not pairs:
        return Share(0, None, 0.0, 1.0)
    yes, within = [one for one, _ in pairs], [where for _, where in pairs]
    low, high, _ = success_interval(yes, within)
    return Share(len(yes), sum(yes) / len(yes), low, high)


def mean(found: Iterable[tuple[float, Hashable]]) -> Share:
    """A mean of values within [0, 1]; Wilson's interval at the number of tasks where all of them are equal."""
    pairs = list(found)
    if not pairs:
        return Share(0, None, 0.0, 1.0)
    values, within = [value for value, _ in pairs], [where for _, where in pairs]
    if all(value in (0.0, 1.0) for value in values):
        return share((bool(value), where) for value, where in pairs)
    middle = fmean(values)
    low, high = clustered(values, within)
    if math.isclose(low, high):
        count = len(set(within))
        low, high = wilson(middle * count, count)
    return Share(len(values), middle, low, high)


def task_of(one: CertifiedTrajectory) -> Hashable:
    """What repeats are repeats of."""
    return one.origin.digest or one.origin.task or one.origin.episode


# --- cascades -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cascades:
    """How many predicates one action certifies.

    Attributes:
        depths: For k = 1, 2 and so on, the last with all above it: the share of the certifying actions.
        deep: The share with k >= 2.
        without_completion: The same without actions after which the environment reports the task as done: these
            certify all that is left, looked at or not.
    """

    depths: tuple[Share, ...]
    deep: Share
    without_completion: Share


def cascades(found: Trajectories) -> Cascades:
    """The distribution of cascade depths (figure 3a)."""
    moves = [(move, one.origin.episode) for one in found for move in one.moves if move.k]
    depths = []
    for k in range(1, MOST + 1):
        at = [(move.k == k or (k == MOST and move.k > k), episode) for move, episode in moves]
        depths.append(share(at))
    open_ = [(move.k >= 2, episode) for move, episode in moves if not move.completed]
    return Cascades(tuple(depths), share((move.k >= 2, episode) for move, episode in moves), share(open_))


# --- replans ------------------------------------------------------------------------------------


def score_by_replans(found: Trajectories) -> tuple[Share, ...]:
    """The mean score after 0, 1, 2 and more replans (figure 3b)."""
    groups: list[list[tuple[float, Hashable]]] = [[] for _ in range(MOST + 1)]
    for one in found:
        groups[min(one.ending.replans, MOST)].append((one.ending.score, task_of(one)))
    return tuple(map(mean, groups))


# --- progress -----------------------------------------------------------------------------------


def failed(found: Trajectories) -> list[CertifiedTrajectory]:
    """The runs that did not succeed, by the environment."""
    return [one for one in found if not one.ending.success]


def progress(found: Trajectories) -> Share:
    """How much of their chain failed runs certify (figure 3c); without a plan it is nothing."""
    return mean((one.progress, task_of(one)) for one in failed(found))


def progress_by_kind(found: Trajectories) -> dict[str, Share]:
    """For every kind, the share of the planned predicates that failed runs certify."""
    kinds: dict[str, list[tuple[bool, Hashable]]] = {}
    for one in failed(found):
        for judged in one.certified:
            kinds.setdefault(judged.target.kind, []).append((True, one.origin.episode))
        for target in one.left():
            kinds.setdefault(target.kind, []).append((False, one.origin.episode))
    return {kind: share(pairs) for kind, pairs in sorted(kinds.items())}


def certified_by_length(found: Trajectories) -> dict[int, tuple[int, float]]:
    """For every planned length, how many failed runs there are and how many predicates they certify on average."""
    lengths: dict[int, list[int]] = {}
    for one in failed(found):
        lengths.setdefault(one.ending.planned, []).append(one.ending.certified)
    return {length: (len(values), fmean(values)) for length, values in sorted(lengths.items())}


# --- failures -----------------------------------------------------------------------------------

STAGES = {
    "no_action": "REALIZE: no action could be written",
    "nothing_changed": "REALIZE: the action changed nothing",
    "not_certified": "VALIDATE: something changed, but not what was to",
}
"""What a failed attempt failed by."""

ENDS = {
    "no_chain": "PROPOSE: no chain",
    "replan_empty": "REPLAN: no chain",
    "replan_cap": "cap on replans",
    "step_cap": "cap on steps",
    "limit": "a budget, limit or fault",
    "environment": "the environment ended it",
    "wrong_goal": "VALIDATE: goal certified, task not done",
}
"""What a failed run ended by."""


def stage_of(move: Move) -> str:
    """What a failed attempt failed by."""
    if move.action is None:
        return "no_action"
    return "nothing_changed" if move.before.node == move.after.node else "not_certified"


def end_of(one: CertifiedTrajectory) -> str:
    """What a failed run ended by."""
    if one.ending.why == "goal" or one.ending.goal_certified:
        return "wrong_goal"
    if one.ending.why == "no_chain" and len(one.plans) > 1:
        return "replan_empty"
    return one.ending.why


def rejections(found: Trajectories) -> dict[str, Counter[str]]:
    """Failed attempts of all runs: by the target's kind, what they failed by."""
    table: dict[str, Counter[str]] = {}
    for one in found:
        for number, move in enumerate(one.moves):
            if move.rejected:
                table.setdefault(one.tail_at(number)[0].kind, Counter())[stage_of(move)] += 1
    return dict(sorted(table.items()))


def attempts_by_kind(found: Trajectories) -> Counter[str]:
    """Attempts at targets of each kind, those that only prepare left out."""
    tried: Counter[str] = Counter()
    for one in found:
        for number, move in enumerate(one.moves):
            if move.k or move.counts:
                tried[one.tail_at(number)[0].kind] += 1
    return tried


def endings(found: Trajectories) -> dict[str, Counter[str]]:
    """Failed runs: by the kind of the predicate they were stuck at, what they ended by."""
    table: dict[str, Counter[str]] = {}
    for one in failed(found):
        left = one.left()
        kind = left[0].kind if left else one.certified[-1].target.kind if one.certified else "none"
        table.setdefault(kind, Counter())[end_of(one)] += 1
    return dict(sorted(table.items()))


# --- calibration --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """A validator's verdicts beside the truth.

    Attributes:
        precision: Of what it certified, how much was true.
        recall: Of what was true, how much it certified.
        unknown: Verdicts whose truth the environment does not know.
    """

    precision: Share
    recall: Share
    unknown: int


def agreement(found: Trajectories) -> dict[str, Agreement]:
    """Precision and recall of the verdicts, by what they rest on, where the environment knows the truth."""
    judged: dict[str, list[tuple[Judged, str]]] = {}
    for one in found:
        for move in one.moves:
            for each in move.judged:
                judged.setdefault(each.check.how, []).append((each, one.origin.episode))
    return {
        how: Agreement(
            precision=share((bool(j.check.truth), e) for j, e in pairs if j.check.truth is not None and j.check.holds),
            recall=share((j.check.holds, e) for j, e in pairs if j.check.truth),
            unknown=sum(j.check.truth is None for j, _ in pairs),
        )
        for how, pairs in sorted(judged.items())
    }


@dataclass(frozen=True)
class Goals:
    """The goal predicate beside the environment's own verdict (figure 3d).

    Attributes:
        agree: Runs in which the goal is certified exactly where the task is done; forced answers left out.
        certified: Success where the goal was certified.
        judged: The same where it was judged by the validator, not by the environment's report.
        forced: Success where an answer was forced at a limit.
    """

    agree: Share
    certified: Share
    judged: Share
    forced: Share


def goals(found: Trajectories) -> Goals:
    """How well certifying the goal agrees with success; forced final answers apart."""

    def rate(wanted: Callable[[CertifiedTrajectory], bool], yes: Callable[[CertifiedTrajectory], bool]) -> Share:
        return share((yes(one), task_of(one)) for one in found if wanted(one))

    def by_validator(one: CertifiedTrajectory) -> bool:
        return one.ending.goal_certified and one.certified[-1].check.how != "completion"

    def success(one: CertifiedTrajectory) -> bool:
        return one.ending.success

    return Goals(
        agree=rate(lambda one: not one.ending.forced, lambda one: one.ending.goal_certified == one.ending.success),
        certified=rate(lambda one: one.ending.goal_certified and not one.ending.forced, success),
        judged=rate(lambda one: by_validator(one) and not one.ending.forced, success),
        forced=rate(lambda one: one.ending.forced, success),
    )
