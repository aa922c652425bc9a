"""ReAct (TAPE section 2.2, equation 1): think where the prompt format has thoughts, act, observe, and again."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import LmAgent
from tape.engine.act import act_freely
from tape.engine.episode import Episode
from tape.engine.replan import require_bounded
from tape.engine.settings import TapeConfig


class ReactAgent(LmAgent):
    """Samples an action at every step, in one completion with the thought before it, until a limit ends the episode.

    Whether there is a thought is up to the prompt format: the bundled models for tools and for ALFWorld write none.
    """

    name: ClassVar[str] = "react"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """At every step one action, sampled again while it cannot be read."""
        del longest_plan
        return steps * cls.most_calls_per_step(config)

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        actor = self.actor(episode)
        while True:
            await act_freely(episode, actor)
