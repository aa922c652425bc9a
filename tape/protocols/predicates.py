"""Typed predicates: what can be true of a task, and what a domain declares about it (AEC section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from tape.errors import ConfigError
from tape.protocols.domain import Domain
from tape.protocols.types import Action, State


class Predicate(NamedTuple):
    """A predicate over named things; its value is true or false.

    Attributes:
        name: Which predicate, for instance ``in``.
        args: What it speaks of, in order, for instance ``("apple", "fridge 1")``.
    """

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As in ``in(apple, fridge 1)``."""
        return f"{self.name}({', '.join(self.args)})"


Feature: TypeAlias = tuple[str, ...]
"""Something about the context of a predicate, of a kind rather than one thing, for instance ``("object", "apple")``."""

Assignment: TypeAlias = Mapping[Predicate, bool]
"""What is known or required: values of some predicates; the others are unknown or do not matter."""

Effects: TypeAlias = Mapping[Predicate, "bool | None"]
"""What an action changes; None where the value is unknown afterwards."""


@dataclass(frozen=True)
class QueryMacro:
    """Steps that bring the value of a predicate to light, and nothing worse than steps (AEC appendix A.2).

    Attributes:
        predicate: What is asked.
        actions: Primitive actions in order; they may change the environment, as opening a container does.
    """

    predicate: Predicate
    actions: tuple[Action, ...]


class Rule(Protocol):
    """A sound rule of inference: from grounded values to others that follow from them."""

    @property
    def name(self) -> str:
        """As reports call it."""

    def __call__(self, known: Assignment) -> Assignment:
        """What follows; may repeat what is known, never contradicts it where the rule is sound."""


@runtime_checkable
class PredicateDomain(Domain, Protocol):
    """A domain that declares typed predicates and what its actions need and do to them; optional.

    Nothing here may use more than the agent has seen and what the domain declares of its actions in general.
    """

    def ground(self, state: State) -> Assignment:
        """The grounder G (AEC eq. 9): what the observations so far show. Sound; abstains when unsure."""

    def preconditions(self, action: Action) -> Assignment:
        """What has to hold for an action to do what it is meant to do."""

    def effects(self, action: Action, known: Assignment) -> Effects:
        """What an action changes where its preconditions hold, given what is known before it."""

    def goals(self) -> Sequence[Assignment]:
        """The goal: any one of these, all of its values together."""

    def rules(self) -> Sequence[Rule]:
        """Rules of inference that are sound in this domain, if incomplete."""

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """Steps from a state that show the value of a predicate, or None where no steps are known to."""

    def bridge(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """Actions from a state that give a predicate a value, whatever it is now; None where none are known to."""


@runtime_checkable
class OpenDomain(PredicateDomain, Protocol):
    """A predicate domain that cannot declare all that its actions change, as with heat and growth; optional.

    ``effects`` then says what is certain alone; the rest of what a plan is expected to change is what the world model
    predicts of it (:mod:`tape.engine.needed`). The verifier goes by ``effects`` all the same.
    """

    def purpose(self, state: State) -> Assignment:
        """What a path is followed for that ends in a state short of the goal: what the rest of the task may need."""

    def credit(self, state: State) -> float:
        """Share of the task, up to 1, that the environment shows to be done, or a prediction takes to be."""


@runtime_checkable
class SkippingDomain(OpenDomain, Protocol):
    """An open domain that can tell which actions of a plan may be left out where the plan has come to; optional.

    A plan is written for states that are guessed, so it holds actions that turn out to have nothing to do.
    """

    def futile(self, state: State, action: Action) -> bool:
        """Whether an action is known to change nothing in a state: the world would not take it, or all is done."""

    def optional(self, action: Action) -> bool:
        """Whether an action is for a case that may not arise, so that it is left out where it has not arisen."""


@runtime_checkable
class ExclusiveDomain(Domain, Protocol):
    """A domain that knows which predicates exclude each other; optional."""

    def exclusive(self, predicates: Sequence[Predicate]) -> Sequence[Sequence[Predicate]]:
        """Groups of the predicates of which at most one is true, or is taken to be; others are independent."""


@runtime_checkable
class FeaturedDomain(Domain, Protocol):
    """A domain that knows of what kinds the things are that a predicate speaks of; optional.

    Rules that are learned from failures carry over from one task to another by these kinds. Without it they are
    learned of the predicate's arguments.
    """

    def features(self, predicate: Predicate) -> Sequence[Feature]:
        """The context of a predicate, in any order; the same in all tasks of the environment."""


@runtime_checkable
class AssumingDomain(Domain, Protocol):
    """A partially observable domain in which a plan may rest on what nobody has seen; optional.

    A plan is rolled out under its own assumptions. They are not part of a state's key until the plan has looked, so
    plans that assume different things share the way to where they look.
    """

    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state with what the actions rest on without its having been seen, and nothing else assumed."""

    def assumptions(self, state: State, actions: Sequence[Action]) -> Sequence[Predicate]:
        """The same as predicates, in the order in which the actions come upon them."""

    def plain(self, state: State) -> State:
        """The state without assumptions."""

    def assuming_key(self, state: State) -> str:
        """The identity of a state together with what is assumed in it."""


@runtime_checkable
class SupposingDomain(AssumingDomain, Protocol):
    """A domain that knows what a plan from a state has to assume; optional.

    Plans are then sampled under assumptions that are drawn from the model's own beliefs, each plan under others, so
    that none rests on what was seen not to be so [ours].
    """

    def needed(self, state: State) -> Sequence[Sequence[Predicate]]:
        """For each thing that the goal needs and nobody has seen: the predicates of which one has to be true."""

    def suppose(self, state: State, predicates: Sequence[Predicate]) -> State:
        """The state with predicates assumed."""


@runtime_checkable
class KnowsGoal(Domain, Protocol):
    """A domain that can tell from an abstract state whether the goal is reached in it; optional.

    The goal of the task is known, so no model need be asked. ``Environment.success`` alone says what really is.
    """

    def satisfied(self, state: State) -> bool:
        """Whether the goal is reached as far as the state tells."""


@runtime_checkable
class ExcludingDomain(Domain, Protocol):
    """A domain whose prompts can leave actions out of what may be written; optional (``no_repeat``)."""

    def without(self, state: State, actions: Sequence[Action]) -> State:
        """The state in which some actions may not be written."""


def map_plain(domain: Domain, states: Sequence[State]) -> list[State]:
    """States as they are kept in a plan graph: without what the plan that led to them assumed."""
    return [domain.plain(state) for state in states] if isinstance(domain, AssumingDomain) else list(states)


def require_predicates(domain: Domain, what: str = "verification (aec)") -> PredicateDomain:
    """The domain, if it declares predicates.

    Args:
        domain: The domain.
        what: What needs them.

    Raises:
        ConfigError: It does not; names it.
    """
    if not isinstance(domain, PredicateDomain):
        raise ConfigError(
            f"{what} needs an environment that declares predicates, and {type(domain).__name__} does not: it "
            "lacks some of ground, preconditions, effects, goals, rules, query and bridge "
            "(tape.protocols.predicates.PredicateDomain)"
        )
    return domain
