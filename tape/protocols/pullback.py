"""Plans run on what is known, and the pullback check of their interfaces (AEC definition 3.3 and section 3.5; SQ-BCP).

Pre(h) and the operational form of the check are ours (NOTES-AEC). For partial assignments the pullback of left and
right over the predicates is their merge, which exists if and only if they agree on every shared predicate and left has
the resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tape.budget import Resources, in_units
from tape.errors import ConfigError
from tape.protocols import Action
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Effects, Predicate

Origin = Literal["fact", "effect", "required"]
WitnessKind = Literal["conflict", "lost", "uncovered", "resource"]


@dataclass(frozen=True)
class HeldValue:
    """A value that holds at an interface.

    Attributes:
        value: None if an effect has left it unknown.
        origin: A ``fact``, grounded or entailed; an ``effect`` of an earlier step; or only ``required`` by one.
        step: The earlier step, from 0; -1 for a fact.
    """

    value: bool | None
    origin: Origin
    step: int = -1


@dataclass(frozen=True)
class Interface:
    """The values before a step of a plan (left), and those it requires (right); the last interface is the goal's."""

    left: Mapping[Predicate, HeldValue]
    right: Assignment


@dataclass(frozen=True)
class Progression:
    """A plan run through declared preconditions and effects.

    Attributes:
        interfaces: One more than actions; the last one's right is the goal.
        pre: Pre(h): the values that some step or the goal requires and no earlier step decides [ours].
        needed_at: The first interface that requires each of them.
        established: (interface, predicate, step): required there, and an effect of that earlier step.
    """

    interfaces: tuple[Interface, ...]
    pre: Assignment
    needed_at: Mapping[Predicate, int]
    established: tuple[tuple[int, Predicate, int], ...]


def progress(
    domain: Predicates,
    known: Assignment,
    actions: Sequence[Action],
    *,
    effects: Callable[[int, Assignment], Effects] | None = None,
    goals: Sequence[Assignment] | None = None,
) -> Progression:
    """Run a plan symbolically.

    A required unknown value is assumed to hold from there on, and is in ``pre``. Of several goal alternatives the one
    with the fewest contradicted values counts, then with the fewest unknown values, then the first [ours].

    Args:
        domain: Declares preconditions, effects and goals.
        known: The values at the start.
        actions: The plan.
        effects: The changes by a step, by its number and the values before it; the domain's effects by default.
        goals: The alternatives of the goal; the domain's goals by default.

    Raises:
        ConfigError: No goal is declared.
    """
    held = {predicate: HeldValue(value, "fact") for predicate, value in known.items()}
    pre: dict[Predicate, bool] = {}
    needed_at: dict[Predicate, int] = {}
    established: list[tuple[int, Predicate, int]] = []
    interfaces: list[Interface] = []

    def require(right: Assignment) -> None:
        at = len(interfaces)
        interfaces.append(Interface(dict(held), right))
        for predicate, value in right.items():
            held_value = held.get(predicate)
            if held_value is not None and held_value.origin == "effect":
                established.append((at, predicate, held_value.step))
                continue
            pre.setdefault(predicate, value)
            needed_at.setdefault(predicate, at)
            if held_value is None:
                held[predicate] = HeldValue(value, "required", at)

    for step, action in enumerate(actions):
        require(domain.preconditions(action))
        values = {predicate: held_value.value for predicate, held_value in held.items() if held_value.value is not None}
        changed = domain.effects(action, values) if effects is None else effects(step, values)
        held |= {p: HeldValue(value, "effect", step) for p, value in changed.items()}
    goals = domain.goals() if goals is None else goals
    if not goals:
        raise ConfigError(f"{type(domain).__name__} declares no goal: goals() must name at least one alternative")
    require(min(goals, key=lambda goal: _missing(goal, held)))
    return Progression(tuple(interfaces), pre, needed_at, tuple(established))


def _missing(goal: Assignment, held: Mapping[Predicate, HeldValue]) -> tuple[int, int]:
    """The number of a goal's values that are contradicted, and that are unknown."""
    values = [(held[p].value if p in held else None, value) for p, value in goal.items()]
    return sum(has is not None and has != value for has, value in values), sum(has is None for has, _ in values)


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
