"""The simulator as a world model: an upper bound, never used in the default mode."""

from __future__ import annotations

from collections.abc import Sequence

from envs.sokoban.domain import as_state
from envs.sokoban.simulator import step
from envs.sokoban.state import Level
from tape.protocols import Action, Prediction, State


class SimulatorWorldModel:
    """Exact transitions of one level."""

    def __init__(self, level: Level) -> None:
        self._level = level

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The true next states."""
        return [Prediction(step(self._level, as_state(state), action)) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The true states along each plan, up to its first invalid action."""
        rollouts = []
        for state, actions in items:
            current, predictions = as_state(state), []
            for action in actions:
                after = step(self._level, current, action)
                predictions.append(Prediction(after))
                if after is None:
                    break
                current = after
            rollouts.append(predictions)
        return rollouts
