"""INTENT-like: before each action, what the rest will cost over how likely it succeeds [not in the paper].

After "Budget-Constrained Agentic Large Language Models: Intention-Based Planning for Costly Tool Use" (arXiv
2602.11541), as far as it can be had without its trained parts: the model's intentions are its sampled plans, its world
model is ours, and what a plan costs is divided by how likely it succeeds, since what fails has to be paid for again. It
is not INTENT: nothing is trained, and the budget is kept by the ledger, as for all agents here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import ClassVar, NamedTuple

from tape.agents.lm_agent import LmAgent
from tape.agents.options import require_bounded
from tape.agents.react import act_freely
from tape.budget import Resources
from tape.engine.episode import ActionRefused, Episode
from tape.engine.replan import start_replanning
from tape.engine.sample import sample_plans
from tape.engine.settings import TapeConfig
from tape.protocols import Action, Prediction, Scorer, State, WorldModel

LEAST = 0.05
"""A plan is taken to succeed at least so often: what a model finds wrong may be right."""


class Intention(NamedTuple):
    """A sampled plan, as far as the world model takes it to be valid.

    Attributes:
        actions: Its actions.
        cost: The worst case of all.
        success: How likely it succeeds.
    """

    actions: Sequence[Action]
    cost: Mapping[str, int]
    success: float

    def risk(self, remaining: Mapping[str, int]) -> float:
        """The greatest share of what is left that it takes: its cost over how likely it succeeds."""
        shares = (self.cost.get(kind, 0) / left if left else self.cost.get(kind, 0) for kind, left in remaining.items())
        return max(shares, default=0.0) / self.success


class IntentAgent(LmAgent):
    """Samples ``num_plans`` plans before each action, and takes the first action of the one with the least risk.

    Of plans that fit into the budget even at their cost over how likely they succeed, the likeliest is taken. Where no
    plan is valid, the model chooses an action freely.
    """

    name: ClassVar[str] = "intent"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """A round for each step: the plans, their predictions, a score for each end, and a free action."""
        predictions = config.num_plans * longest_plan * cls.most_calls_per_prediction(config)
        return steps * (1 + predictions + config.num_plans + cls.most_calls_per_step(config))

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        world_model, scorer, actor = self.world_model(episode), self.scorer(episode), self.actor(episode)
        proposer = self.proposer(episode)
        for planning_round in count():
            episode.require_affordable_action()
            plans = await sample_plans(episode, proposer, self.config.num_plans, planning_round)
            intentions = await self._intentions(episode, world_model, scorer, [plan.actions for plan in plans])
            if not intentions:
                await act_freely(episode, actor)
                continue
            chosen = safest(intentions, episode.remaining())
            try:
                await episode.step(chosen.actions[0], planned=chosen.actions[0], rest=chosen.actions[1:])
            except ActionRefused:  # which takes no step, so it counts as a round
                start_replanning(episode, "refused", episode.result.replans + 1)

    @staticmethod
    async def _intentions(
        episode: Episode, world_model: WorldModel, scorer: Scorer, plans: Sequence[Sequence[Action]]
    ) -> list[Intention]:
        """The distinct plans as far as they are valid; none that is not at all."""
        distinct = [plan for plan in dict.fromkeys(map(tuple, plans)) if plan]
        rollouts = await world_model.rollout([(episode.state, plan) for plan in distinct])
        found = []
        for plan, predictions in zip(distinct, rollouts, strict=True):
            valid = [one for one in predictions if one.state is not None]
            if not valid:
                continue
            ended: State = valid[-1].state
            [score] = await scorer.score([ended], episode.remaining())
            success = max(LEAST, (1 + score.mean) / 2) if len(valid) == len(plan) else LEAST
            for one in valid:
                success *= one.confidence
            cost = _cost(episode, plan[: len(valid)], valid)
            found.append(Intention(plan[: len(valid)], cost, max(LEAST, success)))
        return found


def safest(intentions: Sequence[Intention], remaining: Mapping[str, int]) -> Intention:
    """The likeliest of those whose cost over their chance fits; where none fits, that of the least risk."""
    fitting = [one for one in intentions if one.risk(remaining) <= 1]
    if not fitting:
        return min(intentions, key=lambda one: one.risk(remaining))
    return max(fitting, key=lambda one: (one.success, -one.risk(remaining)))


def _cost(episode: Episode, actions: Sequence[Action], predictions: Sequence[Prediction]) -> Mapping[str, int]:
    """The worst case of actions, each in the state in which it is planned; what is unknown counts as nothing."""
    states = [episode.state, *(one.state for one in predictions)]
    worst = [episode.env.domain.cost(state, action) for state, action in zip(states, actions, strict=False)]
    total = sum(worst, Resources())
    return {kind: amount or 0 for kind, amount in total.items()}
