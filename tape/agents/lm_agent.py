"""An agent whose roles the language model plays; each role is made by one method."""

from __future__ import annotations

from tape.aec.two_frontier import Limits, TwoFrontierProposer, queryable
from tape.agents.base import Agent, Episode
from tape.agents.verifiable import require_predicates
from tape.config import AgentConfig
from tape.protocols import Actor, DeclaredDomain, Proposer, Scorer, WorldModel
from tape.roles.actor import MAX_RETRIES, LmActor
from tape.roles.declared import DeclaredWorldModel
from tape.roles.proposer import LmProposer
from tape.roles.scorer import LmScorer
from tape.roles.world_model import LmWorldModel


class LmAgent(Agent):
    """Base of the agents: the same model and prompts for all; a subclass replaces any role alone."""

    @classmethod
    def most_calls_per_step(cls, config: AgentConfig) -> int:
        """Requests of one free action: sampled again while it cannot be read."""
        del config
        return 1 + MAX_RETRIES

    @classmethod
    def most_calls_per_prediction(cls, config: AgentConfig) -> int:
        """Requests of one predicted transition: none of a simulator; one that says invalid may be asked again."""
        return 0 if config.world_model == "simulator" else 1 + (config.doubt > 0)

    def proposer(self, episode: Episode) -> Proposer:
        """SamplePlans: by the model, or by search through what the domain declares."""
        if self.config.proposer == "two_frontier":
            domain = require_predicates(episode.env.domain, "proposer='two_frontier'")
            return TwoFrontierProposer(domain, Limits(nodes=4000, width=64, novel=True), assumable=queryable(domain))
        return LmProposer(episode.roles, self.config.temperature)

    def world_model(self, episode: Episode) -> WorldModel:
        """P_theta: the simulator where the configuration asks for it, else what is declared, else the model."""
        domain = episode.env.domain
        if episode.simulator is not None:
            return episode.simulator
        return DeclaredWorldModel(domain) if isinstance(domain, DeclaredDomain) else self.lm_world_model(episode)

    def lm_world_model(self, episode: Episode) -> WorldModel:
        """The model's predictions."""
        return LmWorldModel(episode.roles)

    def scorer(self, episode: Episode) -> Scorer:
        """R_theta."""
        return LmScorer(episode.roles)

    def actor(self, episode: Episode) -> Actor:
        """pi_Act, free to choose."""
        return LmActor(episode.roles, "free", self.config.temperature)
