"""The step functions of a world whose author declares that they only compute, asked about states not acted in."""

from __future__ import annotations

from tape.protocols import Action, State
from tape.protocols.parts import ExactRules
from tape.world.declarations import Declarations
from tape.world.errors import InvalidActionError, WorldError
from tape.world.state import WorldState, as_state


class PureRules(ExactRules):
    """The rules of a world with ``pure=True``.

    Args:
        world: The world.
    """

    def __init__(self, world: Declarations) -> None:
        self._world = world

    def after(self, state: State, action: Action) -> WorldState | None:
        """What the step function returns.

        Raises:
            WorldError: It does not return the next state alone.
        """
        world = self._world
        here, (kind, made) = world.states.read(as_state(state).text), world.actions.parse(action)
        if world.lost_check is not None and world.lost_check(here):
            return None
        try:
            function = kind.function(here, made)
        except InvalidActionError:
            return None
        if isinstance(function, tuple):
            raise WorldError(f"{kind.name} returns what it used; with pure=True it returns the next state alone")
        return WorldState(world.states.write(function))

    def reached(self, state: State) -> bool:
        """The world's own goal check."""
        return bool(self._world.goal_check(self._world.states.read(as_state(state).text)))
