"""Best-of-N acting (TAPE appendix G.2), which the agents of that name put in the place of a single sample."""

from __future__ import annotations

from tape.agents.base import Episode
from tape.agents.lm_agent import LmAgent
from tape.config import AgentConfig
from tape.protocols import Actor
from tape.roles.actor import LmActor
from tape.roles.best_of_n import BestOfNActor


class BestOfN(LmAgent):
    """Mix-in: of ``num_plans`` actions sampled at a step, takes the one whose predicted outcome scores highest."""

    @classmethod
    def most_calls_per_step(cls, config: AgentConfig) -> int:
        """N samples are one request; each distinct one is predicted and its outcome scored."""
        predictions = config.num_plans * cls.most_calls_per_prediction(config)
        return super().most_calls_per_step(config) + predictions + config.num_plans

    def actor(self, episode: Episode) -> Actor:
        """N samples where the agent beside it takes one."""
        return BestOfNActor(
            episode.roles,
            LmActor(episode.roles, "free", self.config.temperature),
            self.world_model(episode),
            self.scorer(episode),
            self.config.num_plans,
            expected=self.config.score == "expected",
        )
