"""The order in which the actions of a path run; by default one after another."""

from __future__ import annotations

from collections.abc import Sequence

from tape.budget import Reservation
from tape.protocols import Action


class InTurn:
    """Each action runs in its turn. :class:`tape.agents.at_once.AtOnce` lets some begin before."""

    @property
    def busy(self) -> bool:
        """Whether an action of the path is paid for before its turn."""
        return False

    def has(self, action: Action) -> bool:
        """Whether this action is paid for before its turn."""
        del action
        return False

    def in_time(self, path: Sequence[Action]) -> bool:
        """Whether a path ends before ``wall_seconds`` are up if each action takes its declared ``seconds``."""
        del path
        return True

    def too_late(self, paths: Sequence[Sequence[Action]]) -> Exception:
        """The end of an episode in which paths fit into all budgets, and none of those examined ends in time."""
        raise NotImplementedError

    def log(self, path: Sequence[Action]) -> None:
        """Log when the actions of a path will run."""

    def begin(self, action: Action, rest: Sequence[Action]) -> None:
        """Begin what of a path may run beside its first action, whose turn it is."""

    def note(self, action: Action) -> None:
        """Take an action as begun whose process has ended since: it is done again in its turn."""

    def turn(self, action: Action) -> Reservation | None:
        """What is set aside for an action whose turn it is; None where nothing is."""
        del action
        return None

    def observed(self, action: Action) -> None:
        """Note when the action has run whose turn it was."""

    async def give_up(self) -> None:
        """Observe what has begun where its path is abandoned."""

    async def end(self) -> None:
        """End what still runs with the episode."""
