"""Constrained execution of a walk and the mismatch check (TAPE sections 3.3, 3.4)."""

from __future__ import annotations

from typing import Literal

from tape.agents.base import Episode
from tape.agents.moves import mismatched, write_action
from tape.graph import UNKNOWN
from tape.memory import Memory
from tape.protocols import Actor
from tape.selection import Planned

Outcome = Literal["ended", "mismatch", "probed", "stepped"]


class Executor:
    """Executes walks edge by edge.

    Args:
        episode: The episode.
        actor: Writes the actions.
        memory: Takes every observed transition.
    """

    def __init__(self, episode: Episode, actor: Actor, memory: Memory) -> None:
        self._episode, self._actor, self._memory = episode, actor, memory

    async def execute(self, planned: Planned) -> Outcome:
        """Follow a walk.

        Returns:
            ``ended`` at its end, ``mismatch`` where the observed state is not the predicted one, ``probed``
            after an action of unknown outcome, ``stepped`` after one step under all-step replanning.

        Raises:
            EpisodeEnded: Success, or ``invalid_output``.
            BudgetExceededError: A step or call does not fit.
        """
        episode = self._episode
        actions = [edge.action for edge in planned.walk]
        for i, edge in enumerate(planned.walk):
            before = episode.state
            written, text = await write_action(episode, self._actor, edge.action, actions[i:])
            after = await episode.step(written, text=text, planned=edge.action)
            self._memory.add(before, written, after)
            if not episode.config.replan:
                continue
            if edge.target == UNKNOWN:
                return "probed"
            if mismatched(episode, edge.target):
                if written == edge.action:
                    self._memory.refute(before, written, planned.graph.state(edge.target))
                return "mismatch"
            if episode.config.replan_every_step:
                return "stepped"
        return "ended"
