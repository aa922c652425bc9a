"""Hypotheses: candidate paths and their preconditions (AEC definition 3.1, appendix B.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tape.budget import Resources
from tape.engine.select import Path
from tape.methods.aec.verifier import PlanVerdict
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Predicate


@dataclass(frozen=True)
class Hypothesis:
    """One path of the plan graph, judged by the current facts.

    Attributes:
        path: The path.
        verdict: The verifier's verdict.
        expected: Pre(h) with the expected values; without the goal's if paths are not verified.
        missing: The part of it that no grounded or entailed fact covers.
    """

    path: Path
    verdict: PlanVerdict
    expected: Assignment
    missing: Mapping[Predicate, bool]

    @property
    def actions(self) -> tuple[Action, ...]:
        """Its actions."""
        return actions_of(self.path)


def actions_of(path: Path) -> tuple[Action, ...]:
    """A path's actions."""
    return tuple(edge.action for edge in path.edges)


def costs_of(path: Path) -> tuple[Resources, ...]:
    """The worst-case cost of each step of a path."""
    return tuple(edge.cost for edge in path.edges)


def remainder(actions: Sequence[Action], done: Sequence[Action]) -> tuple[Action, ...]:
    """The rest of a plan after its common prefix with some actions."""
    same = 0
    while same < min(len(actions), len(done)) and actions[same] == done[same]:
        same += 1
    return tuple(actions[same:])
