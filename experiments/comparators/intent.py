"""INTENT-like: before each action, what the rest will cost over how likely it succeeds [not in the paper].

After "Budget-Constrained Agentic Large Language Models: Intention-Based Planning for Costly Tool Use" (arXiv
2602.11541), as far as it can be had without its trained parts: the model's intentions are its sampled plans, its world
model is ours, and what a plan costs is divided by how likely it succeeds, since what fails has to be paid for again. It
is not INTENT: nothing is trained, and the budget is kept by the ledger, as for all agents here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import ClassVar

from experiments.comparators.annotated import AnnotatedPlan, annotate
from tape.agents.lm_agent import LmAgent
from tape.agents.options import require_bounded
from tape.agents.react import act_freely
from tape.engine.episode import ActionRefused, Episode
from tape.engine.replan import start_replanning
from tape.engine.sample import sample_plans
from tape.engine.settings import TapeConfig


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
            intentions = await annotate(episode, world_model, scorer, [plan.actions for plan in plans])
            if not intentions:
                await act_freely(episode, actor)
                continue
            chosen = safest(intentions, episode.remaining())
            try:
                await episode.step(chosen.actions[0], planned=chosen.actions[0], rest=chosen.actions[1:])
            except ActionRefused:  # which takes no step, so it counts as a round
                start_replanning(episode, "refused", episode.result.replans + 1)


def safest(intentions: Sequence[AnnotatedPlan], remaining: Mapping[str, int]) -> AnnotatedPlan:
    """The likeliest of those whose cost over their chance fits; where none fits, that of the least risk."""

    def risk(annotated_plan: AnnotatedPlan) -> float:
        return annotated_plan.share(remaining) / annotated_plan.success

    fitting = [intention for intention in intentions if risk(intention) <= 1]
    if not fitting:
        return min(intentions, key=risk)
    return max(fitting, key=lambda plan: (plan.success, -risk(plan)))
