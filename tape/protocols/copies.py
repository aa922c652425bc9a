"""The part of an environment whose actions can be tried on copies of what they change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tape.budget import Ledger
from tape.protocols.parts import Part
from tape.protocols.roles import WorldModel
from tape.protocols.types import Action, State


class DryRuns:
    """What is tried on copies in an episode; here nothing."""

    tries: bool = False
    """Whether actions are made on copies."""

    async def difference(self, state: State, path: Sequence[Action]) -> Sequence[str]:
        """What a path from the current state changes in the end, a line each, for people."""
        del state, path
        return ()

    def told(self, state: State) -> State:
        """The current state with what has failed on copies since the last observation, for the next plans to see."""
        return state

    def summary(self) -> str:
        """How many actions were made on copies, and what that took."""
        return ""

    def close(self) -> None:
        """Give up all copies."""


class DryRunModel(DryRuns, WorldModel):
    """A world model that makes actions on copies."""

    tries = True


class Copies(Part):
    """Actions can be made on copies, and states that are equal there are one."""

    @abstractmethod
    def begin(self, ledger: Ledger | None) -> DryRuns:
        """Begin an episode that plans on copies; the ledger pays the ``seconds`` that this takes.

        Args:
            ledger: None for an episode that does not.
        """
