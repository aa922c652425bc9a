"""One observation of which it is known how many predicates of a plan tail it really satisfies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tape.sdp.operators import Outcome, Validate, Verdict
from tape.sdp.target import Chain


@dataclass(frozen=True)
class Case:
    """A case for a validator.

    Attributes:
        family: What is hard about it: ``plain``, ``wrong_object``, ``negation``, ``truncated``, ...
        tail: The plan tail.
        outcome: What the validator is shown.
        k: How many consecutive predicates of the tail really hold.
    """

    family: str
    tail: Chain
    outcome: Outcome
    k: int


@dataclass(frozen=True)
class Chosen:
    """The environment's validator, of the task that a case is about.

    Attributes:
        of: That validator.
    """

    of: Callable[[Chain, Outcome], Validate]

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """As in an episode of that task."""
        return await self.of(tail, outcome).validate(tail, outcome)
