"""TAPE that plans again after every step (all-step replanning)."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.tape_agent import TapeAgent
from tape.config import AgentConfig


class TapeAllStepAgent(TapeAgent):
    """``tape`` with ``replan_every_step``."""

    name: ClassVar[str] = "tape_all_step"

    def configure(self, config: AgentConfig) -> AgentConfig:
        """Set ``replan_every_step``.

        Raises:
            ConfigError: Replanning is off.
        """
        return AgentConfig.make(**{**config.model_dump(), "replan_every_step": True})
