"""Hypotheses: candidate paths with what they rest on (AEC definition 3.1, appendix B.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tape.aec.verifier import Verdict
from tape.budget import Resources
from tape.engine.select import Path
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Predicate


@dataclass(frozen=True)
class Hypothesis:
    """One path of the plan graph, seen from what is grounded now.

    Attributes:
        planned: The path.
        verdict: What the verifier says of it.
        expected: Pre(h) with the expected values; without the goal's where nobody verifies.
        missing: What of it no grounded or entailed fact says.
    """

    planned: Path
    verdict: Verdict
    expected: Assignment
    missing: Mapping[Predicate, bool]

    @property
    def actions(self) -> tuple[Action, ...]:
        """Its actions."""
        return actions_of(self.planned)

    @property
    def objective(self) -> float:
        """Its worth, as the solver has it."""
        return self.planned.solution.objective or 0.0

    @property
    def cost(self) -> Resources:
        """The worst case of all its steps together."""
        return sum(costs_of(self.planned), Resources())


def actions_of(planned: Path) -> tuple[Action, ...]:
    """A path's actions."""
    return tuple(edge.action for edge in planned.edges)


def costs_of(planned: Path) -> tuple[Resources, ...]:
    """The worst case of each of a path's steps."""
    return tuple(edge.cost for edge in planned.edges)


def remainder(actions: Sequence[Action], done: Sequence[Action]) -> tuple[Action, ...]:
    """What is left of a plan after some actions, past those of them with which it begins."""
    same = 0
    while same < min(len(actions), len(done)) and actions[same] == done[same]:
        same += 1
    return tuple(actions[same:])
