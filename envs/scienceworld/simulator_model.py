"""The simulator as a world model: an upper bound, never used in the default mode."""

from __future__ import annotations

from collections.abc import Sequence

from envs.scienceworld.domain import as_state
from envs.scienceworld.engine import ScienceGame
from envs.scienceworld.environment import after
from envs.scienceworld.reading import refused
from envs.scienceworld.state import ScienceState, ScienceTask
from tape.protocols import Action, Prediction, State


class ScienceSimulator:
    """Exact transitions: a second game is brought into the state by typing all that led there.

    Rooms that the agent has not been to are known to it, so it is no model that an agent could have.
    """

    def __init__(self, task: ScienceTask) -> None:
        self._task = task
        self._game: ScienceGame | None = None
        self._at: ScienceState | None = None

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The true next states."""
        return [Prediction(self._next(as_state(state), action)) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The true states along each plan, up to its first action that the simulator refuses."""
        rollouts = []
        for state, actions in items:
            here: ScienceState | None = as_state(state)
            predictions: list[Prediction] = []
            for action in actions:
                if here is None:
                    break
                here = self._next(here, action)
                predictions.append(Prediction(here))
            rollouts.append(predictions)
        return rollouts

    def _next(self, state: ScienceState, action: Action) -> ScienceState | None:
        if state.done or action in state.rejected:
            return None
        game = self._brought_to(state)
        view = game.step(action)
        self._at = after(state, action, view)
        return None if refused(view.text) else self._at

    def _brought_to(self, state: ScienceState) -> ScienceGame:
        """The second game, in a state."""
        typed = self._at.path if self._at is not None else ()
        if self._game is None:
            self._game = ScienceGame(self._task.name, self._task.variation, self._task.simplification)
        if self._at is None or state.path[: len(typed)] != typed:
            self._game.reset()
            typed = ()
        for action in state.path[len(typed) :]:
            self._game.step(action)
        return self._game
