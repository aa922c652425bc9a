"""ReAct (TAPE section 2.2, equation 1): think, act, observe, and again."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import Episode
from tape.agents.lm_agent import LmAgent
from tape.agents.moves import act_freely, require_bounded


class ReactAgent(LmAgent):
    """Samples a thought and an action at every step, in one completion, until a limit ends the episode."""

    name: ClassVar[str] = "react"

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        actor = self.actor(episode)
        while True:
            await act_freely(episode, actor)
