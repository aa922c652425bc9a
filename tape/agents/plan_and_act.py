"""Plan-and-Act (TAPE section 2.2, equation 2): plan once, then act with the plan in context."""

from __future__ import annotations

from itertools import count
from typing import ClassVar

from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT, require_bounded
from tape.agents.react import act_freely
from tape.engine.episode import Episode
from tape.engine.sample import sample_plans
from tape.engine.settings import TapeConfig
from tape.protocols import AnswerT


class PlanAndActAgent(LmAgent[DepsT, AnswerT]):
    """Samples one plan; at every step the model sees the rest of it and may do something else.

    Every step shortens the rest by one action, whether it followed the plan or not. After the plan's end the model acts
    without a plan, as in ReAct. It takes what :class:`~tape.TapeAgent` takes.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import PlanAndActAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = PlanAndActAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.steps, result.lm_calls)
        success 6 {'act': 6, 'plan': 1}
    """

    name: ClassVar[str] = "plan_and_act"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One plan, then as ReAct."""
        del longest_plan
        return 1 + steps * cls.most_calls_per_step(config)

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        episode.require_affordable_action()
        [plan] = await sample_plans(episode, self.proposer(episode), 1)
        actor = self.actor(episode)
        for step in count():
            await act_freely(episode, actor, plan.actions[step:])
