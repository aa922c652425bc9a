"""The input of PROPOSE and REALIZE: typed state, never an observation (SDP section 3.1, proposition 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, Observation, State


@dataclass(frozen=True)
class CertifiedState:
    """s: the certified predicates and the projector's fields.

    Attributes:
        certified: The predicates certified so far, in order; only validation changes them.
        fields: The projector's fields of the current abstract state.
        projected: The abstract state itself, as ``Domain.project`` made it.
        left: Counts left of each capped resource.

    Raises:
        TypeError: ``projected`` is an observation, or a field holds anything but plain values.
    """

    certified: Chain
    fields: Fields
    projected: State = None
    left: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.projected, Observation):
            raise TypeError("a certified state holds the projection of an observation, never the observation")
        for name, value in self.fields:
            if not _plain(value):
                raise TypeError(f"field {name!r} of a certified state holds {type(value).__name__}, not plain values")

    @property
    def remaining(self) -> Mapping[str, int]:
        """Counts left of each capped resource."""
        return dict(self.left)


def _plain(value: object) -> bool:
    return all(map(_plain, value)) if isinstance(value, tuple) else isinstance(value, (str, int, float))


@dataclass(frozen=True)
class Attempt:
    """A failed attempt: an entry of the append-only attempt history (SDP appendix A.1).

    Attributes:
        target: The predicate that was to become true.
        action: The action; None if none could be written.
        reason: Why it was rejected.
        node: Key of the abstract state of the attempt; empty if unknown.
    """

    target: Target
    action: Action | None
    reason: str
    node: str = ""


@dataclass(frozen=True)
class MarkovState:
    """(s, plan tail, attempts): the whole input of REALIZE.

    The paper's proposition 1 conditions on (s, plan tail); REALIZE also sees the failed attempts at the current
    target (appendix A.1), so they are an explicit part of the Markov state here.

    Attributes:
        state: The certified state.
        tail: The predicates still to be certified; the first is the current target.
        attempts: The failed attempts at the current target since it became the target, or was replanned.
    """

    state: CertifiedState
    tail: Chain
    attempts: tuple[Attempt, ...] = ()

    @property
    def target(self) -> Target:
        """The current target."""
        return self.tail[0]

    @property
    def tried(self) -> tuple[Action, ...]:
        """The actions that failed at the current target, each once, in order."""
        return tuple(dict.fromkeys(attempt.action for attempt in self.attempts if attempt.action is not None))

    def tried_in(self, node: str) -> tuple[Action, ...]:
        """Those of them that failed in this abstract state or in an unknown one; elsewhere they may work."""
        here = (attempt.action for attempt in self.attempts if attempt.node in ("", node))
        return tuple(dict.fromkeys(action for action in here if action is not None))
