"""The optional parts of a domain, and of an environment.

A domain has each part as an attribute (:class:`tape.protocols.domain.Domain`), None if the environment declares nothing
of the kind. A domain that implements the class is its own part: then the attribute is the domain, without more ado.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast, get_args, get_type_hints

from tape.budget import Ledger, Spread
from tape.errors import ConfigError
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro
from tape.protocols.roles import WorldModel
from tape.protocols.types import Action, Prediction, State


class Part(ABC):  # noqa: B024 - parts are recognised by this class
    """An optional part of a domain, or of an environment."""


@lru_cache(maxsize=8)
def part_names(base: Any) -> frozenset[str]:
    """The names of the optional parts of a base class."""
    return frozenset(name for name, held in vars(base).items() if _is_part(held))


def require_known_parts(owner: Any, *bases: type) -> None:
    """Refuse an object with a part, for instance a misspelled one, that none of its ``bases`` has.

    Raises:
        ConfigError: Names it, and lists the parts.
    """
    # A wrapper holds an object of its own kind, which may be its own part.
    held = [name for name, value in vars(owner).items() if isinstance(value, Part) and not isinstance(value, bases)]
    known, kind = frozenset[str]().union(*map(part_names, bases)), cast(Any, type(owner))
    every = known.union(*(base.__annotations__ for base in bases))
    if unknown := [name for name in (*_properties(kind), *held) if name not in every and name[0] != "_"]:
        raise ConfigError(
            f"{kind.__name__}.{unknown[0]}: no step of the engine asks for a part of this name; there is: "
            f"{', '.join(sorted(known))}"
        )


@lru_cache(maxsize=256)
def _properties(kind: Any) -> tuple[str, ...]:
    """The properties of a class that return a part."""
    held_by_name = {name: held for base in kind.__mro__ for name, held in vars(base).items()}
    return tuple(name for name, held in held_by_name.items() if _is_part(held))


def _is_part(held: Any) -> bool:
    """Whether an attribute of a class is a property that returns a part."""
    if not isinstance(held, property):
        return False
    try:
        returned = get_type_hints(held.fget).get("return")
    except NameError:  # a name that is imported for type checkers only
        return False
    return any(
        isinstance(argument, type) and issubclass(argument, Part) for argument in (returned, *get_args(returned))
    )


class Outcomes(Part):
    """Declared outcomes of actions, for instance of tool calls; no model predicts them.

    If a plan takes one variant of an action, the plan graph has all of them, and the solver chooses. Ends, for instance
    answers, earn their score, independent of the number of steps. Every action must lead to a new state, so paths have
    no circles.
    """

    whole: bool = False
    """Whether all plans have the same steps, so that one plan and its variants are all plans."""
    voted: bool = True
    """Whether an end is worth more the more plans lead to it, as the answers of a model that may be wrong are."""

    @abstractmethod
    def outcome(self, state: State, action: Action) -> Prediction:
        """The declared outcome of an action; ``Prediction(None)`` if it cannot be taken."""

    @abstractmethod
    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """All actions that do the same at another price or quality, the action included.

        Of equally good paths the one whose first steps are the variants listed first is taken.
        """

    @abstractmethod
    def is_end(self, state: State) -> bool:
        """Whether no action is possible any more."""

    def quality(self, action: Action) -> float:
        """How likely an action gives what it should, relative to its best variant; in (0, 1]."""
        del action
        return 1.0


class ExactRules(Part):
    """The exact rules of a deterministic world, declared by its author to be asked about any state.

    They only say whether the budget reaches the goal, before anything is spent; what to do is left to the agent.
    """

    @abstractmethod
    def after(self, state: State, action: Action) -> State | None:
        """The state after an action that uses all that it costs; None if it cannot be taken."""

    @abstractmethod
    def reached(self, state: State) -> bool:
        """Whether the goal is reached."""


class ExactPlanner(Part):
    """Finds whole plans by exact search through declared outcomes; only used with ``proposer="declared"``."""

    @abstractmethod
    def plans(self, state: State, remaining: Mapping[str, int], count: int) -> Sequence[Sequence[Action]]:
        """At most ``count`` plans from a state, best first; none if nothing leads to an end.

        If no plan fits the remaining budget, the cheapest ones, so that the caps that would suffice can be computed.
        """


class Progress(Part):
    """Partial credit of states short of an end.

    With declared outcomes it breaks ties: of paths to ends of equal score and with equally many steps the one with the
    largest sum is best. Without them, of paths that end short of the goal the one with the largest credit is best.
    """

    @abstractmethod
    def value(self, state: State) -> float:
        """In [-1, 1]; without declared outcomes the share of the task that is done, in [0, 1]."""


class UncertainCosts(Part):
    """Declares how uncertain the costs of actions are, for ``costs="expected"``.

    An action may take any amount up to its worst case (``Domain.cost``), which stays what is set aside for it.
    """

    @abstractmethod
    def spreads(self, action: Action) -> Mapping[str, Spread]:
        """Of each resource whose amount is uncertain how it is distributed; of all others the worst case is exact."""

    @abstractmethod
    def family(self, action: Action) -> str:
        """The name of the actions that are alike in what they cost: what one took is evidence for the others."""


class GoalTest(Part):
    """Tests in an abstract state whether the goal is reached; ``Environment.success`` alone is the real verdict."""

    @abstractmethod
    def satisfied(self, state: State) -> bool:
        """Whether the goal is reached according to the state."""


class Predicates(Part):
    """Typed predicates, and the preconditions and effects of actions.

    All methods may use only what the agent has observed and general declarations of the domain's actions.
    """

    complete: bool = True
    """Whether ``effects`` covers all changes; heat and growth, for instance, cannot be declared."""

    @abstractmethod
    def ground(self, state: State) -> Assignment:
        """The grounder G (AEC eq. 9): what the observations so far show. Sound; abstains when unsure."""

    @abstractmethod
    def preconditions(self, action: Action) -> Assignment:
        """The values that must hold for an action to have its effects."""

    @abstractmethod
    def effects(self, action: Action, known: Assignment) -> Effects:
        """The changes by an action whose preconditions hold, given the values known before it."""

    @abstractmethod
    def goals(self) -> Sequence[Assignment]:
        """The goal: any one of these, all of its values together."""

    @abstractmethod
    def rules(self) -> Sequence[InferenceRule]:
        """Sound inference rules of this domain; they need not be complete."""

    @abstractmethod
    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """Steps from a state that reveal the value of a predicate; None if none are known."""

    def alternatives(self, state: State, predicate: Predicate) -> Sequence[Predicate]:
        """Unknown predicates of which one may hold in place of a false one, as the other places of a thing do."""
        del state, predicate
        return ()

    @abstractmethod
    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """Establishing actions: from a state they give a predicate a value, whatever it is now; None if none known."""


class Choices(Part):
    """Excludes actions from prompts (``no_repeat``, refused actions)."""

    @abstractmethod
    def without(self, state: State, actions: Sequence[Action]) -> State:
        """The state in which some actions must not be written."""


class CallsAtOnce(Part):
    """Begins actions of a path before their turn; what came of each is observed in its turn."""

    @abstractmethod
    def independent(self, path: Sequence[Action]) -> int:
        """How many actions, from the first of a path from the current state on, change nothing.

        These may run at once, but each waits for the results that it needs.
        """

    @abstractmethod
    def waits(self, path: Sequence[Action]) -> Sequence[tuple[int, ...]]:
        """For each action of a path the places of those that must have ended before it begins."""

    @abstractmethod
    def begin(
        self, path: Sequence[Action], most: int, begun: Callable[[Action], None], ended: Callable[[Action], None]
    ) -> None:
        """Begin actions that change nothing, each when the results that it needs are there.

        Args:
            path: The first actions of a path from the current state; it takes the place of the one before.
            most: The most that run at once; 0: none is begun.
            begun: Called for each when it begins.
            ended: Called for each when it has ended.
        """

    @abstractmethod
    def note(self, action: Action) -> None:
        """Take an action of the path as begun, without a result: the process has ended since."""

    @abstractmethod
    def begun(self) -> tuple[Action, Action] | None:
        """The first action that has begun and was not observed; None without one.

        Returns:
            The action as the path has it, and as it is written after what came of those before it.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Cancel what still runs."""


class DryRuns:
    """What is tried on copies in an episode; here nothing."""

    tries: bool = False
    """Whether actions are made on copies."""

    async def difference(self, state: State, path: Sequence[Action]) -> Sequence[str]:
        """What a path from the current state changes in the end, a line each, for people."""
        del state, path
        return ()

    def told(self, state: State) -> State:
        """The current state with what has failed on copies since the last observation, for the next plans to see."""
        return state

    def summary(self) -> str:
        """How many actions were made on copies, and what that took."""
        return ""

    def close(self) -> None:
        """Give up all copies."""


class DryRunModel(DryRuns, WorldModel):
    """A world model that makes actions on copies."""

    tries = True


class Copies(Part):
    """Actions can be made on copies, and states that are equal there are one."""

    @abstractmethod
    def begin(self, ledger: Ledger | None) -> DryRuns:
        """Begin an episode that plans on copies; the ledger pays the ``seconds`` that this takes.

        Args:
            ledger: None for an episode that does not.
        """
