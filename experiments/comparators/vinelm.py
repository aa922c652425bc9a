"""VineLM-like: sampled plans as a trie, chosen anew after each action under what is left [not in the paper].

After VineLM (arXiv 2605.23914): executions are a trie whose nodes are annotated with cost and chance; after each stage
the trie is rooted at what was done, and the rest is chosen anew under what is left of the budget. It is not VineLM: its
stages are known and its choices are models, whose costs are measured beforehand. Here a model's sampled plans are the
executions, and the same world model and scorer as for the other agents annotate them. Only equal beginnings are one;
equal states are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import ClassVar

from experiments.comparators.annotated import AnnotatedPlan, annotate
from tape.agents.lm_agent import LmAgent
from tape.agents.options import require_bounded
from tape.agents.react import act_freely
from tape.engine.compare import mismatched
from tape.engine.episode import ActionRefused, Episode
from tape.engine.replan import start_replanning
from tape.engine.sample import sample_plans
from tape.engine.settings import TapeConfig
from tape.protocols import Actor


class VineLmAgent(LmAgent):
    """Samples ``num_plans`` plans, takes an action of the likeliest that fits, and chooses again among what follows it.

    It samples again where the state is not the predicted one and where nothing follows. Where no plan fits, the model
    chooses an action freely.
    """

    name: ClassVar[str] = "vinelm"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """Every round takes a step: the plans, their predictions, a score for each end, and a free action."""
        rounds = steps if config.max_replans is None else min(steps, config.max_replans + 1)
        predictions = config.num_plans * longest_plan * cls.most_calls_per_prediction(config)
        return rounds * (1 + predictions + config.num_plans + cls.most_calls_per_step(config))

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        world_model, scorer, actor = self.world_model(episode), self.scorer(episode), self.actor(episode)
        proposer = self.proposer(episode)
        for planning_round in count():
            episode.require_affordable_action()
            plans = await sample_plans(episode, proposer, self.config.num_plans, planning_round)
            trie = await annotate(episode, world_model, scorer, [plan.actions for plan in plans])
            start_replanning(episode, await self._walk(episode, actor, trie), planning_round + 1)

    @staticmethod
    async def _walk(episode: Episode, actor: Actor, trie: Sequence[AnnotatedPlan]) -> str:
        """Act along a trie; return why it cannot be followed further."""
        if (chosen := likeliest(trie, episode.remaining())) is None:
            await act_freely(episode, actor)
            return "no_path"
        while chosen is not None:
            action, predicted = chosen.actions[0], chosen.keys[0]
            try:
                await episode.step(action, planned=action, rest=chosen.actions[1:])
            except ActionRefused:
                return "refused"
            if mismatched(episode, predicted):
                return "mismatch"
            trie = [plan.rest() for plan in trie if plan.actions[0] == action and len(plan.actions) > 1]
            chosen = likeliest(trie, episode.remaining())
        return "no_path" if trie else "ended"


def likeliest(trie: Sequence[AnnotatedPlan], remaining: Mapping[str, int]) -> AnnotatedPlan | None:
    """The likeliest plan whose worst case fits, the one that leaves most where several are; None where none fits."""
    fitting = [plan for plan in trie if plan.share(remaining) <= 1]
    return max(fitting, key=lambda plan: (plan.success, -plan.share(remaining)), default=None)
