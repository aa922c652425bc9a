"""What a world declares to the engine about one task. Its step functions are not part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tape.budget import Resources, kinds
from tape.errors import EnvironmentFaultError
from tape.protocols import Action, Domain, Observation, State
from tape.protocols.parts import ExactRules
from tape.world.actions import Actions
from tape.world.errors import InvalidActionError, WorldError
from tape.world.state import StateType, WorldState, as_state

STEP = Resources({"steps": 1})
"""What costs a text that is no action."""

NOT_OF_ACTIONS = frozenset(("steps", "calls", "tokens", "usd", "wall_seconds"))
"""Resources that are counted without any action's declaring them: those of the engine and of models."""


class WorldDomain(Domain):
    """What a world declares of a task."""

    marks_destructive = True

    def __init__(
        self,
        states: StateType,
        actions: Actions,
        *,
        deterministic: bool,
        task: str = "",
        reads: bool = False,
        rules: ExactRules | None = None,
    ) -> None:
        self.states, self.actions, self.deterministic = states, actions, deterministic
        self.task, self.reads, self._rules = task, reads, rules
        # A predicted plan says what the goal takes only where chance and what is unseen have no say.
        self.on_infeasible = "budget" if rules or (deterministic and not reads) else "partial"

    @property
    def exact_rules(self) -> ExactRules | None:
        """The world's functions, with ``pure=True``."""
        return self._rules

    def key(self, state: State) -> str:
        """The JSON of the fields that distinguish states."""
        return self.states.key(as_state(state).text)

    def render(self, state: State) -> str:
        """The state as its class prints it, else one visible field a line; and the last note."""
        here = as_state(state)
        if self.states.prints:
            picture = str(self.states.read(here.text))
        else:
            data = json.loads(here.text)
            picture = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in data.items())
        return f"{picture}\n({here.note})" if here.note else picture

    def project(self, observation: Observation) -> WorldState:
        """What was observed; a text in it is still to be read by a model."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """All actions, possible here or not, where there are few enough to list; else None."""
        del state
        return self.actions.all

    def cost(self, state: State, action: Action) -> Resources:
        """The declared worst case; of what is no action, a step."""
        try:
            kind, made = self.actions.parse(action)
        except InvalidActionError:
            return STEP
        try:
            return kind.cost(self.states.read(as_state(state).text), made)
        except WorldError as error:
            raise EnvironmentFaultError(str(error)) from error

    def declared_costs(self) -> Mapping[str, Resources]:
        """What is fixed of the cost of every kind of action; unknown in resources that no action declares."""
        declared = {name for item in self.actions.types.values() for name in item.amounts}
        unknown = Resources(dict.fromkeys(set(kinds()) - NOT_OF_ACTIONS - declared))
        return {name: item.fixed() + unknown for name, item in self.actions.types.items()}

    def destructive(self, action: Action) -> bool:
        """Whether an action is declared to be destructive."""
        try:
            return self.actions.parse(action)[0].destructive
        except InvalidActionError:
            return False

    def task_text(self) -> str:
        """The task as it was given."""
        return self.task
