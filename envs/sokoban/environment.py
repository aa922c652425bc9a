"""Sokoban as an environment of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.errors import SokobanError
from envs.sokoban.prompts import prompt_format
from envs.sokoban.state import ACTIONS, Level, is_solved, step
from tape.budget import Budget, Resources
from tape.protocols import Action, Environment, Observation
from tape.protocols.prompt_format import PromptFormat

if TYPE_CHECKING:
    from tape.methods.sdp.adapter import Adapter
    from tape.methods.sdp.target import Target


class SokobanEnvironment(Environment):
    """A level with a hard budget of steps.

    Args:
        level: The level.
        steps: Most moves; None leaves the budget to the caller.

    Raises:
        SokobanError: ``steps`` is negative.
    """

    domain: SokobanDomain

    def __init__(self, level: Level, steps: int | None = None) -> None:
        if steps is not None and steps < 0:
            raise SokobanError(f"steps must be >= 0, got {steps}")
        self.level = level
        self.domain = SokobanDomain(level)
        self.budget = Budget() if steps is None else Budget({"steps": steps})
        self._state = level.start

    @classmethod
    def with_slack(cls, level: Level, slack: int = 2) -> SokobanEnvironment:
        """A level whose budget is its shortest solution plus ``slack`` moves (TAPE appendix E.1).

        Raises:
            SokobanError: ``slack`` is negative or the level has no solution.
        """
        from envs.sokoban.level_sets import optimal_length

        if slack < 0:
            raise SokobanError(f"slack must be >= 0, got {slack}")
        return cls(level, optimal_length(level) + slack)

    def reset(self, seed: int) -> Observation:
        """Start again; Sokoban has no randomness, so the seed is not used."""
        del seed
        self._state = self.level.start
        return self.domain.observation(self._state)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Move; a blocked move changes nothing and costs a step all the same.

        Raises:
            SokobanError: ``action`` is none of ``U D L R``.
        """
        if action not in ACTIONS:
            raise SokobanError(f"there is no action {action!r}; Sokoban has U, D, L and R")
        self._state = step(self.level, self._state, action) or self._state
        return self.domain.observation(self._state), Resources({"steps": 1})

    def success(self) -> bool:
        """Whether every box is on a goal."""
        return is_solved(self.level, self._state)

    def truth(self, target: Target) -> bool | None:
        """Whether a target of a chain holds, by the board itself: to measure validators by."""
        if target.goal:
            return self.success()
        known = self.domain.ground(self._state)
        return all(known.get(p) is value for p, value in target.requires) if target.requires else None

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        return prompt_format(self.domain, name)

    def sdp(self) -> Adapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from envs.sokoban.sdp import adapter

        return adapter(self.domain)
