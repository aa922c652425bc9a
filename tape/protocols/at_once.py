"""The part of an environment that runs actions of a path at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from tape.protocols.parts import Part
from tape.protocols.types import Action


class CallsAtOnce(Part):
    """Begins actions of a path before their turn; what came of each is observed in its turn."""

    @abstractmethod
    def independent(self, path: Sequence[Action]) -> int:
        """How many actions, from the first of a path from the current state on, change nothing.

        These may run at once, but each waits for the results that it needs.
        """

    @abstractmethod
    def waits(self, path: Sequence[Action]) -> Sequence[tuple[int, ...]]:
        """For each action of a path the places of those that must have ended before it begins."""

    @abstractmethod
    def begin(
        self, path: Sequence[Action], most: int, begun: Callable[[Action], None], ended: Callable[[Action], None]
    ) -> None:
        """Begin actions that change nothing, each when the results that it needs are there.

        Args:
            path: The first actions of a path from the current state; it takes the place of the one before.
            most: The most that run at once; 0: none is begun.
            begun: Called for each when it begins.
            ended: Called for each when it has ended.
        """

    @abstractmethod
    def note(self, action: Action) -> None:
        """Take an action of the path as begun, without a result: the process has ended since."""

    @abstractmethod
    def begun(self) -> tuple[Action, Action] | None:
        """The first action that has begun and was not observed; None without one.

        Returns:
            The action as the path has it, and as it is written after what came of those before it.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Cancel what still runs."""
