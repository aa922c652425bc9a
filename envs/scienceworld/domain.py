"""The domain of a task of ScienceWorld: keys, pictures, costs, prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.scienceworld.chances import weigh
from envs.scienceworld.commands import ASKED, ScienceCommands
from envs.scienceworld.grounded import SeenRooms, establishing, exploring
from envs.scienceworld.mismatch import Experiment, PathNeeds
from envs.scienceworld.predicates import ShownState
from envs.scienceworld.state import FULL_SCORE, ScienceState, ScienceTask
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.protocols import Action, Observation, State
from tape.protocols.domain import Domain
from tape.protocols.hooks import Transition
from tape.protocols.parts import Choices, GoalTest
from tape.protocols.predicates import Assignment, InferenceRule, Predicate, QueryMacro

STEP = Resources({"steps": 1})


def as_state(state: State) -> ScienceState:
    """The state as this environment knows it.

    Raises:
        TypeError: It is of another environment.
    """
    if not isinstance(state, ScienceState):
        raise TypeError(f"expected what is known of a game of ScienceWorld, got {type(state).__name__}")
    return state


class ScienceWorldDomain(ScienceCommands, Domain, Experiment, GoalTest, Choices):
    """What a task declares.

    The simulator answers the same list of commands with the same texts, but what is visible does not determine what
    comes next: water on a stove looks the same until it boils. So the domain is not declared deterministic.
    """

    deterministic = False
    uncertain = True
    complete = False  # heat and growth cannot be declared as effects

    def __init__(self, task: ScienceTask) -> None:
        self.task = task

    def still_good(
        self,
        predicted: Sequence[State],
        observed: State,
        actions: Sequence[Action],
        *,
        taken: tuple[State, Action] | None = None,
        goals: bool = True,
    ) -> bool:
        """Whether what the rest of a path rests on holds."""
        return PathNeeds(self).still_good(predicted, observed, actions, taken=taken, goals=goals)

    def denies(self, state: State, action: Action, after: State | None) -> bool:
        """Whether what is declared of an action contradicts a prediction."""
        return PathNeeds(self).denies(state, action, after)

    def weigh(self, graph: PlanGraph, observed: Sequence[Transition], wrong: Sequence[Transition]) -> None:
        """Give every edge its chance."""
        weigh(graph, self, observed, wrong)

    def task_text(self) -> str:
        """The task, in the simulator's words."""
        return self.task.description

    def key(self, state: State) -> str:
        """What is in sight, and what is not but decides what comes next; no history, no steps, no measured numbers."""
        return as_state(state).facts

    def situation(self, state: State) -> str:
        """The key without how long nothing has changed."""
        return as_state(replace(as_state(state), waited=0)).facts

    def outcome_key(self, state: State) -> str:
        """Where the agent is, what it carries, has focused on and connected, and its score."""
        return as_state(state).outcome

    def committed(self, state: State) -> str:
        """What was focused on, in order: the wrong thing ends the task."""
        return "; ".join(as_state(state).focused)

    def render(self, state: State) -> str:
        """Where the agent is, what it carries, and the score."""
        here = as_state(state)
        held = ", ".join(here.inventory) or "nothing"
        return f"{here.room.name or 'nowhere'}, carrying {held}; score {here.score}\n{here.observation.strip()}"

    def project(self, observation: Observation) -> State:
        """What is known after an observation: the environment has read it."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: actions are free text."""
        del state
        return None

    def satisfied(self, state: State) -> bool:
        """Whether the score is full, or is predicted to be."""
        return as_state(state).complete

    def ground(self, state: State) -> Assignment:
        """What descriptions show, of other rooms the last ones; what was not seen is unknown."""
        return SeenRooms(as_state(state))

    def purpose(self, state: State) -> Assignment:
        """Where the agent is, what it carries and focused on, and what it has connected."""
        return dict(ShownState(as_state(state)))

    def goals(self) -> Sequence[Assignment]:
        """No predicate shows when an experiment is done: the score does, see :meth:`worth`."""
        return ({},)

    def value(self, state: State) -> float:
        """The score, which the environment reports after every step."""
        return as_state(state).score / FULL_SCORE

    def rules(self) -> Sequence[InferenceRule]:
        """None."""
        return ()

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """Look into a room that the agent has not been in."""
        return exploring(as_state(state), predicate)

    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """The way to where a thing was last seen, or into a room; a door's opening."""
        return establishing(as_state(state), predicate, value)

    def is_no_op(self, state: State, action: Action) -> bool:
        """Whether a command was refused in this very state, or brings about what is so already."""
        here = as_state(state)
        if action in here.rejected or here.choices:
            return action in here.rejected
        known = self.ground(here)
        effects = self.effects(action, known)
        if any(p.name == "focused" and p not in {*ShownState(here)} for p in effects):
            return False  # another name may mean another thing
        return bool(effects) and all(value is not None and known.get(p) is value for p, value in effects.items())

    def optional(self, action: Action) -> bool:
        """Whether a command answers a question, which the world may not ask."""
        return self.preconditions(action).get(ASKED) is True

    def without(self, state: State, actions: Sequence[Action]) -> State:
        """The state in which some actions may not be written."""
        return replace(as_state(state), excluded=tuple(actions))

    def cost(self, state: State, action: Action) -> Resources:
        """One step."""
        del state, action
        return STEP

    def declared_costs(self) -> Mapping[str, Resources]:
        """Every command costs one step, understood or not."""
        return {"command": STEP}
