"""Constrained execution of a walk and the mismatch check (TAPE sections 3.3, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tape.agents.base import Episode, EpisodeEnded
from tape.graph import UNKNOWN
from tape.memory import Memory
from tape.planner import Planned
from tape.protocols import Action, Actor
from tape.roles.actor import MAX_RETRIES
from tape.trace import MismatchEvent

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
        episode, key = self._episode, self._episode.env.domain.key
        actions = [edge.action for edge in planned.walk]
        for i, edge in enumerate(planned.walk):
            before = episode.state
            written, text = await self._write(edge.action, actions[i:])
            self._memory.add(before, written, episode.step(written, text=text, planned=edge.action))
            if not episode.config.replan:
                continue
            if edge.target == UNKNOWN:
                return "probed"
            observed = key(episode.state)
            if observed != edge.target:
                episode.result.mismatches += 1
                if written == edge.action:
                    self._memory.refute(before, written, planned.graph.state(edge.target))
                episode.trace.write(MismatchEvent(step=episode.result.steps, predicted=edge.target, observed=observed))
                return "mismatch"
            if episode.config.replan_every_step:
                return "stepped"
        return "ended"

    async def _write(self, planned: Action, plan: Sequence[Action]) -> tuple[Action, str]:
        """Let the actor write an action of the environment, trying again where it cannot be read."""
        episode = self._episode
        admissible = episode.env.domain.admissible(episode.state)
        for attempt in range(MAX_RETRIES + 1):
            seed = episode.seed_for("act", episode.result.steps, attempt)
            acted = await self._actor.act(episode.state, episode.remaining(), planned, plan, seed)
            if acted.action is not None and (admissible is None or acted.action in admissible):
                return acted.action, acted.text
        raise EpisodeEnded("invalid_output", f"no action could be read in {MAX_RETRIES + 1} samples")
