"""PROPOSE, REALIZE, VALIDATE and REPLAN (SDP definition 1, equations 1-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Required
from tape.protocols import Action, Observation, State
from tape.protocols.predicates import Assignment

How = Literal["deterministic", "completion", "visited_room", "filter", "lm", "always"]
"""How a predicate was judged.

``deterministic``: computed from the observation. ``completion``: the environment reports the task as done, so the whole
tail counts as true. ``visited_room``: an exploration predicate is credited for a new room. ``filter``: rules about the
wording accepted or rejected it, without knowing its truth. ``lm``: a model's verdict. ``always``: not judged (the
ablation without VALIDATE). All but the first can be wrong, so they are flagged wherever they are shown.
"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an action: the input of VALIDATE, the only operator that reads observations.

    Attributes:
        before: The abstract state before the action.
        action: The action.
        observation: The environment's raw output.
        after: The abstract state after it.
        completed: Whether the environment reports the task as done.
    """

    before: State
    action: Action
    observation: Observation
    after: State
    completed: bool = False


@dataclass(frozen=True)
class Check:
    """The verdict on one predicate.

    Attributes:
        holds: Whether it was found true.
        how: How it was judged.
        evidence: Evidence of the observation for or against it.
        facts: The observed values of its typed requirements, from which the check can be repeated.
    """

    holds: bool
    how: How
    evidence: str = ""
    facts: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What VALIDATE returns.

    Attributes:
        checks: One per predicate looked at: the k that hold, then the first that does not, if one was reached.
        reason: Why the first predicate that does not hold was rejected.
        counts: Whether k = 0 is a failed attempt; False for a step that only prepares one (ours).
    """

    checks: tuple[Check, ...]
    reason: str = ""
    counts: bool = True

    def __post_init__(self) -> None:
        if any(not check.holds for check in self.checks[:-1]):
            raise ValueError("a verdict ends with the first predicate that does not hold")

    @property
    def k(self) -> int:
        """Number of consecutive predicates that hold, from the current target on."""
        return sum(check.holds for check in self.checks)


@dataclass(frozen=True)
class Realized:
    """What REALIZE returns.

    Attributes:
        action: The action; None if there is none to try: the target is then replanned at once.
        text: The words around it.
        counts_if_none: Whether a missing action is a failed attempt, such as an unreadable answer.
    """

    action: Action | None
    text: str = ""
    counts_if_none: bool = False


class Propose(Protocol):
    """PROPOSE, applied until it reaches the goal (BUILDPLAN)."""

    async def propose(self, state: CertifiedState) -> Chain:
        """A chain from a state to the goal; empty if there is none."""


class Realize(Protocol):
    """REALIZE."""

    async def realize(self, at: MarkovState) -> Realized:
        """An action for the current target."""


class Validate(Protocol):
    """VALIDATE: the only operator that reads observations."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """How many consecutive predicates of the plan tail an observation satisfies."""


class Replan(Protocol):
    """REPLAN: the only operator that reads the attempt history."""

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """A new plan tail from the state to the goal; empty if there is none.

        Args:
            at: The state in which the target failed.
            history: All failed attempts of the episode, oldest first.
        """


@dataclass(frozen=True)
class Operators:
    """One implementation of each operator."""

    propose: Propose
    realize: Realize
    validate: Validate
    replan: Replan


def check_required(requires: Required, known: Assignment) -> Check:
    """Judge typed requirements by known values: at least one, and all known as required."""
    facts = tuple((str(predicate), known[predicate]) for predicate, _ in requires if predicate in known)
    wrong = [
        f"{predicate} is {'unknown' if predicate not in known else str(not value).lower()}"
        for predicate, value in requires
        if known.get(predicate) is not value
    ]
    evidence = "; ".join(wrong) or ", ".join(f"{name} is {str(value).lower()}" for name, value in facts)
    return Check(bool(requires) and not wrong, "deterministic", evidence or "nothing is required", facts)


def undecided(requires: Required, known: Assignment) -> bool:
    """Whether typed requirements may hold: some values are unknown, and none is wrong."""
    values = [known.get(predicate, value) is value for predicate, value in requires]
    return all(values) and any(predicate not in known for predicate, _ in requires)
