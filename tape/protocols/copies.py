"""The part of an environment whose actions can be tried on copies of what they change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tape.budget import Ledger
from tape.protocols.parts import Part
from tape.protocols.roles import WorldModel
from tape.protocols.types import Action, State


class DryRunModel(WorldModel):
    """A world model that makes actions on copies."""

    @abstractmethod
    async def difference(self, state: State, path: Sequence[Action]) -> Sequence[str]:
        """What a path from the current state changes in the end, a line each, for people."""

    @abstractmethod
    def told(self, state: State) -> State:
        """The current state with what has failed on copies since the last observation, for the next plans to see."""

    @abstractmethod
    def summary(self) -> str:
        """How many actions were made on copies, and what that took."""

    @abstractmethod
    def close(self) -> None:
        """Give up all copies."""


class Copies(Part):
    """Actions can be made on copies, and states that are equal there are one."""

    @abstractmethod
    def begin(self, ledger: Ledger | None) -> DryRunModel | None:
        """Begin an episode that plans on copies; the ledger pays the ``seconds`` that this takes.

        Args:
            ledger: None for an episode that does not.
        """
