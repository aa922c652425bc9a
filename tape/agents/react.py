"""ReAct (TAPE section 2.2, equation 1): think if the prompt format has thoughts, act, observe, repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT, require_bounded
from tape.engine.act import MAX_RETRIES, write_action
from tape.engine.episode import ActionRefused, Episode
from tape.engine.settings import TapeConfig
from tape.protocols import Action, Actor, AnswerT


async def act_freely(episode: Episode, actor: Actor, plan: Sequence[Action] = ()) -> None:
    """Let the actor choose one action, with the rest of a plan in context if there is one, and execute it.

    After a refusal the actor chooses again.

    Raises:
        BudgetExceededError: A call or the action does not fit; if no action fits any more, no call is made.
        EpisodeEnded: Success, ``invalid_output``, the horizon, or ``infeasible`` if every choice is refused.
    """
    for tries in range(MAX_RETRIES + 1):
        episode.require_affordable_action()
        action, text = await write_action(episode, actor, None, plan, tries)
        try:
            await episode.step(action, text=text, planned=plan[0] if plan else None, rest=plan[1:])
            return
        except ActionRefused:
            if tries == MAX_RETRIES:
                raise


class ReactAgent(LmAgent[DepsT, AnswerT]):
    """Samples an action at every step, in one completion with the thought before it, until the episode ends.

    The prompt format decides whether there is a thought: the bundled models for tools and for ALFWorld write none. It
    takes what :class:`~tape.TapeAgent` takes.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import ReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = ReactAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.steps, result.lm_calls)
        success 6 {'act': 6}
    """

    name: ClassVar[str] = "react"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One action a step, sampled again while it cannot be read."""
        del longest_plan
        return steps * cls.most_calls_per_step(config)

    async def _play(self, episode: Episode) -> None:
        require_bounded(episode, self.name)
        actor = self.actor(episode)
        while True:
            await act_freely(episode, actor)
