"""P_theta where the environment declares what its actions lead to (tools)."""

from __future__ import annotations

from collections.abc import Sequence

from tape.protocols import Action, DeclaredDomain, Prediction, State


class DeclaredWorldModel:
    """Implements :class:`tape.protocols.WorldModel` without a model.

    Args:
        domain: Declares the outcomes.
    """

    def __init__(self, domain: DeclaredDomain) -> None:
        self._domain = domain

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """What is declared for each pair."""
        return [self._domain.outcome(state, action) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The declared states along each plan, up to its first action that cannot be taken."""
        return [self._one(state, actions) for state, actions in items]

    def _one(self, state: State, actions: Sequence[Action]) -> list[Prediction]:
        found: list[Prediction] = []
        for action in actions:
            found.append(self._domain.outcome(state, action))
            if found[-1].state is None:
                break
            state = found[-1].state
        return found
