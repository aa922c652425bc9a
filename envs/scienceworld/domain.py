"""What a task of ScienceWorld tells the engine: keys, pictures, costs, prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.scienceworld.state import ScienceState, ScienceTask
from tape.budget import Resources
from tape.protocols import Action, Observation, State

STEP = Resources({"steps": 1})


def as_state(state: State) -> ScienceState:
    """The state as this environment knows it.

    Raises:
        TypeError: It is of another environment.
    """
    if not isinstance(state, ScienceState):
        raise TypeError(f"expected what is known of a game of ScienceWorld, got {type(state).__name__}")
    return state


class ScienceWorldDomain:
    """Implements :class:`tape.protocols.Domain`, ``DeclaresCosts``, ``KnowsGoal`` and ``ExcludingDomain``.

    The simulator answers the same list of commands with the same texts, but what is visible does not determine what
    comes next: water on a stove looks the same until it boils. So the domain is not declared deterministic.

    Args:
        task: The task.
    """

    deterministic = False

    def __init__(self, task: ScienceTask) -> None:
        self.task = task

    def task_text(self) -> str:
        """What the simulator says is to be done."""
        return self.task.description

    def key(self, state: State) -> str:
        """Room, its description, inventory, focus and last measurement; no history, steps or score."""
        return as_state(state).place

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
