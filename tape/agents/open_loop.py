"""The model on its own: one sampled plan, executed blindly."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import Episode
from tape.agents.lm_agent import LmAgent
from tape.agents.moves import sample_plans


class OpenLoopAgent(LmAgent):
    """Samples one plan from the same request as TAPE and executes it to its end."""

    name: ClassVar[str] = "open_loop"

    async def _play(self, episode: Episode) -> None:
        [plan] = await sample_plans(episode, self.proposer(episode), 1)
        for action in plan.actions:
            episode.step(action, planned=action)
