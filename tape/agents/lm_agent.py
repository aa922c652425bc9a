"""The base of the agents that use the engine's roles."""

from __future__ import annotations

from tape.agents.base import Agent
from tape.agents.declared import DeclaredProposer, DeclaredScorer, require_plans_declared
from tape.agents.lines import free_actor
from tape.agents.options import DepsT
from tape.engine.act import MAX_RETRIES, MOST_LINES
from tape.engine.episode import Episode
from tape.engine.predict import DeclaredWorldModel, LmWorldModel
from tape.engine.sample import LmProposer
from tape.engine.score import LmScorer
from tape.engine.settings import TapeConfig
from tape.plugins import load_proposer
from tape.protocols import Actor, AnswerT, Proposer, Scorer, WorldModel
from tape.protocols.parts import DryRunModel


class LmAgent(Agent[DepsT, AnswerT]):
    """Base of the agents that use the engine's roles; a subclass may replace each role."""

    @classmethod
    def most_calls_per_step(cls, config: TapeConfig) -> int:
        """Requests of one free action: sampled again while it cannot be read, or only computes."""
        del config
        return 1 + MAX_RETRIES + MOST_LINES

    @classmethod
    def most_calls_per_prediction(cls, config: TapeConfig) -> int:
        """Requests of one predicted transition: none with a simulator; an invalid one may be requested again."""
        return 0 if config.world_model != "lm" else 1 + (config.ablations.requery_threshold > 0)

    def proposer(self, episode: Episode) -> Proposer:
        """SamplePlans: by the model, or by search through what the domain declares."""
        if self.config.proposer == "declared":
            return DeclaredProposer(require_plans_declared(episode.env.domain))
        if self.config.proposer != "lm":
            registered: Proposer = load_proposer(self.config.proposer)(episode.env.domain)
            return registered
        distinct = episode.config.ablations.sampling == "distinct"
        return LmProposer(episode.roles, self.config.temperature, distinct=distinct)

    def world_model(self, episode: Episode) -> WorldModel:
        """P_theta: the simulator or copies if configured, else declared outcomes, else the model."""
        domain = episode.env.domain
        if isinstance(episode.dry_run, DryRunModel):
            return episode.dry_run
        if episode.simulator is not None:
            return episode.simulator
        return self.lm_world_model(episode) if domain.outcomes is None else DeclaredWorldModel(domain.outcomes)

    def lm_world_model(self, episode: Episode) -> WorldModel:
        """The model's predictions."""
        return LmWorldModel(episode.roles)

    def scorer(self, episode: Episode) -> Scorer:
        """R_theta: the model's scores, or declared ones."""
        if self.config.scorer == "declared":
            return DeclaredScorer(episode.roles)
        return LmScorer(episode.roles)

    def actor(self, episode: Episode) -> Actor:
        """pi_Act, free to choose."""
        return free_actor(episode, self.config.temperature)
