"""The roles of the engine and the shape of an environment (DESIGN section 3).

Every arrow of the engine is one small protocol with an LM implementation and, where it makes sense,
an exact one. Roles are asynchronous and take sequences, so that requests batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tape.budget import Budget, Resources

if TYPE_CHECKING:
    from tape.graph import PlanGraph
    from tape.lm.base import Request
    from tape.lm.dialect import Dialect
    from tape.roles.selector import Selection

Action: TypeAlias = str
"""An action is its text."""

State: TypeAlias = Hashable
"""An abstract state; opaque to the engine, which knows it by ``Domain.key`` alone."""


@dataclass(frozen=True)
class Observation:
    """What an environment shows.

    Attributes:
        text: The observation as text.
        data: The same in structured form, where the environment has one.
    """

    text: str
    data: Any = None


@dataclass(frozen=True)
class Plan:
    """A sampled plan: actions only; states are added by the world model.

    Attributes:
        actions: The actions in order; may be empty if the sample could not be read.
        valid: False where the sample was malformed (it then holds the part that could be read).
    """

    actions: tuple[Action, ...]
    valid: bool = True


@dataclass(frozen=True)
class Prediction:
    """A predicted transition.

    Attributes:
        state: The next state, or None where the action is predicted to be invalid.
        confidence: Probability in [0, 1] that the world model gives its own answer.
        readable: False where the model's answer could not be read; ``state`` is then None.
    """

    state: State | None
    confidence: float = 1.0
    readable: bool = True


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

    def dialect(self, name: str) -> Dialect:
        """The prompts of this task in the dialect ``name``.

        Raises:
            UnknownNameError: The task has no prompts in that dialect.
        """


@runtime_checkable
class DeclaredDomain(Domain, Protocol):
    """A domain whose actions declare what they lead to and what they cost, as calls of tools do; optional.

    No model predicts their outcomes. Variants of an action are part of the plan graph wherever a plan takes one of
    them, so the solver chooses among them. Its ends, for instance answers, are worth their score, however many steps
    they take. Every action leads to a state in which it was not before, so walks cannot go round in circles.
    """

    def outcome(self, state: State, action: Action) -> Prediction:
        """What is declared to come of an action; ``Prediction(None)`` where it cannot be taken."""

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """All that do the same at another price or quality, the action among them.

        Of walks of equal worth the one is taken that has the variants named first at its beginning.
        """

    def is_end(self, state: State) -> bool:
        """Whether nothing can be done any more."""

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every tool or other family of actions, by its name."""


@runtime_checkable
class GradedDomain(DeclaredDomain, Protocol):
    """A declared domain in which what is done on the way to an end is worth something by itself; optional.

    Of walks to ends of equal score that have equally many steps the one with the larger sum is best.
    """

    def worth(self, state: State) -> float:
        """What having come to a state adds, in [-1, 1]; depends on its key alone."""


@runtime_checkable
class DeclaresCosts(Domain, Protocol):
    """A domain that names what its actions cost although they are open text; optional."""

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every family of actions, by its name."""


class Environment(Protocol):
    """A task that can be played."""

    @property
    def domain(self) -> Domain:
        """What the engine may know about the task."""

    def reset(self, seed: int) -> Observation:
        """Start an episode."""

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns what is seen and what the action really cost."""

    def success(self) -> bool:
        """The environment's own goal check."""


@runtime_checkable
class AsyncEnvironment(Protocol):
    """An environment whose actions wait for something, for instance a tool on another machine; optional.

    ``astep`` takes the place of ``step``. It is cancelled when the episode's ``wall_seconds`` are up.
    """

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns what is seen and what the action really cost."""


@runtime_checkable
class Ends(Protocol):
    """An environment in which an episode can be over without success; optional."""

    def ended(self) -> bool:
        """Whether nothing can be done any more; asked where ``success()`` says no."""


@runtime_checkable
class Concludes(Protocol):
    """An environment whose result may be revised until the agent stops, and is judged then; optional."""

    def conclude(self) -> None:
        """The agent has stopped, whatever the reason; ``success()`` is asked once more afterwards."""


@runtime_checkable
class Measures(Protocol):
    """An environment that measures more than success, for instance the F1 of an answer; optional."""

    def measures(self) -> Mapping[str, float]:
        """Its measures of the episode, by name; asked at the end."""


@runtime_checkable
class TakesProjections(Protocol):
    """An environment whose actions may refer to what the model has read in an observation; optional."""

    def projected(self, state: State) -> None:
        """Take over the state as the projector has it."""


@runtime_checkable
class TakesAnswers(Protocol):
    """An environment that takes an answer when an episode is at a limit (``on_limit="final_answer"``); optional."""

    def longest_answer_request(self, dialect: str) -> Request:
        """A request as long as any that :meth:`answer_request` may make: its worst case is kept back."""

    def answer_request(self, state: State, dialect: str) -> Request:
        """Ask a model for its answer in a state."""

    def answer(self, text: str) -> None:
        """Take the model's text; ``success()`` judges it afterwards.

        Raises:
            InvalidOutputError: Nothing can be made of it.
        """


class WorldModel(Protocol):
    """P_theta: what an action leads to."""

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each (state, action)."""

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Predict each plan's states in order; a list ends early at its first invalid action."""


class Proposer(Protocol):
    """SamplePlans."""

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample ``m`` plans from each state with what remains of the budget there."""


@dataclass(frozen=True)
class Score:
    """How good a state is, in [-1, 1]: 1 solved, -1 hopeless.

    Attributes:
        likely: The value of the most probable answer (the three-valued scores of TAPE appendix F.2).
        mean: The mean over the answers' probabilities (E_theta[R] of TAPE section 3.1).
    """

    likely: float
    mean: float


class Scorer(Protocol):
    """R_theta."""

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states."""


class Selector(Protocol):
    """Chooses a walk on the plan graph."""

    name: str

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Select a walk.

        With ``any_end`` a walk may end anywhere but at the start.
        """


@dataclass(frozen=True)
class Acted:
    """What an actor did: the action it wrote and the words around it."""

    action: Action | None
    text: str = ""


class Actor(Protocol):
    """pi_Act: writes the next action, constrained, forced, hinted or free."""

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        """Write one action; ``action`` is the planned one, ``plan`` the rest of the walk or plan.

        Without ``action`` the choice is free, and ``plan``, where there is one, is a hint.
        """


class PlannedActor(Actor, Protocol):
    """An actor whose own cost can be planned for."""

    def worst_case(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The most that acting once can use, with ``plan`` as the rest of the walk."""


@dataclass(frozen=True)
class Task:
    """One level, game or problem of an environment.

    Attributes:
        id: Unique within its set; part of the episode key.
        level_set: The name of the set it comes from.
        budget: The task's own hard caps.
        digest: A hash of the task's content.
        facts: Anything a table may want to show beside the results.
    """

    id: str
    level_set: str
    budget: Budget
    digest: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class EnvironmentPlugin(Protocol):
    """An environment as the command line and the runner see it: one object per entry point."""

    name: str
    model: str
    """The model that plays by default."""
    reads: bool
    """Whether the model takes part in the projector: then it may be asked once more after every step."""
    prompt_version: str
    """Changes whenever a prompt of the environment does; part of an episode's key."""

    def add_arguments(self, parser: Any) -> None:
        """Add the environment's own options to an ``argparse`` parser."""

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """The tasks that the options name.

        Raises:
            TapeError: or ValueError, with a message for the user.
        """

    def make(self, task: Task) -> Environment:
        """A fresh environment of a task."""

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model (never used in the default mode)."""
