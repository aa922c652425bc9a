"""The declarations of an environment about one task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

from tape.budget import Resources
from tape.errors import ConfigError
from tape.protocols.hooks import NO_HOOKS, EpisodeHooks
from tape.protocols.parts import (
    Choices,
    ExactPlanner,
    ExactRules,
    GoalTest,
    Outcomes,
    Predicates,
    Progress,
    UncertainCosts,
)
from tape.protocols.programs import Programs
from tape.protocols.search import SearchTask
from tape.protocols.types import Action, Observation, State


class Domain(ABC):
    """The declarations of an environment about one task.

    Mandatory declarations are abstract; optional ones have a default here. Optional parts
    (:mod:`tape.protocols.parts`) are attributes: the domain itself where it implements the part's class, else None.

    Examples:
        >>> from tape import Resources
        >>> from tape.protocols import Domain, Observation
        >>> class DoorDomain(Domain):
        ...     deterministic = True
        ...     def key(self, state):
        ...         return str(state)
        ...     def render(self, state):
        ...         return f"the door is {state}"
        ...     def project(self, observation):
        ...         return observation.text
        ...     def admissible(self, state):
        ...         return ("open", "shut")
        ...     def cost(self, state, action):
        ...         return Resources({"steps": 1})
        >>> domain = DoorDomain()
        >>> domain.render(domain.project(Observation("shut")))
        'the door is shut'
        >>> domain.goal_test is None  # an optional part that it does not have
        True
    """

    deterministic: bool
    """Whether an action in a state always has the same outcome."""

    marks_destructive: bool = False
    """Whether :meth:`destructive` may be true of some action."""

    longest_plan: int | None = None
    """The actions of a sampled plan that are read at most, where the environment has an option of this name."""

    on_infeasible: Literal["partial", "budget"] = "partial"
    """The default of the switch ``on_infeasible`` without declared outcomes."""

    saves: str | None = None
    """With declared outcomes: the resource to save; of ends of equal score the best uses least of it."""

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
        """The texts that are actions in this environment; None if they cannot be listed."""

    @abstractmethod
    def cost(self, state: State, action: Action) -> Resources:
        """The declared worst case of an action."""

    def declared_costs(self) -> Mapping[str, Resources] | None:
        """The worst case of every tool or other family of actions, by its name; None if actions can be listed."""
        return None

    def task_text(self) -> str:
        """The task in one or a few sentences, for traces and people, not for prompts; may be empty."""
        return ""

    def spelled_out(self, state: State, action: Action) -> str:
        """The action as it will be executed in a state, with its references filled in, for people to read."""
        del state
        return action

    def destructive(self, action: Action) -> bool:
        """Whether an action may destroy something irrecoverably, in any state."""
        del action
        return False

    def breaks(self, before: State, after: State) -> bool:
        """Whether a step failed so that the rest of its plan must not be followed.

        Agents without replanning (open loop) call it after each step, and end the plan there.
        """
        del before, after
        return False

    # --- optional parts -----------------------------------------------------------------------

    @property
    def outcomes(self) -> Outcomes | None:
        """Declared outcomes and variants, which replace a model's predictions."""
        return self if isinstance(self, Outcomes) else None

    @property
    def exact_rules(self) -> ExactRules | None:
        """Exact rules, by which it is known at the start whether the budget reaches the goal."""
        return self if isinstance(self, ExactRules) else None

    @property
    def planner(self) -> ExactPlanner | None:
        """An exact search for whole plans."""
        return self if isinstance(self, ExactPlanner) else None

    @property
    def progress(self) -> Progress | None:
        """Partial credit of states short of an end."""
        return self if isinstance(self, Progress) else None

    @property
    def uncertain_costs(self) -> UncertainCosts | None:
        """How uncertain the costs of actions are."""
        return self if isinstance(self, UncertainCosts) else None

    @property
    def goal_test(self) -> GoalTest | None:
        """Whether a state reaches the goal."""
        return self if isinstance(self, GoalTest) else None

    @property
    def predicates(self) -> Predicates | None:
        """Typed predicates, and the preconditions and effects of actions."""
        return self if isinstance(self, Predicates) else None

    @property
    def hooks(self) -> EpisodeHooks:
        """What only some environments need of an episode."""
        return self if isinstance(self, EpisodeHooks) else NO_HOOKS

    @property
    def choices(self) -> Choices | None:
        """How actions are excluded from prompts."""
        return self if isinstance(self, Choices) else None

    @property
    def programs(self) -> Programs | None:
        """What programs call, where plans are programs."""
        return self if isinstance(self, Programs) else None

    @property
    def search_task(self) -> SearchTask | None:
        """A question that is answered by searching a corpus."""
        return self if isinstance(self, SearchTask) else None


def require_predicates(domain: Domain, what: str = "verification (aec)") -> Predicates:
    """The predicates of a domain.

    Raises:
        ConfigError: The domain has none; ``what`` names what needs them.
    """
    if domain.predicates is None:
        raise ConfigError(
            f"{what} needs an environment that declares predicates, and {type(domain).__name__} does not: its "
            "attribute predicates is None (tape.protocols.parts.Predicates)"
        )
    return domain.predicates
