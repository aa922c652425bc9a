"""An agent whose roles the language model plays; each role is made by one method."""

from __future__ import annotations

from tape.agents.base import Agent, Episode
from tape.protocols import Actor, Proposer, Scorer, WorldModel
from tape.roles.actor import LmActor
from tape.roles.proposer import LmProposer
from tape.roles.scorer import LmScorer
from tape.roles.world_model import LmWorldModel


class LmAgent(Agent):
    """Base of the agents: the same model and prompts for all; a subclass replaces any role alone."""

    def proposer(self, episode: Episode) -> Proposer:
        """SamplePlans."""
        return LmProposer(episode.roles, self.config.temperature)

    def world_model(self, episode: Episode) -> WorldModel:
        """P_theta, or the simulator where the configuration asks for it."""
        return episode.simulator or LmWorldModel(episode.roles)

    def scorer(self, episode: Episode) -> Scorer:
        """R_theta."""
        return LmScorer(episode.roles, expected=self.config.score == "expected")

    def actor(self, episode: Episode) -> Actor:
        """pi_Act, free to choose."""
        return LmActor(episode.roles, "free", self.config.temperature)
