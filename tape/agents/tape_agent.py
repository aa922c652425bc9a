"""TAPE (algorithm 1): plan graph, solver, constrained execution, mismatch, replanning."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import Agent, Episode, EpisodeEnded
from tape.errors import ConfigError
from tape.executor import Executor
from tape.planner import Planner
from tape.protocols import Actor, Proposer, Scorer, Selector, WorldModel
from tape.roles.actor import LmActor
from tape.roles.proposer import LmProposer
from tape.roles.scorer import LmScorer
from tape.roles.selector import LmSelector, SolverSelector
from tape.roles.world_model import LmWorldModel
from tape.trace import ReplannedEvent


class TapeAgent(Agent):
    """Tool-guided adaptive planning with constrained execution.

    Each role is made by one method, so a subclass replaces any part alone.
    """

    name: ClassVar[str] = "tape"

    async def _play(self, episode: Episode) -> None:
        config, result = self.config, episode.result
        if config.replan_every_step and config.horizon is None and not _bounded(episode):
            raise ConfigError(
                "replan_every_step needs a horizon, or a budget of something that every action spends; "
                "else an episode might never end"
            )
        actor = self.actor(episode)
        planner = Planner(
            episode,
            proposer=self.proposer(episode),
            world_model=self.world_model(episode),
            scorer=self.scorer(episode),
            actor=actor,
            selector=self.selector(episode),
        )
        executor = Executor(episode, actor, planner.memory)
        limited = 0
        while True:
            planned = await planner.plan()
            result.partial_walk |= planned.partial
            outcome = await executor.execute(planned)
            if not config.replan:
                return
            limited += outcome != "stepped"
            if limited > config.max_replans:
                raise EpisodeEnded("replan_limit", f"{config.max_replans} replanning rounds were not enough")
            result.replans += 1
            episode.trace.write(ReplannedEvent(reason=outcome, count=result.replans))

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
        """pi_Act."""
        return LmActor(episode.roles, self.config.execution, self.config.temperature)

    def selector(self, episode: Episode) -> Selector:
        """The solver, or the LM (the ablation)."""
        if self.config.selector == "lm":
            return LmSelector(episode.roles, self.config.temperature, episode.seed_for("select"))
        return SolverSelector(self.config.solver, self.config.discount)


def _bounded(episode: Episode) -> bool:
    """Say whether some capped kind is spent by every action."""
    domain = episode.env.domain
    costs = [domain.cost(episode.state, action) for action in domain.admissible(episode.state) or ()]
    return any(costs and all(cost[kind] for cost in costs) for kind in episode.ledger.capped())
