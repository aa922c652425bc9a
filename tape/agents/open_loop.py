"""The model on its own: one sampled plan, executed blindly."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import Agent, Episode
from tape.roles.proposer import LmProposer
from tape.trace import PlansSampledEvent


class OpenLoopAgent(Agent):
    """Samples one plan from the same request as TAPE and executes it to its end."""

    name: ClassVar[str] = "open_loop"

    async def _play(self, episode: Episode) -> None:
        proposer = LmProposer(episode.roles, self.config.temperature)
        [plan] = await proposer.propose(episode.state, episode.remaining(), 1, episode.seed_for("plans", 0, 0))
        episode.trace.write(
            PlansSampledEvent(
                start=episode.env.domain.key(episode.state), plans=[list(plan.actions)], valid=[plan.valid]
            )
        )
        for action in plan.actions:
            episode.step(action, planned=action)
