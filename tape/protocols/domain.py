"""What an environment tells the engine about one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from tape.budget import Resources
from tape.protocols.types import Action, Observation, Prediction, State


class Domain(Protocol):
    """What an environment tells the engine about one task."""

    @property
    def deterministic(self) -> bool:
        """Whether an action in a state always has the same outcome."""

    def key(self, state: State) -> str:
        """The identity of an abstract state: no history, step number or remaining budget."""

    def render(self, state: State) -> str:
        """A small picture of a state, for people."""

    def project(self, observation: Observation) -> State:
        """The exact projector z: from an observation to its abstract state."""

    def admissible(self, state: State) -> Sequence[Action] | None:
        """The texts that are actions in this environment, or None where they are open."""

    def cost(self, state: State, action: Action) -> Resources:
        """The declared worst case of an action."""


@runtime_checkable
class DeclaredDomain(Domain, Protocol):
    """A domain whose actions declare what they lead to and what they cost, as calls of tools do; optional.

    No model predicts their outcomes. Variants of an action are part of the plan graph wherever a plan takes one of
    them, so the solver chooses among them. Its ends, for instance answers, are worth their score, however many steps
    they take. Every action leads to a state in which it was not before, so paths cannot go round in circles.
    """

    def outcome(self, state: State, action: Action) -> Prediction:
        """What is declared to come of an action; ``Prediction(None)`` where it cannot be taken."""

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """All that do the same at another price or quality, the action among them.

        Of paths of equal worth the one is taken that has the variants named first at its beginning.
        """

    def is_end(self, state: State) -> bool:
        """Whether nothing can be done any more."""

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every tool or other family of actions, by its name."""


@runtime_checkable
class GradedDomain(DeclaredDomain, Protocol):
    """A declared domain in which what is done on the way to an end is worth something by itself; optional.

    Of paths to ends of equal score that have equally many steps the one with the larger sum is best.
    """

    def worth(self, state: State) -> float:
        """What having come to a state adds, in [-1, 1]; depends on its key alone."""


@runtime_checkable
class SavingDomain(DeclaredDomain, Protocol):
    """A declared domain in which the best way to an end is the cheapest; optional.

    Of ends of equal score that is best to which the path uses least of one resource, in the worst case.
    """

    @property
    def saves(self) -> str:
        """The resource."""


@runtime_checkable
class PlanningDomain(DeclaredDomain, Protocol):
    """A declared domain that finds whole plans by exact search through what it declares; optional.

    It takes the model's place where ``proposer="declared"`` asks for it, and nowhere else.
    """

    def plans(self, state: State, remaining: Mapping[str, int], count: int) -> Sequence[Sequence[Action]]:
        """The best plans from a state, best first, at most so many; none where nothing leads to an end.

        Where no plan fits what remains, those that need least, so that it can be said what would do.
        """


@runtime_checkable
class DeclaresCosts(Domain, Protocol):
    """A domain that names what its actions cost although they are open text; optional."""

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every family of actions, by its name."""


@runtime_checkable
class MarksDestructive(Domain, Protocol):
    """A domain that says which actions may destroy what cannot be brought back; optional."""

    def destructive(self, action: Action) -> bool:
        """Whether an action, taken in whichever state, may destroy something."""


@runtime_checkable
class SpellsOut(Domain, Protocol):
    """A domain whose actions refer to what was obtained before; optional."""

    def spelled_out(self, state: State, action: Action) -> str:
        """The action as it will be executed in a state, with what it refers to filled in, for people to read."""


@runtime_checkable
class BreaksPlans(Domain, Protocol):
    """A domain in which a step that came to nothing changes what the rest of a plan does; optional.

    Asked by what follows a plan without looking (open loop, no replanning), which then ends the plan there.
    """

    def breaks(self, before: State, after: State) -> bool:
        """Whether the plan made before a step must not be followed after it."""


@runtime_checkable
class TellsTask(Domain, Protocol):
    """A domain that has words for what is to be done; optional. They are for traces and people, not for prompts."""

    def task_text(self) -> str:
        """The task in one or a few sentences."""
