"""The optional parts of a domain: what an environment may declare beyond what every one must.

A domain has each part as an attribute (:class:`tape.protocols.domain.Domain`), which is None where the environment
declares nothing of the kind. Often the domain is its own part: it implements the class, and the attribute returns it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast, get_args, get_type_hints

from tape.errors import ConfigError
from tape.protocols.predicates import Assignment, Effects, Feature, Predicate, QueryMacro, Rule
from tape.protocols.types import Action, Prediction, State


class Part(ABC):  # noqa: B024 - what is a part is known by this class
    """An optional part of a domain, or of an environment."""


@lru_cache(maxsize=8)
def part_names(base: Any) -> frozenset[str]:
    """The names of the optional parts that a base class asks for."""
    return frozenset(name for name, held in vars(base).items() if _is_part(held))


def require_known_parts(owner: Any, *bases: type) -> None:
    """Refuse an object with a part that no step of the engine asks for, for instance a misspelled one.

    Args:
        owner: A domain, an environment, or both in one.
        bases: Its base classes, which have all parts.

    Raises:
        ConfigError: Names it, and says which parts there are.
    """
    # What wraps another of its kind holds that one, which may be its own part.
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
    found = {name: held for base in kind.__mro__ for name, held in vars(base).items()}
    return tuple(name for name, held in found.items() if _is_part(held))


def _is_part(held: Any) -> bool:
    """Whether an attribute of a class is a property that returns a part."""
    if not isinstance(held, property):
        return False
    try:
        returned = get_type_hints(held.fget).get("return")
    except NameError:  # it names what is imported for type checkers alone
        return False
    return any(isinstance(one, type) and issubclass(one, Part) for one in (returned, *get_args(returned)))


class Outcomes(Part):
    """What actions lead to, declared, as calls of tools do; so no model predicts it.

    Variants of an action are part of the plan graph wherever a plan takes one of them, so the solver chooses among
    them. Ends, for instance answers, are worth their score, however many steps they take. Every action leads to a state
    in which it was not before, so paths cannot go round in circles.
    """

    @abstractmethod
    def outcome(self, state: State, action: Action) -> Prediction:
        """What is declared to come of an action; ``Prediction(None)`` where it cannot be taken."""

    @abstractmethod
    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """All that do the same at another price or quality, the action among them.

        Of paths of equal worth the one is taken that has the variants named first at its beginning.
        """

    @abstractmethod
    def is_end(self, state: State) -> bool:
        """Whether nothing can be done any more."""


class ExactPlanner(Part):
    """Finds whole plans by exact search through declared outcomes.

    It takes the model's place where ``proposer="declared"`` asks for it, and nowhere else.
    """

    @abstractmethod
    def plans(self, state: State, remaining: Mapping[str, int], count: int) -> Sequence[Sequence[Action]]:
        """The best plans from a state, best first, at most so many; none where nothing leads to an end.

        Where no plan fits what remains, those that need least, so that it can be said what would do.
        """


class Progress(Part):
    """What having come to a state short of an end is worth.

    With declared outcomes: of paths to ends of equal score that have equally many steps the one with the larger sum is
    best. Without: of paths that end short of the goal the one that has come further is better.
    """

    @abstractmethod
    def worth(self, state: State) -> float:
        """In [-1, 1]; without declared outcomes the share of the task that is done, in [0, 1]."""


class GoalTest(Part):
    """Tells from an abstract state whether the goal is reached in it.

    The goal of the task is known, so no model need be asked. ``Environment.success`` alone says what really is.
    """

    @abstractmethod
    def satisfied(self, state: State) -> bool:
        """Whether the goal is reached as far as the state tells."""


class Predicates(Part):
    """Typed predicates, and what actions need and do to them.

    Nothing here may use more than the agent has seen and what the domain declares of its actions in general.
    """

    complete: bool = True
    """Whether ``effects`` says all that actions change; heat and growth, for instance, cannot be declared so."""

    @abstractmethod
    def ground(self, state: State) -> Assignment:
        """The grounder G (AEC eq. 9): what the observations so far show. Sound; abstains when unsure."""

    @abstractmethod
    def preconditions(self, action: Action) -> Assignment:
        """What has to hold for an action to do what it is meant to do."""

    @abstractmethod
    def effects(self, action: Action, known: Assignment) -> Effects:
        """What an action changes where its preconditions hold, given what is known before it."""

    @abstractmethod
    def goals(self) -> Sequence[Assignment]:
        """The goal: any one of these, all of its values together."""

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Rules of inference that are sound in this domain, if incomplete."""

    @abstractmethod
    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """Steps from a state that show the value of a predicate, or None where no steps are known to."""

    @abstractmethod
    def bridge(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """Actions from a state that give a predicate a value, whatever it is now; None where none are known to."""


class ExclusiveGroups(Part):
    """Knows which predicates exclude each other."""

    @abstractmethod
    def exclusive(self, predicates: Sequence[Predicate]) -> Sequence[Sequence[Predicate]]:
        """Groups of the predicates of which at most one is true, or is taken to be; others are independent."""


class Contexts(Part):
    """Knows of what kinds the things are that a predicate speaks of.

    Rules that are learned from failures carry over from one task to another by these kinds. Without it they are
    learned of the predicate's arguments.
    """

    @abstractmethod
    def features(self, predicate: Predicate) -> Sequence[Feature]:
        """The context of a predicate, in any order; the same in all tasks of the environment."""


Beliefs: TypeAlias = Callable[[State, Sequence[Predicate]], Awaitable[Mapping[Predicate, float]]]
"""Asks the model how likely predicates are in a state; what it cannot be asked about is left out of the answer."""


class Unseen(Part):
    """What a plan may rest on that has not been seen, where the state is observed in part only.

    A plan is rolled out under its own assumptions. They are not part of a state's key until the plan has looked, so
    plans that assume different things share the way to where they look. The reward of a state is multiplied by how
    likely the assumptions on the way to it are [ours].
    """

    @abstractmethod
    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state with what the actions rest on without its having been seen, and nothing else assumed."""

    @abstractmethod
    async def likelihood(
        self, ask: Beliefs, state: State, plans: Sequence[tuple[Sequence[Action], Sequence[State]]]
    ) -> Sequence[Sequence[float]]:
        """How likely it is what plans from a state assume, up to each of the states after their actions.

        Args:
            ask: Asks the model.
            state: Where the plans start.
            plans: The actions of each, and the state after each action.
        """

    @abstractmethod
    def plain(self, state: State) -> State:
        """The state without assumptions."""

    @abstractmethod
    def assuming_key(self, state: State) -> str:
        """The identity of a state together with what is assumed in it."""


class Hypotheses(Part):
    """Says what plans are to assume, so that none rests on what was seen not to be so [ours]."""

    @abstractmethod
    async def draw(self, ask: Beliefs, state: State, count: int, seed: int) -> Sequence[State] | None:
        """States with what each of ``count`` plans from a state is to assume, each plan other things.

        Returns:
            None where nothing has to be assumed, or the model cannot be asked.
        """


class MismatchTest(Part):
    """Says which differences from a prediction matter [ours; the paper compares whole states]."""

    @abstractmethod
    def still_good(
        self,
        predicted: Sequence[State],
        observed: State,
        actions: Sequence[Action],
        *,
        taken: tuple[State, Action] | None = None,
        goals: bool = True,
    ) -> bool:
        """Whether the rest of a path does from an observed state what it was to do from the predicted one.

        Args:
            predicted: The state that was predicted where ``observed`` was seen, and that after each of the actions.
            observed: The state that was observed.
            actions: The rest of the path.
            taken: The state before the last action, and that action.
            goals: Whether the declared goal may be asked.

        Returns:
            False where something that is needed does not hold, is unknown, or cannot be told.
        """

    @abstractmethod
    def denies(self, state: State, action: Action, after: State | None) -> bool:
        """Whether what is declared of an action speaks against a prediction, which is then asked for again.

        Args:
            state: Where the action is taken.
            action: The action.
            after: The predicted state; None where the action was called invalid.
        """


class NoOps(Part):
    """Tells which actions change nothing where the agent is, so that they are neither planned nor done [ours].

    In a domain that is not deterministic an observed transition is no certainty, so a wrong prediction may come again,
    and with it the same action: for ever, where the action leads back to the same state.
    """

    @abstractmethod
    def is_no_op(self, state: State, action: Action) -> bool:
        """Whether an action is known to change nothing in a state: the world would not take it, or all is done."""


class Choices(Part):
    """Prompts can leave actions out of what may be written (``no_repeat``, refused actions)."""

    @abstractmethod
    def without(self, state: State, actions: Sequence[Action]) -> State:
        """The state in which some actions may not be written."""
