"""Sampled plans with what each will cost and how likely it succeeds, for agents that choose by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tape.budget import Resources
from tape.engine.episode import Episode
from tape.protocols import Action, Prediction, Scorer, State, WorldModel

LEAST = 0.05
"""A plan is taken to succeed at least so often: what a model finds wrong may be right."""


class AnnotatedPlan(NamedTuple):
    """A sampled plan, as far as the world model takes it to be valid.

    Attributes:
        actions: Its actions.
        costs: The worst case of each, in the state in which it is planned; what is unknown counts as nothing.
        keys: The key of the state predicted after each.
        success: How likely it succeeds: the scorer's word on its end, times the confidence of its predictions.
    """

    actions: Sequence[Action]
    costs: Sequence[Mapping[str, int]]
    keys: Sequence[str]
    success: float

    def share(self, remaining: Mapping[str, int]) -> float:
        """The greatest share that its worst case takes of what is left of a budget; more than 1 does not fit."""
        cost = {kind: sum(numbers.get(kind, 0) for numbers in self.costs) for kind in remaining}
        return max((cost[kind] / left if left else cost[kind] for kind, left in remaining.items()), default=0.0)

    def rest(self) -> AnnotatedPlan:
        """What follows its first action."""
        return AnnotatedPlan(self.actions[1:], self.costs[1:], self.keys[1:], self.success)


async def annotate(
    episode: Episode, world_model: WorldModel, scorer: Scorer, plans: Sequence[Sequence[Action]]
) -> list[AnnotatedPlan]:
    """The distinct plans as far as they are valid; none that is not at all."""
    distinct = [plan for plan in dict.fromkeys(map(tuple, plans)) if plan]
    rollouts = await world_model.rollout([(episode.state, plan) for plan in distinct])
    annotated_plans = []
    for plan, predictions in zip(distinct, rollouts, strict=True):
        states = [prediction.state for prediction in predictions if prediction.state is not None]
        if states:
            [score] = await scorer.score([states[-1]], episode.remaining())
            success = _success(predictions, score.mean) if len(states) == len(plan) else LEAST
            annotated_plans.append(_annotated(episode, plan, states, success))
    return annotated_plans


def _success(predictions: Sequence[Prediction], score: float) -> float:
    success = max(LEAST, (1 + score) / 2)
    for prediction in predictions:
        success *= prediction.confidence
    return max(LEAST, success)


def _annotated(episode: Episode, plan: Sequence[Action], states: Sequence[State], success: float) -> AnnotatedPlan:
    domain, before = episode.env.domain, [episode.state, *states]
    worst: list[Resources] = [domain.cost(state, action) for state, action in zip(before[:-1], plan, strict=False)]
    costs = [{kind: amount or 0 for kind, amount in resources.items()} for resources in worst]
    return AnnotatedPlan(plan[: len(states)], costs, [domain.key(state) for state in states], success)
