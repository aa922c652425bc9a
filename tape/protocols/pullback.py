"""The pullback check: the values at every interface agree with those required there (SQ-BCP; AEC section 3.5).

The operational form is ours (NOTES-AEC): for partial assignments the pullback of left and right over the predicates
is their merge, which exists if and only if they agree on every shared predicate and left has the resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tape.budget import Resources, in_units
from tape.protocols.predicates import Predicate
from tape.protocols.progression import HeldValue, Interface

WitnessKind = Literal["conflict", "lost", "uncovered", "resource"]


@dataclass(frozen=True)
class Witness:
    """Why a plan is refused.

    Attributes:
        kind: ``conflict``: a predicate holds with the other value; ``lost``: an earlier step leaves it unknown;
            ``uncovered``: no grounded or entailed fact states it (coverage); ``resource``: too little is left.
        step: The interface: the index of the next action; the number of actions for the goal.
        predicate: The predicate, unless it is about a resource.
        holds: Its value before, known or required; None if unknown.
        required: The required value.
        held: The origin of ``holds``.
        resource: The kind that is short.
        short: The missing counts; None if the cost is unknown.
    """

    kind: WitnessKind
    step: int
    predicate: Predicate | None = None
    holds: bool | None = None
    required: bool | None = None
    held: HeldValue | None = None
    resource: str = ""
    short: int | None = None

    @property
    def denied(self) -> bool:
        """Whether a fact contradicts what is required."""
        return self.held is not None and self.held.origin == "fact"

    def __str__(self) -> str:
        """One sentence."""
        where = f"at step {self.step + 1}"
        if self.kind == "resource":
            what = "an unknown amount of" if self.short is None else in_units(self.resource, self.short)
            return f"{where}: short of {what}" + (f" {self.resource}" if self.short is None else "")
        wanted = f"{self.predicate} must be {_word(self.required)}"
        if self.kind == "uncovered":
            return f"{where}: {wanted}; no grounded fact says so"
        assert self.held is not None
        by = {
            "fact": "by the facts",
            "effect": f"after step {self.held.step + 1}",
            "required": f"for step {self.held.step + 1}",
        }[self.held.origin]
        return f"{where}: {wanted}; {by} it is {_word(self.holds)}"


def _word(value: bool | None) -> str:
    return {True: "true", False: "false", None: "unknown"}[value]


def pullback(interface: Interface, step: int) -> list[Witness]:
    """The contradictions between the two sides of one interface."""
    witnesses = []
    for predicate, required in interface.right.items():
        held = interface.left.get(predicate)
        if held is None or held.value == required:
            continue
        kind: WitnessKind = "lost" if held.value is None else "conflict"
        witnesses.append(Witness(kind, step, predicate, held.value, required, held))
    return witnesses


def affordable(costs: Sequence[Resources], remaining: Mapping[str, int]) -> list[Witness]:
    """The resources that a plan runs out of, and where; time is a kind of resource here.

    ``costs`` has the worst case of each step, ``remaining`` the counts left of each capped kind at the start.
    """
    witnesses: list[Witness] = []
    for kind, left in remaining.items():
        spent = 0
        for step, cost in enumerate(costs):
            wanted = cost[kind]
            if wanted is None or spent + wanted > left:
                short = None if wanted is None else spent + wanted - left
                witnesses.append(Witness("resource", step, resource=kind, short=short))
                break
            spent += wanted
    return witnesses
