"""The part of a domain whose plans are programs (:mod:`tape.plan`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.budget import Resources
from tape.plan.record import Effects, MadeCall
from tape.plan.vocabulary import Vocabulary
from tape.protocols.parts import Part
from tape.protocols.types import Action, State


@dataclass(frozen=True)
class Option:
    """One way to make a call.

    Attributes:
        action: The action; where an argument is not there yet, as it is written.
        worst: The most that it uses.
        quality: How likely it gives what it should, relative to the best way; in (0, 1].
    """

    action: Action
    worst: Resources
    quality: float


class Programs(Part):
    """What programs call, and what has come of the calls of an episode."""

    @abstractmethod
    def words(self, capped: Collection[str], *, each: bool = False) -> Vocabulary:
        """What programs may call, with the prices in what is capped; with ``each`` every variant by its own name."""

    @abstractmethod
    def made(self, state: State, *, each: bool = False) -> Sequence[MadeCall]:
        """The calls that were made, in order; with ``each`` by the names of variants."""

    @abstractmethod
    def allow_again(self, action: Action) -> None:
        """Let a call be made again that gave no answer in time: an approver is asked about it."""

    @abstractmethod
    def said(self, state: State) -> str:
        """Why the last action did nothing."""

    @abstractmethod
    def options(
        self, name: str, arguments: Mapping[str, Any], results: Sequence[Any] = (), *, each: bool = False
    ) -> Sequence[Option]:
        """A call by every variant of its kind, the cheapest first; with ``each`` the one variant that is named.

        Arguments are values, or what they are as long as results are open; an action may name one of the results.

        Raises:
            InvalidOutputError: An argument cannot be written as part of an action.
        """

    @abstractmethod
    def answering(self, value: Any, results: Sequence[Any] = ()) -> Action:
        """The action that answers; ``results`` are those so far.

        Raises:
            InvalidOutputError: The value cannot be written as part of an action.
        """

    @property
    @abstractmethod
    def effects(self) -> Effects:
        """What calls do for good."""
