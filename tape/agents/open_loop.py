"""The open loop: one sampled plan, executed without feedback."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT
from tape.engine.compare import end_if_broken
from tape.engine.episode import Episode
from tape.engine.sample import require_read, sample_plans
from tape.engine.settings import TapeConfig
from tape.protocols import AnswerT


class OpenLoopAgent(LmAgent[DepsT, AnswerT]):
    """Samples one plan from the same request as TAPE and executes it to its end, whatever is observed.

    It takes what :class:`~tape.TapeAgent` takes.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import OpenLoopAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = OpenLoopAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.steps, result.lm_calls)
        success 6 {'plan': 1}
    """

    name: ClassVar[str] = "open_loop"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One plan."""
        del config, steps, longest_plan
        return 1

    async def _play(self, episode: Episode) -> None:
        [plan] = await sample_plans(episode, self.proposer(episode), 1)
        require_read(episode, [plan])
        for done, action in enumerate(plan.actions, 1):
            before = episode.state
            await episode.step(action, planned=action, rest=plan.actions[done:])
            end_if_broken(episode, before)
