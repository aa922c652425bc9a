"""The roles of the engine: each has an LM implementation, some also an exact one.

Roles are asynchronous and take sequences, so that requests batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tape.budget import Resources
from tape.protocols.types import Acted, Action, Plan, Prediction, Score, State


class WorldModel(Protocol):
    """Predicts the outcomes of actions: P_theta of TAPE section 3.1.

    Examples:
        >>> import asyncio
        >>> from tape.protocols import Prediction, WorldModel
        >>> class Counting:
        ...     async def predict(self, pairs):
        ...         return [Prediction(state + 1) for state, action in pairs]
        ...     async def rollout(self, items):
        ...         return [[Prediction(state + i + 1) for i in range(len(actions))] for state, actions in items]
        >>> model: WorldModel = Counting()
        >>> [found] = asyncio.run(model.rollout([(0, ["up", "up"])]))
        >>> [prediction.state for prediction in found]
        [1, 2]
    """

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """Predict the next state of each (state, action), in their order."""

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Predict the states along plans.

        Args:
            items: For each plan the state it begins in and its actions.

        Returns:
            For each plan its predictions, one for each action; they end early, with the first invalid action.
        """


class Proposer(Protocol):
    """Samples plans: SamplePlans of TAPE algorithm 1, line 4.

    Examples:
        >>> import asyncio
        >>> from tape.protocols import Plan, Proposer
        >>> class Upwards:
        ...     async def propose(self, starts, m, seed):
        ...         return [[Plan(("up",) * (i + 1)) for i in range(m)] for _ in starts]
        >>> proposer: Proposer = Upwards()
        >>> asyncio.run(proposer.propose([(0, {"steps": 3})], m=2, seed=0))
        [[Plan(actions=('up',), valid=True), Plan(actions=('up', 'up'), valid=True)]]
    """

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """Sample plans.

        Args:
            starts: States to begin in, each with the counts that are left of each capped resource there.
            m: How many plans from each state.
            seed: What is drawn depends on it alone.

        Returns:
            For each start its ``m`` plans.
        """


class Scorer(Protocol):
    """Scores states: R_theta of TAPE section 3.1.

    Examples:
        >>> import asyncio
        >>> from tape.protocols import Score, Scorer
        >>> class Highest:
        ...     async def score(self, states, remaining):
        ...         return [Score(value, value) for value in (float(state >= 2) for state in states)]
        >>> scorer: Scorer = Highest()
        >>> asyncio.run(scorer.score([0, 2], {"steps": 3}))
        [Score(likely=0.0, mean=0.0), Score(likely=1.0, mean=1.0)]
    """

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states, in their order; ``remaining`` has the counts that are left of each capped resource."""


class Actor(Protocol):
    """Writes the next action, constrained, forced, hinted or free: pi_Act of TAPE sections 2.2 and 3.3.

    Examples:
        >>> import asyncio
        >>> from tape.protocols import Acted, Actor
        >>> class Obedient:
        ...     async def act(self, state, remaining, action, plan, seed):
        ...         return Acted(action or "up")
        >>> actor: Actor = Obedient()
        >>> asyncio.run(actor.act(0, {"steps": 3}, "down", [], seed=0)).action
        'down'
    """

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        """Write one action.

        Args:
            state: The present state.
            remaining: The counts that are left of each capped resource.
            action: The planned action; None where the choice is free, and ``plan`` is a hint.
            plan: The rest of the path or plan.
            seed: What is drawn depends on it alone.
        """


class PlannedActor(Actor, Protocol):
    """An actor with a known worst case.

    Examples:
        >>> from tape import Resources
        >>> from tape.protocols import Acted, PlannedActor
        >>> class Obedient:
        ...     async def act(self, state, remaining, action, plan, seed):
        ...         return Acted(action or "up")
        ...     def worst_case(self, state, remaining, plan):
        ...         return Resources({"calls": 1, "tokens": 200})
        >>> actor: PlannedActor = Obedient()
        >>> actor.worst_case(0, {"steps": 3}, ["up"])["tokens"]
        200
    """

    def worst_case(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The most that acting once can use, with ``plan`` as the rest of the path."""
