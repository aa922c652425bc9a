"""Credit per predicate and action (SDP table 1, last row: k is the credit signal).

An attempt that certifies k predicates earns k; each of them is 1/planned of the episode's progress. The certified
predicates' credit adds up to what is certified, so that nothing is counted twice or lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tape.sdp.operators import How
from tape.sdp.trajectory import CertifiedTrajectory


@dataclass(frozen=True)
class PredicateCredit:
    """What one predicate took and what it earned.

    Attributes:
        position: Its place among the certified predicates, from 0.
        text: The predicate in words.
        kind: Its kind.
        certified: Whether it was certified; the predicate at which a run ended may not be.
        how: By what it was judged; None if it was not certified.
        action: The action that certified it.
        k: How many predicates that action certified.
        progress: Its part of the planned chain; 0 if it was not certified.
        attempts: Attempts spent at its position, the certifying one included; 0 for one that came with another.
        prepared: Attempts at it that only prepared.
        replans: How often the tail was replaced at its position.
    """

    position: int
    text: str
    kind: str
    certified: bool
    how: How | None
    action: str | None
    k: int
    progress: float
    attempts: int
    prepared: int
    replans: int


@dataclass(frozen=True)
class Earned:
    """What an action or a kind of predicate earned in some episodes.

    Attributes:
        name: The action or kind.
        n: How often the action was taken, or how often the kind was the target or certified.
        certified: Predicates certified: by the action, or of the kind.
        attempts: Attempts spent: of the action, or at targets of the kind.
        progress: Part of the planned chains that it earned, summed over the episodes.
    """

    name: str
    n: int
    certified: int
    attempts: int
    progress: float

    @property
    def rate(self) -> float:
        """Predicates certified per attempt; 0 without an attempt."""
        return self.certified / self.attempts if self.attempts else 0.0


def credit(trajectory: CertifiedTrajectory) -> list[PredicateCredit]:
    """The certified predicates in order, and the one at which the run ended, if it was tried."""
    found: list[PredicateCredit] = []
    share = 1 / trajectory.ending.planned if trajectory.ending.planned else 0.0
    failed = prepared = 0
    for number, move in enumerate(trajectory.moves):
        if not move.k:
            failed, prepared = failed + move.counts, prepared + (not move.counts)
            continue
        replans = _replans_at(trajectory, len(found))
        for index, judged in enumerate(move.certified):
            first = index == 0
            found.append(
                PredicateCredit(
                    position=len(found), text=judged.target.text, kind=judged.target.kind, certified=True,
                    how=judged.check.how, action=trajectory.moves[number].action, k=move.k, progress=share,
                    attempts=failed + 1 if first else 0, prepared=prepared if first else 0,
                    replans=replans if first else 0,
                )
            )  # fmt: skip
        failed = prepared = 0
    left, replans = trajectory.left(), _replans_at(trajectory, len(found))
    if left and (failed or prepared or replans):
        found.append(
            PredicateCredit(
                position=len(found), text=left[0].text, kind=left[0].kind, certified=False, how=None, action=None, k=0,
                progress=0.0, attempts=failed, prepared=prepared, replans=replans,
            )
        )  # fmt: skip
    return found


def _replans_at(trajectory: CertifiedTrajectory, position: int) -> int:
    return sum(plan.certified == position for plan in trajectory.plans[1:])


def by_action(trajectories: Iterable[CertifiedTrajectory]) -> list[Earned]:
    """What every action earned, the most first; attempts without an action are not among them."""
    found: dict[str, list[float]] = {}
    for trajectory in trajectories:
        planned = trajectory.ending.planned
        for move in trajectory.moves:
            if move.action is not None:
                earned = found.setdefault(move.action, [0, 0, 0.0])
                earned[0] += 1
                earned[1] += move.k
                earned[2] += move.k / planned if planned else 0.0
    return _most_first(Earned(name, int(n), int(k), int(n), share) for name, (n, k, share) in found.items())


def by_kind(trajectories: Iterable[CertifiedTrajectory]) -> list[Earned]:
    """What the predicates of every kind took and earned, the most first; an attempt belongs to its target's kind."""
    found: dict[str, list[float]] = {}
    for trajectory in trajectories:
        for number, move in enumerate(trajectory.moves):
            tail = trajectory.tail_at(number)
            if move.k or move.counts:
                found.setdefault(tail[0].kind, [0, 0, 0, 0.0])[2] += 1
        for one in credit(trajectory):
            earned = found.setdefault(one.kind, [0, 0, 0, 0.0])
            earned[0] += 1
            earned[1] += one.certified
            earned[3] += one.progress
    return _most_first(Earned(name, int(n), int(k), int(tried), share) for name, (n, k, tried, share) in found.items())


def _most_first(found: Iterable[Earned]) -> list[Earned]:
    return sorted(found, key=lambda one: (-one.certified, one.attempts, one.name))
