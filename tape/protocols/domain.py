"""What an environment tells the engine about one task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from tape.budget import Resources
from tape.errors import ConfigError
from tape.protocols.parts import (
    Choices,
    Contexts,
    ExactPlanner,
    ExclusiveGroups,
    GoalTest,
    Hypotheses,
    MismatchTest,
    NoOps,
    Outcomes,
    Predicates,
    Progress,
    Unseen,
)
from tape.protocols.search import SearchTask
from tape.protocols.types import Action, Observation, State


class Domain(ABC):
    """What an environment tells the engine about one task.

    What every environment must say is abstract. What it may say has a default here. Whole optional parts
    (:mod:`tape.protocols.parts`) are attributes, which are None where the environment does not have them.
    """

    deterministic: bool
    """Whether an action in a state always has the same outcome."""

    marks_destructive: bool = False
    """Whether :meth:`destructive` may be true of some action."""

    saves: str | None = None
    """With declared outcomes: of ends of equal score that is best to which the path uses least of this resource."""

    @abstractmethod
    def key(self, state: State) -> str:
        """The identity of an abstract state: no history, step number or remaining budget."""

    @abstractmethod
    def render(self, state: State) -> str:
        """A small picture of a state, for people."""

    @abstractmethod
    def project(self, observation: Observation) -> State:
        """The exact projector z: from an observation to its abstract state."""

    @abstractmethod
    def admissible(self, state: State) -> Sequence[Action] | None:
        """The texts that are actions in this environment, or None where they are open."""

    @abstractmethod
    def cost(self, state: State, action: Action) -> Resources:
        """The declared worst case of an action."""

    def declared_costs(self) -> Mapping[str, Resources] | None:
        """The worst case of every tool or other family of actions, by its name; None where actions can be listed."""
        return None

    def task_text(self) -> str:
        """The task in one or a few sentences, for traces and people, not for prompts; may be empty."""
        return ""

    def spelled_out(self, state: State, action: Action) -> str:
        """The action as it will be executed in a state, with what it refers to filled in, for people to read."""
        del state
        return action

    def destructive(self, action: Action) -> bool:
        """Whether an action, taken in whichever state, may destroy what cannot be brought back."""
        del action
        return False

    def breaks(self, before: State, after: State) -> bool:
        """Whether a step came to nothing in such a way that the plan made before it must not be followed after it.

        Asked by what follows a plan without looking (open loop, no replanning), which then ends the plan there.
        """
        del before, after
        return False

    # --- optional parts -----------------------------------------------------------------------

    @property
    def outcomes(self) -> Outcomes | None:
        """Declared outcomes and variants: no model predicts what actions lead to."""
        return None

    @property
    def planner(self) -> ExactPlanner | None:
        """An exact search for whole plans."""
        return None

    @property
    def progress(self) -> Progress | None:
        """What states short of an end are worth."""
        return None

    @property
    def goal_test(self) -> GoalTest | None:
        """Whether a state reaches the goal."""
        return None

    @property
    def predicates(self) -> Predicates | None:
        """Typed predicates, with what actions need and do to them."""
        return None

    @property
    def exclusive_groups(self) -> ExclusiveGroups | None:
        """Which predicates exclude each other."""
        return None

    @property
    def contexts(self) -> Contexts | None:
        """Of what kinds the things are that predicates speak of."""
        return None

    @property
    def unseen(self) -> Unseen | None:
        """What plans may assume of what nobody has seen."""
        return None

    @property
    def hypotheses(self) -> Hypotheses | None:
        """What a plan from a state has to assume."""
        return None

    @property
    def mismatch_test(self) -> MismatchTest | None:
        """Which differences from a prediction matter; without one every difference does."""
        return None

    @property
    def no_ops(self) -> NoOps | None:
        """Which actions change nothing."""
        return None

    @property
    def choices(self) -> Choices | None:
        """How actions are left out of what may be written."""
        return None

    @property
    def search_task(self) -> SearchTask | None:
        """A question that is answered by searching a corpus."""
        return None


def map_plain(domain: Domain, states: Sequence[State]) -> list[State]:
    """States as they are kept in a plan graph: without what the plan that led to them assumed."""
    unseen = domain.unseen
    return list(states) if unseen is None else [unseen.plain(state) for state in states]


def require_predicates(domain: Domain, what: str = "verification (aec)") -> Predicates:
    """The predicates of a domain.

    Args:
        domain: The domain.
        what: What needs them.

    Raises:
        ConfigError: It has none; names it.
    """
    if domain.predicates is None:
        raise ConfigError(
            f"{what} needs an environment that declares predicates, and {type(domain).__name__} does not: its "
            "attribute predicates is None (tape.protocols.parts.Predicates)"
        )
    return domain.predicates
