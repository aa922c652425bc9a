"""TAPE that plans again after every step (all-step replanning)."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.tape_agent import TapeAgent
from tape.config import AgentConfig


class TapeAllStepAgent(TapeAgent):
    """``tape`` with ``replan_every_step``."""

    name: ClassVar[str] = "tape_all_step"

    @classmethod
    def most_lm_calls(cls, config: AgentConfig, steps: int, longest_plan: int) -> int | None:
        """As TAPE with a round per step."""
        every_step = config.model_copy(update={"replan_every_step": True})
        return super().most_lm_calls(every_step, steps, longest_plan)

    @classmethod
    def configure(cls, config: AgentConfig) -> AgentConfig:
        """Set ``replan_every_step``.

        Raises:
            ConfigError: Replanning is off.
        """
        return AgentConfig.make(**{**config.model_dump(), "replan_every_step": True})
