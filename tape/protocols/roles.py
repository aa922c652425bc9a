"""The roles of the engine: each has an LM implementation, some also an exact one.

Roles are asynchronous and take sequences, so that requests batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tape.budget import Resources
from tape.protocols.types import Acted, Action, Plan, Prediction, Score, State


class WorldModel(Protocol):
    """P_theta: predicts the outcomes of actions."""

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each (state, action)."""

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Predict each plan's states in order; a list ends early at its first invalid action."""


class Proposer(Protocol):
    """SamplePlans."""

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample ``m`` plans from each state and the budget that remains there."""


class Scorer(Protocol):
    """R_theta."""

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states."""


class Actor(Protocol):
    """pi_Act: writes the next action, constrained, forced, hinted or free."""

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        """Write one action; ``action`` is the planned one, ``plan`` the rest of the path or plan.

        Without ``action`` the choice is free, and a ``plan`` is a hint.
        """


class PlannedActor(Actor, Protocol):
    """An actor with a known worst case."""

    def worst_case(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The most that acting once can use, with ``plan`` as the rest of the path."""
