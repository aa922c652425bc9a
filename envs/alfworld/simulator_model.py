"""The rules of the game as a world model, for ``world_model="simulator"``."""

from __future__ import annotations

from collections.abc import Sequence

from envs.alfworld import rules
from envs.alfworld.commands import read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.state import as_state
from tape.protocols import Action, Prediction, State


class RulesWorldModel:
    """Implements :class:`tape.protocols.WorldModel` by :mod:`envs.alfworld.rules`."""

    def __init__(self, domain: AlfworldDomain) -> None:
        self._domain = domain

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The states after actions, as far as they follow from what is known and assumed."""
        return [self._after(state, action) for state, action in pairs]

    @staticmethod
    def _after(state: State, action: Action) -> Prediction:
        command = read_command(action)
        return Prediction(None if command is None else rules.apply(as_state(state), command))

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Each plan's states under what it assumes."""
        return [self._along(state, actions) for state, actions in items]

    def _along(self, state: State, actions: Sequence[Action]) -> list[Prediction]:
        predictions: list[Prediction] = []
        here: State | None = state
        for i, action in enumerate(actions):
            if here is None:
                break
            predictions.append(self._after(self._domain.assume(here, actions[i:]), action))
            here = predictions[-1].state
        return predictions
